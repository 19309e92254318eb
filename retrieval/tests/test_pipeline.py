"""Search as a whole, against a real index."""

from uuid import uuid4

import pytest
from django.db import connection

from accounts.models import AccessScope
from ingestion.indexing import tables
from ingestion.models import Document
from kb_platform.errors import InvalidInput
from retrieval import pipeline, tracing
from retrieval.channels import index
from retrieval.filters import Filters, parse_filters
from retrieval.models import SearchTrace
from retrieval.pipeline import search
from retrieval.values import EvidenceLevel, Mode, SearchRequest

pytestmark = pytest.mark.django_db(transaction=True)


def titles(result):
    return [passage.title for passage in result.passages]


@pytest.fixture
def handbook(library, reader):
    """Four open documents, which the reader may see."""
    collection = library.collection("Handbook", reader)
    library.document(collection, "Travel", "The nightly hotel cap in Lisbon is 145 euros.", language="en")
    library.document(collection, "Rail", "Grade P8 may take first class, file form XK-200A.", tags=["rail"])
    library.document(collection, "Badges", "Lost badges are replaced in room 3.14.", doc_type="guide")
    library.document(collection, "假期", "员工每年享有十天带薪年假。", language="zh")
    return collection


def test_a_question_finds_its_passage_with_everything_needed_to_cite_it(handbook, reader):
    result = search(SearchRequest(text="hotel cap in Lisbon"), principal=reader)
    first = result.passages[0]
    assert (first.title, first.page, first.version_number, first.collection_name) == (
        "Travel",
        1,
        1,
        "Handbook",
    )
    assert first.boxes
    assert set(first.channels) == {"dense", "lexical"}
    assert first.channels["lexical"].rank == 1
    assert set(first.terms) == {"hotel", "cap", "lisbon"}
    assert result.degraded == ()


@pytest.mark.parametrize("question", ["XK-200A", "xk200a", "200a"])
def test_codes_are_found_whole_and_in_parts(handbook, reader, question):
    assert titles(search(SearchRequest(text=question, mode=Mode.LEXICAL), principal=reader)) == ["Rail"]


def test_chinese_questions_find_chinese_passages(handbook, reader):
    assert titles(search(SearchRequest(text="年假有多少天"), principal=reader))[0] == "假期"


def test_only_terms_that_are_in_the_passage_are_reported(handbook, reader):
    passage = search(SearchRequest(text="badges in Lisbon"), principal=reader).passages[0]
    assert set(passage.terms) in ({"badg"}, {"lisbon"})


# --- access -----------------------------------------------------------------------------------------------


def test_an_outsider_finds_nothing_and_learns_no_counts(handbook, outsider):
    result = search(SearchRequest(text="hotel cap in Lisbon"), principal=outsider)
    assert (result.passages, result.total_estimate, dict(result.idf)) == ((), 0, {})
    assert result.evidence.level is EvidenceLevel.NONE
    assert SearchTrace.objects.get().candidates == []


def test_hidden_documents_change_neither_results_nor_scores(handbook, library, reader, outsider):
    request = SearchRequest(text="hotel cap in Lisbon for grade P8", top_k=50)
    before = search(request, principal=reader)
    hidden = library.collection("Hidden", outsider)
    for number in range(30):
        library.document(hidden, f"Secret {number}", "The hotel cap in Lisbon for grade P8 is secret.")
    after = search(request, principal=reader)
    assert after.passages == before.passages  # bit-equal scores, ranks and terms
    assert (after.total_estimate, dict(after.idf)) == (before.total_estimate, dict(before.idf))


def test_a_grant_revoked_between_recall_and_hydration_works_at_once(handbook, library, reader, monkeypatch):
    def revoke_then_rank(recalled, settings):
        assert recalled.hits["lexical"]
        library.revoke(handbook.scope, reader)
        return rank(recalled, settings)

    rank = pipeline.rank
    monkeypatch.setattr(pipeline, "rank", revoke_then_rank)
    result = search(SearchRequest(text="hotel cap in Lisbon"), principal=reader)
    assert (result.passages, result.total_estimate) == ((), 0)


def test_a_document_moved_out_of_sight_is_not_shown_although_its_index_rows_lag(handbook, reader):
    hidden = AccessScope.objects.create()
    Document.objects.filter(title="Travel").update(scope=hidden)
    result = search(SearchRequest(text="hotel cap in Lisbon"), principal=reader)
    assert "Travel" not in titles(result)
    assert result.total_estimate == 3


def test_an_archived_document_is_not_shown_although_its_index_rows_lag(handbook, reader):
    Document.objects.filter(title="Travel").update(archived_at="2026-01-01T00:00:00Z")
    assert "Travel" not in titles(search(SearchRequest(text="hotel cap in Lisbon"), principal=reader))


