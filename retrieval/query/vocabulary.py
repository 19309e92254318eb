"""The values that documents open to a reader have, as far as a question could name them. No others are ever told."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from django.db.models import F, Func, QuerySet
from django.db.models.fields.json import KeyTransform

from accounts.values import Principal
from ingestion import selectors
from ingestion.conditions import PREFIX
from ingestion.models import Document, MetadataField
from retrieval.facets import own_fields

COLUMNS = ("doc_type", "department", "security_level", "language")
MOST_VALUES = 2_000
LONGEST = 100
Kind = MetadataField.Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A value of a filter. word: how people write it. value: what the filter takes. label: of an own field."""

    name: str
    word: str
    value: Any
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """terms: values by which filters can narrow. measures: own fields that compare, by label: (key, kind)."""

    terms: tuple[Term, ...] = ()
    measures: Mapping[str, tuple[str, str]] = field(default_factory=lambda: MappingProxyType({}))

    def named(self, name: str) -> list[Term]:
        return [term for term in self.terms if term.name == name]

    def holds(self, name: str, value: Any) -> bool:
        return any(term.value == value for term in self.named(name))


def read_vocabulary(principal: Principal, text: str) -> Vocabulary:
    """What `text` might name, of the values of searchable documents open to the principal."""
    haystack = _haystack(text)
    documents = selectors.documents_for(principal).filter(active_version__isnull=False, archived_at=None)
    documents = documents.order_by()
    fields = {key: own for key, own in own_fields(principal).items() if own.label.casefold() in haystack}
    terms = [
        *_columns(documents),
        *_tags(documents, haystack),
        *_collections(principal),
        *_own_values(documents, fields),
    ]
    return Vocabulary(
        terms=tuple(term for term in terms if term.name == "language" or term.word.casefold() in haystack),
        measures={
            own.label: (key, own.kind) for key, own in fields.items() if own.kind in (Kind.NUMBER, Kind.DATE)
        },
    )


def singular(word: str) -> str:
    """An English word as it stands for one thing, as far as values need it: policies -> policy."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def plural_pattern(word: str) -> str:
    """A pattern of the word, with either ending at its end."""
    if not word.isascii() or not word[-1:].isalpha():
        return re.escape(word)
    stem = singular(word)
    ending = "(?:y|ies)" if stem.endswith("y") else "(?:s|es)?"
    return re.escape(stem.removesuffix("y") if stem.endswith("y") else stem) + ending


def _haystack(text: str) -> str:
    folded = text.casefold()
    return " ".join((folded, re.sub(r"[a-z]+", lambda word: singular(word[0]), folded)))


def _columns(documents: QuerySet[Document]) -> Iterator[Term]:
    rows = documents.values_list(*COLUMNS).distinct()[:MOST_VALUES]
    for name, values in zip(COLUMNS, zip(*rows, strict=True), strict=False):
        for value in sorted({value for value in values if value}):
            yield Term(name=name, word=value, value=value)


def _tags(documents: QuerySet[Document], haystack: str) -> Iterator[Term]:
    if not any(cue in haystack for cue in ("tag", "label", "mark", "标签", "标记", "#")):
        return
    rows = documents.annotate(tag=Func(F("tags"), function="unnest")).values_list("tag", flat=True)
    for tag in rows.distinct()[:MOST_VALUES]:
        yield Term(name="tags", word=tag, value=tag)


def _collections(principal: Principal) -> Iterator[Term]:
    rows = selectors.collections_for(principal).values_list("uid", "name")
    for uid, name in rows[:MOST_VALUES]:
        yield Term(name="collections", word=name, value=str(uid))


def _own_values(documents: QuerySet[Document], fields: Mapping[str, MetadataField]) -> Iterator[Term]:
    """Values of own fields that the question names by their label."""
    for key, own in fields.items():
        if own.kind not in (Kind.CHOICE, Kind.TEXT):
            continue
        rows = documents.filter(metadata__has_key=key).values_list(KeyTransform(key, "metadata"), flat=True)
        for value in _short_texts(rows.distinct()[:MOST_VALUES]):
            yield Term(name=PREFIX + key, word=value, value=value, label=own.label)


def _short_texts(values: Iterable[Any]) -> Iterator[str]:
    return (value for value in values if isinstance(value, str) and 0 < len(value) <= LONGEST)
