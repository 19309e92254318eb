"""Understanding within a search: conditions, catalogue questions and parts, for readers and outsiders."""

from itertools import product

import pytest
from django.utils import timezone

from retrieval.models import SearchTrace
from retrieval.pipeline import search
from retrieval.query.values import Round, Route
from retrieval.query.vocabulary import read_vocabulary
from retrieval.search_settings import SearchSettings
from retrieval.values import Mode, SearchRequest

pytestmark = pytest.mark.django_db(transaction=True)


def titles(result):
    return [passage.title for passage in result.passages]


@pytest.fixture
def handbook(library, reader):
    collection = library.collection("Handbook", reader)
    library.document(
        collection, "Leave rules", "Annual leave is 20 days.", department="HR", doc_type="policy"
    )
    library.document(collection, "Leave systems", "Annual leave is entered in the tool.", department="IT")
    library.document(
        collection, "怀化差旅", "怀化的住宿标准是每晚300元。", department="行政部", language="zh"
    )
    return collection


def ask(text, principal, **options):
    return search(SearchRequest(text=text, **options), principal=principal)


def test_a_condition_narrows_the_search_and_can_be_taken_back(handbook, reader):
    result = ask("annual leave in HR policies", reader)
    assert titles(result) == ["Leave rules"]
    condition = result.understanding.conditions[0]
    assert (condition.name, condition.shown, result.understanding.search_text) == (
        "department",
        "HR",
        "annual leave",
    )
    keys = frozenset(condition.key for condition in result.understanding.conditions)
    wide = ask("annual leave in HR policies", reader, without=keys)
    assert {"Leave rules", "Leave systems"} <= set(titles(wide))
    assert {condition.key for condition in wide.understanding.removed} == keys


def test_conditions_that_leave_nothing_are_left_out_and_told(handbook, library, reader):
    library.document(handbook, "Parking", "Bicycles stand in the yard.", department="Security")
    result = ask("annual leave in Security documents", reader)
    assert result.notes == ("conditions_dropped",)
    assert titles(result)[0].startswith("Leave")
    assert not result.understanding.conditions


def test_values_of_hidden_documents_are_no_conditions(handbook, library, reader, outsider):
    hidden = library.collection("Merger papers")
    library.document(hidden, "Plan", "Secret", department="M and A", doc_type="term sheet")
    text = "in M and A documents, and in the Merger papers collection"
    for principal in (reader, outsider):
        words = {term.word for term in read_vocabulary(principal, text).terms}
        assert not words & {"M and A", "term sheet", "Merger papers"}
        assert not ask(text, principal).understanding.conditions
    assert not ask("annual leave in HR policies", outsider).understanding.conditions


def test_a_catalogue_question_is_answered_from_what_is_known_of_the_documents(handbook, reader):
    result = ask("知识库里有多少关于怀化的文件？", reader)
    assert result.understanding.route is Route.CATALOGUE
    assert result.direct.kind == "catalogue"
    assert (result.direct.detail["count"], [p.title for p in result.direct.passages]) == (1, ["怀化差旅"])
    assert "[1]" in result.direct.text
    counted = ask("how many documents are in the knowledge base?", reader)
    assert counted.direct.detail["count"] == 3
    listed = ask("list all HR policies", reader)
    assert [p.title for p in listed.direct.passages] == ["Leave rules"]
    assert "department=HR" in listed.direct.detail["url"]


def test_a_question_of_the_faq_is_no_document(handbook, library, reader):
    library.document(handbook, "Who repairs the lift?", "Call 6020.", is_faq=True)
    counted = ask("how many documents are in the knowledge base?", reader).direct
    assert counted.detail["count"] == 3
    assert "lift" not in counted.text


def test_a_list_is_cut_and_says_so(handbook, library, reader):
    for number in range(12):
        library.document(handbook, f"Per diem {number}", "per diem rates", source_modified_at=timezone.now())
    direct = ask("How many files about per diem are there?", reader).direct
    assert (direct.detail["count"], len(direct.passages)) == (12, 10)
    assert direct.detail["url"] == "/search?q=per+diem"


def test_the_newest_version_is_that_of_a_document_whose_title_fits(handbook, library, reader):
    library.document(handbook, "Leave rules for interns", "text")
    found = ask("what is the newest version of the leave rules?", reader)
    assert [p.title for p in found.direct.passages] == ["Leave rules"]
    assert ask("what is the newest version of Python?", reader).direct is None


def test_nothing_hidden_is_counted_listed_or_named(handbook, library, reader, outsider):
    hidden = library.collection("Board")
    library.document(hidden, "怀化并购", "怀化的并购计划")
    assert ask("知识库里有多少关于怀化的文件？", reader).direct.detail["count"] == 1
    empty = ask("知识库里有多少关于怀化的文件？", outsider).direct
    assert (empty.detail["count"], empty.passages) == (0, ())


def test_every_part_has_its_passages_and_its_place_in_the_trace(handbook, library, reader):
    for number in range(12):
        library.document(
            handbook, f"Badge {number}", "Badges are replaced at the badge desk of the badge office."
        )
    library.document(handbook, "Boats", "The mooring fee is nine crowns.")
    text = "Where are lost badges replaced at the badge desk, and how much is the mooring fee?"
    result = ask(text, reader, top_k=4)
    assert "Boats" in titles(result)
    assert any(title.startswith("Badge") for title in titles(result))
    trace = SearchTrace.objects.get(trace_id=result.trace_id)
    assert [part["rounds"] for part in trace.explanations["parts"]] == [1, 1]
    alone = ask(text, reader, top_k=4, settings=SearchSettings(parts=False))
    assert not alone.understanding.parts


def test_a_follow_up_is_searched_standing_alone(handbook, reader):
    history = (Round(question="What are the rules on annual leave?"),)
    result = ask("Why?", reader, history=history)
    assert result.understanding.text == "Why? (rules annual leave)"
    assert titles(result)[0] == "Leave rules"
    off = ask("Why?", reader, history=history, settings=SearchSettings(follow_ups=False))
    assert off.understanding.text == "Why?"


def test_every_combination_of_switches_finds_the_passage(handbook, reader):
    """Optimising a question is never a condition for finding something."""
    history = (Round(question="What are the rules on annual leave?"),)
    text = "In HR policies, how long is annual leave, and where is the system for it entered?"
    for conditions, follow_ups, parts in product((True, False), repeat=3):
        settings = SearchSettings(conditions=conditions, follow_ups=follow_ups, parts=parts, cache_seconds=0)
        for mode in (Mode.HYBRID, Mode.LEXICAL) if parts else (Mode.HYBRID,):
            result = ask(text, reader, settings=settings, mode=mode, history=history)
            assert "Leave rules" in titles(result), (settings, mode)