def test_a_version_published_during_a_search_is_found_by_it(handbook, library, reader, monkeypatch):
    document = Document.objects.get(title="Travel")

    def publish_once_then_rank(recalled, settings):
        monkeypatch.setattr(pipeline, "rank", rank)
        library.publish(document, "The nightly hotel cap in Lisbon is 162 euros.")
        return rank(recalled, settings)

    rank = pipeline.rank
    monkeypatch.setattr(pipeline, "rank", publish_once_then_rank)
    result = search(SearchRequest(text="hotel cap in Lisbon"), principal=reader)
    assert "162" in result.passages[0].text
    assert result.passages[0].version_number == 2


def test_a_deleted_document_is_gone(handbook, library, reader):
    document = Document.objects.get(title="Travel")
    tables.delete_rows(library.generation.number, document.pk)
    document.delete()
    assert "Travel" not in titles(search(SearchRequest(text="hotel cap in Lisbon"), principal=reader))


# --- paging -----------------------------------------------------------------------------------------------


def test_the_top_three_are_the_head_of_the_top_ten(handbook, library, reader):
    for number in range(20):
        library.document(handbook, f"Policy {number}", f"Policy number {number} on hotel and rail travel.")
    few, many = (
        search(SearchRequest(text="policy on hotel travel", top_k=top_k), principal=reader).passages
        for top_k in (3, 10)
    )
    assert len(few) == 3
    assert many[:3] == few
    paged = search(SearchRequest(text="policy on hotel travel", top_k=4, offset=3), principal=reader)
    assert paged.passages == many[3:7]
    scores = [passage.score for passage in many]
    assert scores == sorted(scores, reverse=True)


def test_a_page_beyond_the_candidates_is_empty(handbook, reader):
    assert search(SearchRequest(text="hotel", offset=500), principal=reader).passages == ()


# --- filters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"doc_type": "guide"}, {"Badges"}),
        ({"tags": ["rail", "bus"]}, {"Rail"}),
        ({"language": ["zh", "en"]}, {"假期", "Travel"}),
        ({"doc_type": "guide", "tags": "rail"}, set()),
        ({"modified_after": "2999-01-01"}, set()),
        ({"modified_before": "2999-01-01"}, {"Travel", "Rail", "Badges", "假期"}),
        ({"metadata.region": "EU"}, set()),
        ({"department": "'; drop table x; --"}, set()),
    ],
)
def test_filters_work_inside_the_recall(handbook, reader, conditions, expected):
    request = SearchRequest(text="hotel badges 年假 first class", filters=parse_filters(conditions))
    result = search(request, principal=reader)
    assert set(titles(result)) == expected
    assert result.total_estimate == len(expected)


def test_metadata_is_compared_by_value_and_kind(handbook, library, reader):
    library.document(handbook, "Fees", "Badge fee list.", metadata={"region": "EU", "year": 2026})
    for conditions, expected in (
        ({"metadata.region": "EU"}, ["Fees"]),
        ({"metadata": {"year": [2025, 2026]}}, ["Fees"]),
        ({"metadata.year": "2026"}, []),
        ({"metadata.year": {"gte": 2026, "lt": 2027}}, ["Fees"]),
        ({"metadata.year": {"gt": 2026}}, []),
        ({"metadata.year": {"gte": "2026"}}, []),
        ({"metadata.region": {"contains": "eu"}}, ["Fees"]),
        ({"metadata.region": {"contains": "."}}, []),
    ):
        request = SearchRequest(text="badge fee", filters=parse_filters(conditions))
        assert titles(search(request, principal=reader)) == expected


def test_unknown_hidden_and_malformed_collections_all_match_nothing(handbook, library, reader, outsider):
    hidden = library.collection("Hidden", outsider)
    library.document(hidden, "Secret", "The hotel cap in Lisbon is secret.")
    for uid in (str(hidden.uid), str(uuid4()), "no such id"):
        request = SearchRequest(text="hotel cap", filters=Filters(collections=(uid,)))
        assert search(request, principal=reader).passages == ()
    open_one = SearchRequest(text="hotel cap", filters=Filters(collections=(str(handbook.uid),)))
    assert "Travel" in titles(search(open_one, principal=reader))


# --- degraded ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.DENSE])
def test_without_an_embedder_the_search_goes_on_and_says_so(handbook, embedder, reader, mode):
    embedder.is_broken = True
    result = search(SearchRequest(text="hotel cap in Lisbon", mode=mode), principal=reader)
    assert result.degraded == ("dense",)
    assert titles(result) == (["Travel"] if mode is Mode.HYBRID else [])


def test_a_slow_embedder_is_not_waited_for(handbook, reader, settings, monkeypatch, embedder):
    import threading

    settings.QUERY_EMBEDDING_TIMEOUT_S = 0.05
    gate = threading.Event()
    monkeypatch.setattr(embedder, "embed_query", lambda text: gate.wait(10))
    try:
        result = search(SearchRequest(text="hotel cap in Lisbon"), principal=reader)
    finally:
        gate.set()
    assert result.degraded == ("dense",)


