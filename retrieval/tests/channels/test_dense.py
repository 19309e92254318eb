import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from retrieval.channels.dense import Plan, choose_plan, read_cosines, search_dense
from retrieval.filters import Filters
from retrieval.reach import resolve_reach
from retrieval.snapshot import read_snapshot


@pytest.mark.parametrize(
    ("reachable", "everything", "plan"),
    [
        (0, 0, Plan.EXACT),
        (5_000, 5_000, Plan.EXACT),
        (5_001, 5_001, Plan.HNSW),
        (15_000, 1_000_000, Plan.EXACT),
        (25_000, 1_000_000, Plan.HNSW),
        (15_000, 100_000, Plan.HNSW),
    ],
)
def test_few_rows_are_scanned_and_many_go_through_the_index(reachable, everything, plan):
    assert choose_plan(reachable=reachable, everything=everything) is plan


@pytest.fixture
def corpus(library, reader, outsider):
    mine, theirs = library.collection("Mine", reader), library.collection("Theirs", outsider)
    for number in range(40):
        library.document(mine if number % 2 else theirs, f"T{number}", f"valve number {number} of press")
    return library


@pytest.mark.parametrize("plan", list(Plan))
def test_both_plans_find_the_nearest_visible_chunks(corpus, reader, plan):
    vector = corpus.embedder.embed_query("valve number 7 of press")
    with read_snapshot() as cursor:
        reach = resolve_reach(reader, Filters())
        hits = search_dense(cursor, 1, vector, reach, plan=plan, limit=20)
        cosines = read_cosines(cursor, 1, vector, [hit.chunk_id for hit in hits])
    assert len(hits) == 20
    assert [(hit.chunk_id, hit.score) for hit in hits] == sorted(
        cosines.items(), key=lambda pair: (-pair[1], pair[0])
    )


def test_an_index_scan_that_yields_too_few_is_repeated_exactly(corpus, reader):
    vector = corpus.embedder.embed_query("valve")
    with CaptureQueriesContext(connection) as queries, read_snapshot() as cursor:
        reach = resolve_reach(reader, Filters())
        hits = search_dense(cursor, 1, vector, reach, plan=Plan.HNSW, limit=100)
    assert len(hits) == 20
    assert "iterative_scan" in queries[-4]["sql"]
    assert "visible as materialized" in queries[-2]["sql"]


def test_cosines_are_told_of_chunks_that_are_indexed(corpus, reader):
    vector = corpus.embedder.embed_query("valve number 7 of press")
    with read_snapshot() as cursor:
        reach = resolve_reach(reader, Filters())
        (hit,) = search_dense(cursor, 1, vector, reach, plan=Plan.EXACT, limit=1)
        assert read_cosines(cursor, 1, vector, [hit.chunk_id, -1]) == {hit.chunk_id: hit.score}
        assert read_cosines(cursor, 1, vector, []) == {}
