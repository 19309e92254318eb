"""Every combination of switches answers, and says what was missing."""

from itertools import product

import pytest
from redis.exceptions import ConnectionError as ValkeyUnreachable

from ingestion.indexing import tables
from ingestion.models import Document
from kb_platform.errors import Unavailable
from retrieval import pipeline, question_vector, recall_cache
from retrieval.models import SearchTrace
from retrieval.pipeline import search, search_async, search_batch
from retrieval.search_settings import Fusion, SearchSettings
from retrieval.values import Mode, SearchRequest

pytestmark = pytest.mark.django_db(transaction=True)
QUESTION = "hotel cap in Lisbon"


@pytest.fixture
def handbook(library, reader):
    collection = library.collection("Handbook", reader)
    library.document(collection, "Travel", "The nightly hotel cap in Lisbon is 145 euros.")
    library.document(collection, "Copy", "The nightly hotel cap in Lisbon is 145 euros.")
    library.document(collection, "Older", "The nightly hotel cap in Lisbon is 120 euros.")
    library.document(collection, "Badges", "Lost badges are replaced in room 3.14.")
    return collection


def run(reader, text=QUESTION, **knobs):
    mode = knobs.pop("mode", Mode.HYBRID)
    request = SearchRequest(text=text, mode=mode, settings=SearchSettings(**knobs))
    return search(request, principal=reader)


@pytest.mark.parametrize(
    ("dense", "lexical", "fusion", "fold", "diversity", "seconds"),
    [case for case in product((True, False), (True, False), Fusion, (True, False), (None, 0.5), (0, 60)) if any(case[:2])],
)  # fmt: skip
def test_any_combination_finds_the_passage(
    handbook, reader, dense, lexical, fusion, fold, diversity, seconds
):
    found = run(
        reader, dense=dense, lexical=lexical, fusion=fusion, fold=fold, diversity=diversity, cache_seconds=seconds
    )  # fmt: skip
    assert "hotel cap" in found.passages[0].text
    off = {name for name, is_on in (("dense", dense), ("lexical", lexical)) if not is_on}
    assert set(found.degraded) == off
    assert all(isinstance(passage.score, float) for passage in found.passages)


@pytest.mark.parametrize(("mode", "dense", "lexical"), [("dense", 0, 1), ("lexical", 1, 0), ("hybrid", 0, 0)])
def test_when_all_that_was_asked_for_is_switched_off_it_says_so(reader, mode, dense, lexical):
    with pytest.raises(Unavailable) as refusal:
        run(reader, mode=Mode(mode), dense=bool(dense), lexical=bool(lexical))
    assert refusal.value.code == "search_switched_off"


def test_the_same_text_is_shown_once_with_the_other_place_beneath(handbook, reader):
    folded = run(reader)
    assert len(folded.passages) == 3
    assert [other.title for other in folded.passages[0].also_in] == ["Copy"]
    assert "same_text" in SearchTrace.objects.get(trace_id=folded.trace_id).dropped.values()
    assert len(run(reader, fold=False).passages) == 4


def test_a_threshold_of_zero_is_not_none(handbook, reader):
    everything = run(reader, threshold=None)
    bounded = run(reader, threshold=0.0)
    assert all(passage.score >= 0 for passage in bounded.passages)
    assert len(bounded.passages) <= len(everything.passages)
    assert run(reader, threshold=99.0).passages == ()


# --- the ranking cache ------------------------------------------------------------------------------------


def cached(reader, **knobs):
    trace = SearchTrace.objects.get(trace_id=run(reader, **knobs).trace_id)
    return trace.explanations.get("cached", False)


def test_the_same_question_is_ranked_once_until_something_changes(handbook, library, reader, embedder):
    assert [cached(reader), cached(reader)] == [False, True]
    assert embedder.queries.count(QUESTION) == 1
    library.document(handbook, "News", "The hotel cap in Lisbon has changed.")
    assert "News" in [passage.title for passage in run(reader).passages]
    assert cached(reader)
    tables.delete_rows(library.generation.number, Document.objects.get(title="News").pk)
    assert not cached(reader)


def test_other_settings_other_conditions_and_other_readers_are_other_rankings(
    handbook, library, reader, outsider
):
    assert not cached(reader)
    assert not cached(reader, rrf_k=10)
    found = run(outsider)
    assert found.passages == ()
    library.revoke(handbook.scope, reader)
    assert run(reader).passages == ()


def test_without_valkey_a_search_is_made_anew(handbook, reader, monkeypatch):
    class Gone:
        def get(self, key):
            raise ValkeyUnreachable("refused")

        set = get

    monkeypatch.setattr(recall_cache, "caches", {"rankings": Gone()})
    monkeypatch.setattr(recall_cache, "_rests_until", 0.0)
    assert run(reader).passages
    assert run(reader).degraded == ()


# --- the embedder -----------------------------------------------------------------------------------------


def test_an_embedder_that_keeps_failing_is_left_alone_and_asked_again_later(
    handbook, reader, embedder, monkeypatch
):
    asked = []
    real = embedder.embed_query
    monkeypatch.setattr(embedder, "embed_query", lambda text: (asked.append(text), real(text))[1])
    embedder.is_broken = True
    for number in range(5):
        assert run(reader, f"hotel cap {number}").degraded == ("dense",)
    assert len(asked) == 3
    embedder.is_broken = False
    assert run(reader, "hotel cap still").degraded == ("dense",)
    monkeypatch.setattr(question_vector.BREAKER, "opened_at", -1e9)
    assert run(reader, "hotel cap again").degraded == ()


# --- batch and async --------------------------------------------------------------------------------------


def test_a_batch_answers_in_the_order_asked(handbook, reader):
    questions = ("hotel cap", "lost badges", "hotel cap", "room 3.14")
    found = search_batch([SearchRequest(text=text) for text in questions], principal=reader)
    single = [search(SearchRequest(text=text), principal=reader) for text in questions]
    assert [result.passages for result in found] == [result.passages for result in single]


def test_a_coroutine_gets_the_same_answer(handbook, reader):
    from asgiref.sync import async_to_sync

    request = SearchRequest(text=QUESTION)
    found = async_to_sync(search_async)(request, principal=reader)
    assert found.passages == search(request, principal=reader).passages


def test_every_step_is_in_the_trace_with_start_and_end(handbook, reader):
    trace = SearchTrace.objects.get(trace_id=run(reader, cache_seconds=0).trace_id)
    steps = {span["step"]: span for span in trace.spans}
    assert {"recall", "lexical", "dense", "signals", "hydrate"} <= steps.keys()
    assert steps["lexical"]["depth"] > steps["recall"]["depth"]
    assert all(span["start_ms"] >= 0 and span["ms"] >= 0 for span in trace.spans)
    assert trace.settings["pool"] == pipeline.current().pool
