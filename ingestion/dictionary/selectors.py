"""Reading the dictionary, always as somebody: administrators what holds everywhere, managers what holds in their collections.

Whoever may read entries may change them. Counts of chunks are of those that the asking person may read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from accounts.permissions.visibility import visible_scopes
from accounts.values import Permission, Principal, TokenScope
from ingestion import selectors
from ingestion.dictionary.entries import Entry, Group, Kind, Phrase
from ingestion.dictionary.revisions import dictionary_of
from ingestion.indexing.analyzer import cut_question
from ingestion.indexing.generations import active_generation
from ingestion.models import (
    Collection,
    DictionaryStopWord,
    DictionarySynonym,
    DictionaryTerm,
    TermStatistic,
)
from kb_platform.errors import NotAllowed, NotFound

Row = DictionaryTerm | DictionarySynonym | DictionaryStopWord
MODELS: dict[Kind, type[Any]] = {
    Kind.TERMS: DictionaryTerm,
    Kind.SYNONYMS: DictionarySynonym,
    Kind.STOP_WORDS: DictionaryStopWord,
}
EVERYWHERE = "everywhere"  # in addresses and forms, beside the ids of collections


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the principal may read and change entries. collections: by name."""

    everywhere: bool
    collections: tuple[Collection, ...]

    @property
    def ids(self) -> list[int | None]:
        return [*([None] if self.everywhere else []), *(collection.pk for collection in self.collections)]


def places_of(principal: Principal) -> Places:
    """Raises NotAllowed for who manages nothing."""
    places = _places(principal)
    if not places.ids:
        raise NotAllowed()
    return places


def _places(principal: Principal) -> Places:
    managed = selectors.collections_for(principal, at_least=Permission.MANAGE).order_by("name", "id")
    return Places(everywhere=may_change_everywhere(principal), collections=tuple(managed))


def may_change_everywhere(principal: Principal) -> bool:
    """Administrators, in person or by a token made for administering."""
    token = principal.token
    return principal.is_administrator and (
        token is None or (TokenScope.ADMIN in token.scopes and not token.collections)
    )


def find_place(places: Places, text: str) -> Collection | None:
    """The collection of an address, None for everywhere. Raises NotFound for what is neither, or not the person's."""
    if text == EVERYWHERE and places.everywhere:
        return None
    for collection in places.collections:
        if str(collection.uid) == text:
            return collection
    raise NotFound()


def entries_in(kind: Kind, place_ids: Iterable[int | None], text: str = "") -> QuerySet[Any]:
    """Entries of places that were asked for as somebody, newest first; text: a part of one."""
    places = list(place_ids)
    here = Q(collection__in=[place for place in places if place is not None])
    if None in places:
        here |= Q(collection=None)
    rows = MODELS[kind].objects.filter(here).select_related("collection", "added_by")
    if kind is Kind.TERMS:
        rows = rows.filter(Q(wanted=True) | Q(in_force=True))
    wanted = " ".join(text.replace("\x00", " ").split())
    if not wanted:
        return rows  # type: ignore[no-any-return]
    if kind is Kind.SYNONYMS:
        return rows.filter(  # type: ignore[no-any-return]
            Q(phrases__icontains=wanted) | Q(keys__icontains=wanted.lower())
        )
    return rows.filter(Q(text__icontains=wanted) | Q(key__icontains=wanted.lower()))  # type: ignore[no-any-return]


def get_entry(principal: Principal, kind: Kind, uid: str) -> Any:
    """One entry of a place that the principal may change; what is elsewhere is NotFound as if it did not exist."""
    row = entries_in(kind, _places(principal).ids).filter(uid=selectors.parse_uid(uid)).first()
    if row is None:
        raise NotFound()
    return row


def entry_of(row: Row) -> Entry:
    if isinstance(row, DictionarySynonym):
        phrases = tuple(Phrase(text=text, key=key) for text, key in zip(row.phrases, row.keys, strict=True))
        return Group(phrases=phrases, one_way=row.one_way, weight=row.weight)
    return Phrase(text=row.text, key=row.key)


def counts(principal: Principal, tokens: Sequence[str]) -> dict[str, int]:
    """In how many of the chunks that the principal may read each token stands; those in none are left out."""
    rows = TermStatistic.objects.filter(
        generation=active_generation().number, scope_id__in=visible_scopes(principal), term__in=list(tokens)
    ).values_list("term", "chunk_count")
    found: dict[str, int] = {}
    for token, count in rows:
        found[token] = found.get(token, 0) + count
    return {token: count for token, count in found.items() if count > 0}


def count_phrases(
    principal: Principal, collection_ids: Sequence[int | None], groups: Sequence[Sequence[str]]
) -> list[int]:
    """For each group of folded phrases: how many readable chunks hold one of them, as its collection's texts are cut."""
    asked = [
        [
            [token for token, _start, _end in cut_question(key, dictionary_of(collection).terms).tokens]
            for key in keys
        ]
        for collection, keys in zip(collection_ids, groups, strict=True)
    ]
    return count_holding(principal, asked)


def count_holding(principal: Principal, phrases: Sequence[Sequence[Sequence[str]]]) -> list[int]:
    """For each group of phrases, given by their tokens: how many readable chunks hold all tokens of one of them."""
    queries = [
        " | ".join(f"({' & '.join(map(_quoted, tokens))})" for tokens in group if tokens) for group in phrases
    ]
    number, scopes = active_generation().number, list(visible_scopes(principal))
    with connection.cursor() as cursor:
        cursor.execute(
            "select (select count(*) from "
            f"lexical_g{number:d} where terms @@ q::tsquery and scope_id = any(%s::int[])) "
            "from unnest(%s::text[]) with ordinality as asked(q, place) order by place",
            [scopes, queries],
        )
        return [count for (count,) in cursor.fetchall()]


def _quoted(token: str) -> str:
    return "'" + token.replace("\\", "\\\\").replace("'", "''") + "'"