def test_vectors_of_another_embedder_are_not_compared(handbook, library, reader):
    library.generation.embedder = "another"
    library.generation.save()
    assert search(SearchRequest(text="hotel"), principal=reader).degraded == ("dense",)


def test_without_the_lexical_channel_the_dense_one_answers(handbook, reader, monkeypatch):
    def fail(*args):
        with connection.cursor() as cursor:
            cursor.execute("select no_such_column")

    monkeypatch.setattr(index, "search_lexical", fail)
    result = search(SearchRequest(text="hotel cap in Lisbon"), principal=reader)
    assert result.degraded == ("lexical",)
    assert titles(result)[0] == "Travel"


def test_words_that_occur_nowhere_leave_the_dense_channel(handbook, reader):
    result = search(SearchRequest(text="zzzz qqqq"), principal=reader)
    assert {name for passage in result.passages for name in passage.channels} == {"dense"}
    assert result.degraded == ()


def test_a_mode_uses_its_channel_alone(handbook, embedder, reader):
    for mode in (Mode.DENSE, Mode.LEXICAL):
        result = search(SearchRequest(text="hotel cap in Lisbon", mode=mode), principal=reader)
        assert {name for passage in result.passages for name in passage.channels} == {mode.value}
    assert len(embedder.queries) == 1


# --- odd questions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", " ", "\x00", "\ud800", "\n\t"])
def test_an_empty_question_is_refused(text):
    with pytest.raises(InvalidInput):
        SearchRequest(text=text)


def test_an_overlong_question_is_refused_with_the_limit():
    with pytest.raises(InvalidInput, match="2000"):
        SearchRequest(text="a" * 10_000)
    assert SearchRequest(text="a" * 2_000)


@pytest.mark.parametrize("text", ["😀😀", "((((", "?!"])
def test_a_question_without_words_finds_nothing(handbook, reader, text):
    assert search(SearchRequest(text=text), principal=reader).passages == ()


@pytest.mark.parametrize(
    "text",
    [
        "'; DROP TABLE x; --",
        "a & | ! b",
        "hotel\x00cap\ud800",
        "a:* <-> b",
        "\\'hotel' \\",
        "x" * 2_000,
        "的 了 吗",
        "to be or not to be",
        "hotel " * 333,
        "٣٫١٤ ﷺ 𝟘𝟙 İstanbul ﬁle",
    ],
)
def test_odd_questions_are_answered(handbook, reader, text):
    assert search(SearchRequest(text=text), principal=reader).degraded == ()


# --- trace ------------------------------------------------------------------------------------------------


def test_a_search_leaves_a_trace_without_text(handbook, reader):
    result = search(SearchRequest(text="hotel cap in Lisbon"), principal=reader)
    trace = SearchTrace.objects.get(trace_id=result.trace_id)
    assert (trace.user_id, trace.query, trace.mode) == (reader.user_id, "hotel cap in Lisbon", "hybrid")
    assert trace.candidates[0]["chunk"] == result.passages[0].chunk_id
    assert trace.candidates[0]["dense"][0] == result.passages[0].channels["dense"].rank
    assert {"recall", "lexical", "dense", "hydrate", "total"} <= set(trace.timings_ms)
    assert "145" not in str(trace.candidates)


def test_a_trace_that_cannot_be_stored_breaks_nothing(handbook, reader, monkeypatch):
    monkeypatch.setattr(tracing, "_STORE", "select no_such_column")
    assert search(SearchRequest(text="hotel"), principal=reader).passages
    assert not SearchTrace.objects.exists()


def test_a_passage_with_the_very_code_comes_before_one_with_a_similar_code(library, reader):
    shelf = library.collection("Parts", reader)
    library.document(shelf, "Near", "marker-1001")
    exact = library.document(
        shelf,
        "Exact",
        "The gauge that every shift checks by hand before the gate opens is marker-1002, see the log.",
    )
    found = search(SearchRequest(text="marker-1002"), principal=reader)
    assert found.passages[0].document_uid == str(exact.uid)


def test_one_chinese_character_finds_the_words_that_contain_it(library, reader, outsider):
    collection = library.collection("Zoo", reader)
    library.document(collection, "动物园", "动物园里的大熊猫每天吃竹子。")
    library.document(collection, "食堂", "食堂每天中午供应面条。")
    found = search(SearchRequest(text="猫", mode=Mode.LEXICAL), principal=reader)
    assert [passage.title for passage in found.passages] == ["动物园"]
    assert "熊猫" in "".join(found.passages[0].terms)
    assert found.passages[0].terms[-1] == "猫"  # each such word counts as the character itself
    assert not search(SearchRequest(text="猫"), principal=outsider).passages
