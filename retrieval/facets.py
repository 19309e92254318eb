"""What a search can be narrowed by, with counts over what the reader may see.

Without a question: documents that are searchable. With one: passages that it found, before any condition but those of
the other facets, as far as the engine ranks them; a number is never more than what can be listed.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from django.db.models import Count, Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django_stubs_ext import StrOrPromise

from accounts.values import Principal
from ingestion import selectors
from ingestion.conditions import PREFIX
from ingestion.facets import count_facets
from ingestion.fields import PICKED, fields_by_key
from ingestion.models import Chunk, MetadataField
from ingestion.selectors import changed_at

MOST_OPTIONS = 12
UPDATED_DAYS = (30, 365)
Rows = Iterable[tuple[object, object, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    value: str
    label: str
    count: int
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """`name` is the parameter of the address. is_single: one value at a time."""

    name: str
    label: StrOrPromise
    options: tuple[Option, ...]
    is_single: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a found document can be narrowed by, and how many of its passages were found."""

    collection_uid: str
    collection_name: str
    doc_type: str
    department: str
    security_level: str
    language: str
    tags: tuple[str, ...]
    own: Mapping[str, Any]
    changed_at: datetime
    passages: int

    def values(self, facet: str) -> tuple[str, ...]:
        if facet == "updated":
            now = timezone.now()
            return tuple(str(d) for d in UPDATED_DAYS if self.changed_at >= now - timedelta(days=d))
        if facet.startswith(PREFIX):
            return _as_chosen(self.own.get(facet.removeprefix(PREFIX)))
        one = {
            "collection": self.collection_uid,
            "type": self.doc_type,
            "department": self.department,
            "level": self.security_level,
            "language": self.language,
        }
        return self.tags if facet == "tag" else (one[facet],)


def _as_chosen(value: Any) -> tuple[str, ...]:
    """A value of an own field as it stands in an address, if it can be chosen there."""
    if isinstance(value, bool):
        return ("true" if value else "false",)
    return (value,) if isinstance(value, str) else ()


def facets_for(
    principal: Principal,
    chosen: Mapping[str, Collection[str]],
    *,
    found: Sequence[Traits] | None = None,
    fields: Mapping[str, MetadataField] = MappingProxyType({}),
) -> list[Facet]:
    """The facets with at least one value.

    chosen: the values set now, by facet name. found: the documents a question found; None when nothing was asked.
    fields: own fields by their keys; those of picked values become facets.
    """
    labels: dict[str, StrOrPromise] = {name: label() for name, label in NAMES.items()}
    labels |= {PREFIX + key: field.label for key, field in fields.items() if field.kind in PICKED}
    rows = _everything(principal, labels) if found is None else _among(found, chosen, labels)
    return [facet for name in labels if (facet := _facet(name, labels[name], rows[name], chosen)).options]


def own_fields(principal: Principal) -> dict[str, MetadataField]:
    """By key: the fields that the collections open to the principal define."""
    return fields_by_key(selectors.collections_for(principal).values_list("pk", flat=True))


NAMES: dict[str, Callable[[], str]] = {
    "collection": lambda: _("Collection"),
    "language": lambda: _("Language"),
    "updated": lambda: _("Changed"),
    "type": lambda: _("Type"),
    "department": lambda: _("Department"),
    "level": lambda: _("Security level"),
    "tag": lambda: _("Tags"),
}


def found_documents(principal: Principal, chunk_ids: Collection[int]) -> list[Traits]:
    """The documents of those chunks that the principal may read, with the number of chunks each."""
    open_documents = selectors.documents_for(principal).filter(active_version__isnull=False, archived_at=None)
    counted = (
        Chunk.objects.filter(pk__in=chunk_ids, document__in=open_documents.order_by().values("pk"))
        .order_by()
        .values_list("document")
        .annotate(n=Count("pk"))
    )
    passages = dict(counted)
    documents = open_documents.filter(pk__in=passages).annotate(changed_at=changed_at())
    return [
        Traits(
            collection_uid=str(document.collection.uid),
            collection_name=document.collection.name,
            doc_type=document.doc_type,
            department=document.department,
            security_level=document.security_level,
            language=document.language,
            tags=tuple(document.tags),
            own=document.metadata if isinstance(document.metadata, dict) else {},
            changed_at=document.changed_at,
            passages=passages[document.pk],
        )
        for document in documents
    ]


def _among(
    found: Sequence[Traits], chosen: Mapping[str, Collection[str]], names: Collection[str]
) -> dict[str, Rows]:
    rows: dict[str, Rows] = {}
    for name in names:
        others = {other: set(values) for other, values in chosen.items() if other != name and values}
        counts: Counter[str] = Counter()
        for traits in found:
            if all(wanted & set(traits.values(other)) for other, wanted in others.items() if other in names):
                for value in traits.values(name):
                    counts[value] += traits.passages
        kept = {value: counts[value] for value in (*counts, *chosen.get(name, ())) if value}
        rows[name] = [(value, value, count) for value, count in _most_first(kept)]
    names = {traits.collection_uid: traits.collection_name for traits in found}
    rows["collection"] = [
        (uid, names[uid], count) for uid, _label, count in rows["collection"] if uid in names
    ]
    return rows


def _most_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_OPTIONS]


def _everything(principal: Principal, names: Collection[str]) -> dict[str, Rows]:
    documents = (
        selectors.documents_for(principal).filter(active_version__isnull=False, archived_at=None).order_by()
    )
    collections = documents.values_list("collection__uid", "collection__name").annotate(n=Count("pk"))
    now = timezone.now()
    periods = documents.annotate(changed_at=changed_at()).aggregate(
        **{
            f"d{days}": Count("pk", filter=Q(changed_at__gte=now - timedelta(days=days)))
            for days in UPDATED_DAYS
        }
    )
    keys = [name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)]
    counts = count_facets(documents, {"type", "department", "level", "language", "tag"}, own_keys=keys)
    rows: dict[str, Rows] = {
        name: [(row.value, row.value, row.count) for row in found[:MOST_OPTIONS]]
        for name, found in counts.items()
    }
    return rows | {
        "collection": collections.order_by("collection__name"),
        "updated": [(days, days, periods[f"d{days}"]) for days in UPDATED_DAYS if periods[f"d{days}"]],
    }


def option_label(facet: str, value: str) -> str:
    """How a value reads on the page."""
    if facet == "updated":
        return {"30": _("Past 30 days"), "365": _("Past year")}.get(value, value)
    if facet == "language":
        languages = {
            "zh": pgettext("language of a document", "Chinese"),
            "en": pgettext("language of a document", "English"),
            "mixed": pgettext("language of a document", "Chinese and English"),
        }
        return languages.get(value, value)
    if facet.startswith(PREFIX) and value in ("true", "false"):
        return _("Yes") if value == "true" else _("No")
    return value


def _facet(name: str, label: StrOrPromise, rows: Rows, chosen: Mapping[str, Collection[str]]) -> Facet:
    options = tuple(
        Option(
            value=str(value),
            label=option_label(name, str(told)),
            count=count,
            is_chosen=str(value) in chosen.get(name, ()),
        )
        for value, told, count in rows
    )
    facet = Facet(name=name, label=label, options=options)
    return replace(facet, is_single=True) if name == "updated" else facet
