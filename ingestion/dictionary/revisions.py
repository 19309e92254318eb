"""What of the dictionary is in force, by its revision: read in the snapshot of whoever cuts a text, compiled once.

The revision moves in the transaction that changes what is in force: synonyms and stop words as they are saved, terms
as the rows of the index that they concern are exchanged. Whoever reads the revision and the rows in one snapshot has
both from before or both from after.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection, connections, router, transaction

from ingestion.dictionary.questions import Dictionary, SearchDictionary, Synonym, Synonyms
from ingestion.indexing.lexicon import Phrases
from ingestion.models import (
    DictionaryRevision,
    DictionaryStopWord,
    DictionarySynonym,
    DictionaryTerm,
    Document,
)

KEPT = 64  # compiled dictionaries
EVERYWHERE = None  # in the place of a collection

_compiled: OrderedDict[tuple[int, int | None], "_Part"] = OrderedDict()
_holders: dict[int, frozenset[int]] = {}
_lock = threading.Lock()

# Which of the collections with entries of their own a search may touch, by the documents it may find.
_IN_REACH = """
select c from unnest(%s::bigint[]) as c where exists (
    select 1 from ingestion_document d where d.collection_id = c and d.scope_id = any(%s::int[]) {narrowed})
"""
_ELSEWHERE = """
select exists (select 1 from ingestion_document d
    where d.id = any(%s::bigint[]) and d.scope_id = any(%s::int[]) and d.collection_id <> all(%s::bigint[]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """The entries of one collection alone, or those that hold everywhere; empty ones are None."""

    terms: Phrases | None
    synonyms: Synonyms | None
    stop_words: Phrases | None


def current_revision() -> int:
    """0 while the dictionary has never been used."""
    return DictionaryRevision.objects.filter(pk=1).values_list("number", flat=True).first() or 0


def move_revision() -> int:
    """Call in the transaction that changes what is in force.

    A number never comes twice, not even after a return to an older backup: what was compiled for it stays right.
    """
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("a revision belongs to the transaction of its change")
    row, _is_new = DictionaryRevision.objects.select_for_update().get_or_create(pk=1, defaults={"number": 0})
    row.number = max(row.number + 1, int(time.time() * 1000))
    row.save()
    return row.number


def terms_in_force(collection_id: int | None) -> tuple[Phrases, ...]:
    """What texts of a collection are cut with now."""
    revision = current_revision()
    return _dictionary(revision, collection_id).terms if revision else ()


def coming_terms(collection_id: int | None) -> tuple[Phrases, ...]:
    """What texts of a collection will be cut with once the run under way is done."""
    places = [EVERYWHERE] if collection_id is EVERYWHERE else [EVERYWHERE, collection_id]
    groups = (Phrases(_keys_of_terms(place, coming=True)) for place in places)
    return tuple(group for group in groups if group)


def search_dictionary(scopes: Sequence[int], document_ids: Sequence[int] | None = None) -> SearchDictionary:
    """The dictionaries of the documents a search may find, as of the transaction it is called in.

    scopes: what the asking person may read; a collection of which they read nothing has no say. document_ids: what
    filters leave, None without any; then entries that hold everywhere are one of the dictionaries in any case.
    """
    revision = current_revision()
    if not revision:
        return SearchDictionary()
    own = sorted(_collections_with_entries(revision))
    reached = _in_reach(own, scopes, document_ids) if own else []
    dictionaries = [_dictionary(revision, collection) for collection in reached]
    if not reached or document_ids is None or _is_elsewhere(own, scopes, document_ids):
        dictionaries.insert(0, _dictionary(revision, EVERYWHERE))
    return SearchDictionary(revision=revision, dictionaries=tuple(dictionaries))


def dictionary_of(collection_id: int | None) -> Dictionary:
    """What holds in one collection, or with None everywhere."""
    revision = current_revision()
    return _dictionary(revision, collection_id) if revision else Dictionary()


def _in_reach(own: list[int], scopes: Sequence[int], document_ids: Sequence[int] | None) -> list[int]:
    narrowed = "" if document_ids is None else "and d.id = any(%s::bigint[])"
    with connections[router.db_for_read(Document)].cursor() as cursor:
        cursor.execute(
            _IN_REACH.format(narrowed=narrowed),
            [own, list(scopes), *([] if document_ids is None else [list(document_ids)])],
        )
        return [collection for (collection,) in cursor.fetchall()]


def _is_elsewhere(own: list[int], scopes: Sequence[int], document_ids: Sequence[int]) -> bool:
    with connections[router.db_for_read(Document)].cursor() as cursor:
        cursor.execute(_ELSEWHERE, [list(document_ids), list(scopes), own])
        return bool(cursor.fetchone()[0])


def _collections_with_entries(revision: int) -> frozenset[int]:
    found = _holders.get(revision)
    if found is None:
        rows = [
            model.objects.filter(collection__isnull=False, **in_force).values_list("collection_id", flat=True)
            for model, in_force in (
                (DictionaryTerm, {"in_force": True}),
                (DictionarySynonym, {}),
                (DictionaryStopWord, {}),
            )
        ]
        found = frozenset(pk for ids in rows for pk in ids.distinct().order_by())
        with _lock:
            _holders.clear()
            _holders[revision] = found
    return found


def _dictionary(revision: int, collection_id: int | None) -> Dictionary:
    places = [EVERYWHERE] if collection_id is EVERYWHERE else [EVERYWHERE, collection_id]
    parts = [_part(revision, place) for place in places]
    return Dictionary(
        terms=tuple(part.terms for part in parts if part.terms),
        synonyms=tuple(part.synonyms for part in parts if part.synonyms),
        stop_words=tuple(part.stop_words for part in parts if part.stop_words),
    )


def _part(revision: int, collection_id: int | None) -> _Part:
    key = (revision, collection_id)
    with _lock:
        if key in _compiled:
            _compiled.move_to_end(key)
            return _compiled[key]
    part = _compile(collection_id)
    with _lock:
        _compiled[key] = part
        while len(_compiled) > KEPT:
            _compiled.popitem(last=False)
    return part


def _compile(collection_id: int | None) -> _Part:
    synonyms = [
        Synonym(phrases=tuple(row.phrases), keys=tuple(row.keys), one_way=row.one_way, weight=row.weight)
        for row in DictionarySynonym.objects.filter(collection=collection_id).order_by("id")
    ]
    terms = Phrases(_keys_of_terms(collection_id, in_force=True))
    stop_words = Phrases(
        DictionaryStopWord.objects.filter(collection=collection_id).values_list("key", flat=True)
    )
    return _Part(
        terms=terms or None,
        synonyms=Synonyms(synonyms, collection=collection_id) if synonyms else None,
        stop_words=stop_words or None,
    )


def _keys_of_terms(collection_id: int | None, **state: bool) -> list[str]:
    rows = DictionaryTerm.objects.filter(collection=collection_id, **state).order_by()
    return list(rows.values_list("key", flat=True))
