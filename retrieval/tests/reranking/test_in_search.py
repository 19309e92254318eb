"""Reranking as a step of a search, by a real server."""

import pytest

from kb_platform.net.guard import forget
from kb_platform.runtime_config import declarations as declared
from kb_platform.testing.http_server import Reply, http_server
from kb_platform.testing.rerank_server import reranking
from retrieval.models import SearchTrace
from retrieval.pipeline import search
from retrieval.reranking.configured import reranker
from retrieval.search_settings import current
from retrieval.turns import degraded_sentences
from retrieval.values import SearchRequest

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pumps(library, reader):
    collection = library.collection("Pumps", reader)
    for n in range(8):
        library.document(collection, f"Pump {n}", f"The pump note {n} about pumps and pump oil.")
    library.document(collection, "Checks", "Every pump check happens weekly.")
    return collection


@pytest.fixture
def chosen(configure):
    with http_server(reranking) as fake:
        configure(declared.RERANKER, "tei")
        configure(declared.RERANKER_URL, fake.url)
        configure(declared.RERANKER_MS, 10_000)
        configure(declared.INTERNAL_HOSTS, fake.address)
        yield fake
        forget(reranker().target)


def ids(result):
    return [passage.chunk_id for passage in result.passages]


def test_the_final_scores_are_the_rerankers_and_what_is_behind_goes_to_the_trace(
    pumps, reader, chosen, configure
):
    configure(declared.RERANK_CANDIDATES, 5)
    chosen.answering = lambda request: Reply.json(
        [{"index": n, "score": n / 10} for n in range(len(request.json()["texts"]))]
    )
    plain = search(
        SearchRequest(text="pump note", settings=current().changed(rerank=False)), principal=reader
    )
    found = search(SearchRequest(text="pump note"), principal=reader)
    assert ids(found) == list(reversed(ids(plain)[:5]))
    assert [passage.score for passage in found.passages] == [0.4, 0.3, 0.2, 0.1, 0.0]
    assert found.degraded == ()
    trace = SearchTrace.objects.get(trace_id=found.trace_id)
    assert len(trace.candidates) == 9
    assert set(trace.dropped.values()) == {"not_reranked"}
    assert trace.candidates[0]["rerank"] == [1, 0.4]
    assert trace.candidates[0]["fusion"][0] == 5
    assert {"rerank"} <= {span["step"] for span in trace.spans}


def test_the_threshold_counts_once_on_the_final_score_and_0_is_not_none(pumps, reader, chosen):
    chosen.answering = lambda request: Reply.json(
        [{"index": n, "score": 0.9 if n < 2 else 0.0} for n in range(len(request.json()["texts"]))]
    )
    for threshold, count in ((None, 9), (0.0, 9), (0.5, 2), (1.0, 0)):
        settings = current().changed(threshold=threshold)
        result = search(SearchRequest(text="pump", settings=settings), principal=reader)
        assert len(result.passages) == count, threshold


@pytest.mark.parametrize(
    "answering", [Reply(wait_s=3), Reply(status=500), Reply(body=b"<html>"), Reply.json([{"index": 0}])]
)
def test_a_reranker_that_fails_leaves_the_fused_order_and_is_named(
    pumps, reader, chosen, configure, answering
):
    if answering.wait_s:
        configure(declared.RERANKER_MS, 200)
    fused = ids(
        search(SearchRequest(text="pump note", settings=current().changed(rerank=False)), principal=reader)
    )
    chosen.answering = lambda _request: answering
    found = search(SearchRequest(text="pump note"), principal=reader)
    assert ids(found) == fused
    assert found.degraded == ("rerank",)
    assert "first ranking" in degraded_sentences(found.degraded)[0]


def test_only_texts_that_the_reader_may_see_are_sent(pumps, library, reader, chosen):
    library.document(library.collection("Secret"), "Secret", "The secret pump note.")
    search(SearchRequest(text="pump note"), principal=reader)
    assert chosen.received
    assert "secret" not in chosen.received[-1].body.decode().lower()
