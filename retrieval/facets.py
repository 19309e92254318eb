"""What a search can be narrowed by, with counts over what the reader may see.

Without a question: documents that are searchable. With one: passages that it found, before any condition but those of
the other facets, as far as the engine ranks them; a number is never more than what can be listed.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import Count, F, Func, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django_stubs_ext import StrOrPromise

from accounts.values import Principal
from ingestion import selectors
from ingestion.models import Chunk, Document

MOST_TAGS, MOST_TYPES = 12, 12
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
    language: str
    tags: tuple[str, ...]
    changed_at: datetime
    passages: int

    def values(self, facet: str) -> tuple[str, ...]:
        if facet == "updated":
            now = timezone.now()
            return tuple(str(d) for d in UPDATED_DAYS if self.changed_at >= now - timedelta(days=d))
        one = {"collection": self.collection_uid, "type": self.doc_type, "language": self.language}
        return self.tags if facet == "tag" else (one[facet],)


class Unnest(Func):
    function = "unnest"
    set_returning = True


def facets_for(
    principal: Principal, chosen: Mapping[str, Collection[str]], *, found: Sequence[Traits] | None = None
) -> list[Facet]:
    """The facets with at least one value.

    chosen: the values set now, by facet name. found: the documents a question found; None when nothing was asked.
    """
    rows = _everything(principal) if found is None else _among(found, chosen)
    return [facet for name in NAMES if (facet := _facet(name, rows[name], chosen)).options]


NAMES: dict[str, Callable[[], str]] = {
    "collection": lambda: _("Collection"),
    "language": lambda: _("Language"),
    "updated": lambda: _("Changed"),
    "type": lambda: _("Type"),
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
            language=document.language,
            tags=tuple(document.tags),
            changed_at=document.changed_at,
            passages=passages[document.pk],
        )
        for document in documents
    ]


def changed_at() -> Coalesce:
    """When a document changed, as its filter reads it: what its source says, else when its version came."""
    return Coalesce("source_modified_at", "active_version__created_at")


def _among(found: Sequence[Traits], chosen: Mapping[str, Collection[str]]) -> dict[str, Rows]:
    rows: dict[str, Rows] = {}
    for name in NAMES:
        others = {other: set(values) for other, values in chosen.items() if other != name and values}
        counts: Counter[str] = Counter()
        for traits in found:
            if all(wanted & set(traits.values(other)) for other, wanted in others.items() if other in NAMES):
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
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[: max(MOST_TAGS, MOST_TYPES)]


def _everything(principal: Principal) -> dict[str, Rows]:
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
    return {
        "collection": collections.order_by("collection__name"),
        "language": [(v, v, n) for v, n in _counted(documents, "language")],
        "updated": [(days, days, periods[f"d{days}"]) for days in UPDATED_DAYS if periods[f"d{days}"]],
        "type": [(v, v, n) for v, n in _counted(documents, "doc_type")[:MOST_TYPES]],
        "tag": [(v, v, n) for v, n in _tags(documents)],
    }


def _counted(documents: QuerySet[Document], field: str) -> QuerySet[Document, tuple[str, int]]:
    return documents.exclude(**{field: ""}).values_list(field).annotate(n=Count("pk")).order_by("-n", field)


def _tags(documents: QuerySet[Document]) -> QuerySet[Document, tuple[str, int]]:
    tagged = Document.objects.filter(pk__in=documents.values("pk")).order_by()
    unnested = tagged.annotate(tag=Unnest(F("tags"))).values_list("tag")
    return unnested.annotate(n=Count("pk")).order_by("-n", "tag")[:MOST_TAGS]


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
    return value


def _facet(name: str, rows: Rows, chosen: Mapping[str, Collection[str]]) -> Facet:
    options = tuple(
        Option(
            value=str(value),
            label=option_label(name, str(label)),
            count=count,
            is_chosen=str(value) in chosen.get(name, ()),
        )
        for value, label, count in rows
    )
    facet = Facet(name=name, label=NAMES[name](), options=options)
    return replace(facet, is_single=True) if name == "updated" else facet
