"""What a search can be narrowed by: values that occur in the documents open to the reader, with their counts."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Count, F, Func, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django_stubs_ext import StrOrPromise

from accounts.values import Principal
from ingestion import selectors
from ingestion.models import Document

MOST_TAGS, MOST_TYPES = 12, 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    value: str
    label: str
    count: int
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """`name` is the parameter of the address."""

    name: str
    label: StrOrPromise
    options: tuple[Option, ...]


class Unnest(Func):
    function = "unnest"
    set_returning = True


def facets_for(principal: Principal, chosen: Mapping[str, Collection[str]]) -> list[Facet]:
    """Collections, types, languages and tags of the documents that are searchable for the principal.

    chosen: the values set now, by facet name; those that are no longer offered are left out.
    """
    documents = (
        selectors.documents_for(principal).filter(active_version__isnull=False, archived_at=None).order_by()
    )
    collections = documents.values_list("collection__uid", "collection__name").annotate(n=Count("pk"))
    languages = {
        "zh": pgettext("language of a document", "Chinese"),
        "en": pgettext("language of a document", "English"),
        "mixed": pgettext("language of a document", "Chinese and English"),
    }
    rows: tuple[tuple[str, StrOrPromise, Iterable[tuple[object, object, int]]], ...] = (
        ("collection", _("Collection"), collections.order_by("collection__name")),
        ("type", _("Type"), [(v, v, n) for v, n in _counted(documents, "doc_type")[:MOST_TYPES]]),
        (
            "language",
            _("Language"),
            [(v, languages.get(v, v), n) for v, n in _counted(documents, "language")],
        ),
        ("tag", _("Tags"), [(v, v, n) for v, n in _tags(documents)]),
    )
    return [facet for name, label, found in rows if (facet := _facet(name, label, found, chosen)).options]


def _counted(documents: QuerySet[Document], field: str) -> QuerySet[Document, tuple[str, int]]:
    return documents.exclude(**{field: ""}).values_list(field).annotate(n=Count("pk")).order_by("-n", field)


def _tags(documents: QuerySet[Document]) -> QuerySet[Document, tuple[str, int]]:
    tagged = Document.objects.filter(pk__in=documents.values("pk")).order_by()
    unnested = tagged.annotate(tag=Unnest(F("tags"))).values_list("tag")
    return unnested.annotate(n=Count("pk")).order_by("-n", "tag")[:MOST_TAGS]


def _facet(
    name: str,
    label: StrOrPromise,
    rows: Iterable[tuple[object, object, int]],
    chosen: Mapping[str, Collection[str]],
) -> Facet:
    options = tuple(
        Option(value=str(value), label=str(text), count=n, is_chosen=str(value) in chosen.get(name, ()))
        for value, text, n in rows
    )
    return Facet(name=name, label=label, options=options)
