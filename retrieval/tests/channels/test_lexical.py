"""BM25 by hand, and what reaches PostgreSQL's query parser."""

from math import log

import pytest
from django.db import connection

from ingestion.indexing import tables
from ingestion.indexing.analyzer import distinct_query_terms
from retrieval.channels.lexical import (
    TermStatistics,
    Traits,
    any_of,
    matching_terms,
    read_statistics,
    read_traits,
    search_lexical,
)
from retrieval.filters import Filters
from retrieval.reach import Reach, resolve_reach
from retrieval.snapshot import read_snapshot


def statistics(chunk_count=100, **frequencies):
    return TermStatistics(chunk_count=chunk_count, all_chunks=chunk_count, frequencies=frequencies)


def test_user_text_cannot_leave_its_lexeme():
    assert any_of(["it's", "a\\b", "x | y"]) == r"'it''s' | 'a\\b' | 'x | y'"


def test_common_terms_only_score_beside_a_rarer_one():
    assert matching_terms(statistics(rare=5, common=6, absent=0)) == (["rare"], ["rare", "common"])
    assert matching_terms(statistics(often=50, common=6)) == (["common", "often"], ["common", "often"])
    assert matching_terms(statistics(absent=0)) == ([], [])


def test_a_term_that_occurs_nowhere_weighs_most():
    idf = statistics(chunk_count=2, here=1, nowhere=0).idf()
    assert idf["here"] == pytest.approx(log(1 + 1.5 / 1.5))
    assert idf["nowhere"] == pytest.approx(log(1 + 2.5 / 0.5))


@pytest.fixture
def three_chunks(library, reader):
    """Average length 10 (frozen), k1 = 1.2, b = .75; the title "T" is a function word and no token."""
    collection = library.collection("C", reader)
    library.document(collection, "T", "valve valve pump")  # 3 tokens
    library.document(collection, "T", "valve gasket")  # 2 tokens
    library.document(collection, "T", "pump")  # 1 token
    return collection


def run(reader, question, limit=10):
    terms = distinct_query_terms(question)
    with read_snapshot() as cursor:
        reach = resolve_reach(reader, Filters())
        counts = read_statistics(cursor, 1, reach.scopes, terms)
        return counts, search_lexical(cursor, 1, counts, reach, limit)


def test_scores_are_bm25(three_chunks, reader):
    counts, hits = run(reader, "valve gasket")
    assert (counts.chunk_count, counts.frequencies) == (3, {"valv": 2, "gasket": 1})
    idf_valve, idf_gasket = log(1 + 1.5 / 2.5), log(1 + 2.5 / 1.5)
    norm_2, norm_3 = 1.2 * (0.25 + 0.75 * 2 / 10), 1.2 * (0.25 + 0.75 * 3 / 10)
    best = idf_valve * 2.2 / (1 + norm_2) + idf_gasket * 2.2 / (1 + norm_2)
    second = idf_valve * 2 * 2.2 / (2 + norm_3)
    assert [hit.score for hit in hits] == pytest.approx([best, second], rel=1e-5)


def test_equal_scores_are_ordered_by_chunk(library, reader):
    collection = library.collection("C", reader)
    for _ in range(5):
        library.document(collection, "T", "valve")
    _counts, hits = run(reader, "valve")
    assert [hit.chunk_id for hit in hits] == sorted(hit.chunk_id for hit in hits)


def test_any_term_may_match_when_the_rare_ones_find_too_few(library, reader, settings):
    settings.LEXICAL_COMMON_SHARE = 0.5
    collection = library.collection("C", reader)
    library.document(collection, "T", "valve gasket")
    library.document(collection, "T", "valve")
    library.document(collection, "T", "valve")
    assert len(run(reader, "valve gasket", limit=1)[1]) == 1
    assert len(run(reader, "valve gasket", limit=3)[1]) == 3


def test_traits_tell_the_terms_and_the_language_of_chunks(three_chunks, reader):
    _counts, hits = run(reader, "valve gasket")
    with read_snapshot() as cursor:
        traits = read_traits(cursor, 1, [hit.chunk_id for hit in hits], ["gasket", "it's", "valv"])
        assert traits[hits[0].chunk_id] == Traits(terms=("gasket", "valv"), language="en")
        assert traits[hits[1].chunk_id].terms == ("valv",)
        assert read_traits(cursor, 1, [hits[0].chunk_id], [])[hits[0].chunk_id].terms == ()
        assert read_traits(cursor, 1, [-1], ["valv"]) == read_traits(cursor, 1, [], ["valv"]) == {}


def test_nothing_in_reach_finds_nothing(three_chunks, reader):
    with read_snapshot() as cursor:
        assert search_lexical(cursor, 1, statistics(valve=1), Reach(scopes=()), 5) == []


def counted():
    with connection.cursor() as cursor:
        cursor.execute(
            "select scope_id, term, chunk_count from ingestion_termstatistic where chunk_count > 0"
        )
        terms = sorted(cursor.fetchall())
        cursor.execute("select scope_id, chunk_count from ingestion_scopestatistic where chunk_count > 0")
        return terms, sorted(cursor.fetchall())


def test_counting_everything_anew_gives_what_was_counted_on_the_way(three_chunks, library, reader):
    before = counted()
    assert before[0]
    tables.count_all(library.generation.number)
    assert counted() == before
    library.document(three_chunks, "T", "valve")
    assert counted() != before


def test_rows_loaded_in_bulk_hold_terms_as_they_are(library, reader):
    scope = library.collection("C", reader).scope_id
    odd = ["it's", "a\\b", "x\ty", "“引”", "c:1"]
    row = tables.IndexRow(
        chunk_id=7, vector=library.embedder.embed_query("valve"), weights=dict.fromkeys(odd, 1.0)
    )
    tables.load_rows(1, [tables.PlacedRow(document_id=1, scope_id=scope, row=row)])
    tables.count_all(1)
    assert [term for _, term, _ in counted()[0]] == sorted(odd)
    with read_snapshot() as cursor:
        for term in odd:
            known = read_statistics(cursor, 1, [scope], [term])
            assert [hit.chunk_id for hit in search_lexical(cursor, 1, known, Reach(scopes=(scope,)), 5)] == [
                7
            ]
