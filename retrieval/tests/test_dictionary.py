"""Searches under a dictionary: synonyms, stop words, own terms, and what a reader learns of others' entries."""

import threading

import pytest
from django.db import connection, transaction

from ingestion.dictionary import recutting
from ingestion.dictionary.questions import question_terms
from ingestion.dictionary.revisions import move_revision, search_dictionary
from ingestion.indexing import tables
from ingestion.models import DictionaryStopWord, DictionarySynonym, DictionaryTerm
from retrieval.models import SearchTrace
from retrieval.pipeline import search
from retrieval.results import grouped
from retrieval.snapshot import read_snapshot
from retrieval.tracing import visible_trace
from retrieval.values import Mode, SearchRequest


@pytest.fixture
def save(transactional_db):
    """`save(model, ...)`: an entry, in force from the next question on."""

    def make(model, **fields):
        with transaction.atomic():
            row = model.objects.create(**fields)
            move_revision()
        return row

    return make


def synonyms(save, *phrases, **fields):
    return save(DictionarySynonym, phrases=list(phrases), keys=list(phrases), **fields)


def look(question, reader, **how):
    return search(SearchRequest(text=question, mode=Mode.LEXICAL, **how), principal=reader)


def test_a_passage_is_found_through_a_synonym_marked_in_its_own_words_and_says_so(library, reader, save):
    handbook = library.collection("Handbook", reader)
    library.document(handbook, "Travel", "Business trips are booked by the office.")
    library.document(handbook, "Lunch", "The canteen opens at noon.")
    assert look("差旅", reader).passages == ()
    synonyms(save, "差旅", "business trip")
    found = look("差旅", reader)
    assert [passage.title for passage in found.passages] == ["Travel"]
    [group] = grouped(reader, found.passages, question="差旅", expansions=found.expansions)
    assert "Through the synonym: 差旅 → business trip" in group.passages[0].reasons
    assert "".join(part.text for part in group.passages[0].segments if part.marked) == "Businesstrips"


def test_the_questions_own_word_counts_more_than_its_synonym(library, reader, save):
    handbook = library.collection("Handbook", reader)
    library.document(handbook, "Synonym", "外出 办事 规定")
    library.document(handbook, "Own", "差旅 办事 规定")
    synonyms(save, "差旅", "外出", weight=0.5)
    assert [passage.title for passage in look("差旅", reader).passages] == ["Own", "Synonym"]


def test_a_stop_word_is_not_looked_for(library, reader, save):
    handbook = library.collection("Handbook", reader)
    library.document(handbook, "Named", "制度 制度 制度")
    library.document(handbook, "Meant", "报销要附发票")
    save(DictionaryStopWord, text="制度", key="制度")
    assert [passage.title for passage in look("报销制度", reader).passages] == ["Meant"]


def test_a_collections_own_synonyms_find_nothing_elsewhere(library, reader, save):
    budget, travel = library.collection("Budget", reader), library.collection("Travel", reader)
    library.document(budget, "Budget", "超标 说明")
    library.document(travel, "Rules", "超标 后 要 审批")
    synonyms(save, "超支", "超标", collection=travel)
    found = look("超支", reader)
    assert {passage.title: passage.terms for passage in found.passages} == {"Rules": ("超标",)}


def test_entries_of_a_collection_that_one_may_not_read_have_no_say(library, reader, outsider, save):
    open_one, secret = library.collection("Open", reader, outsider), library.collection("Secret", reader)
    library.document(open_one, "Open", "凤凰 计划")
    library.document(secret, "Secret", "凤凰 计划")
    synonyms(save, "裁员", "凤凰", collection=secret)
    assert look("裁员", reader).expansions
    found = look("裁员", outsider)
    assert (found.expansions, found.passages) == ((), ())


def test_a_document_that_is_shared_alone_tells_none_of_its_collections_synonyms(
    library, reader, outsider, save
):
    secret = library.collection("Secret", reader)
    document = library.document(secret, "Secret", "凤凰 计划")
    library.document(secret, "Other", "裁员")
    alone = library.collection("of the document", outsider).scope
    tables.delete_rows(1, document.pk)
    document.scope = alone
    document.save()
    library.publish(document, "食堂 开放")
    synonyms(save, "食堂", "凤凰", collection=secret)
    for who, told in ((reader, True), (outsider, False)):
        trace = visible_trace(who, look("食堂", who).trace_id)
        assert ("凤凰" in str(trace.explanations)) is told
    library.revoke(secret.scope, reader)
    assert "凤凰" not in str(visible_trace(reader, trace_of(reader)).explanations)


def trace_of(reader):
    return SearchTrace.objects.get(user_id=reader.user_id).trace_id


def test_a_change_holds_from_the_next_question_on_also_with_a_ranking_cache(library, reader, save):
    handbook = library.collection("Handbook", reader)
    library.document(handbook, "Travel", "出差 要 申请")
    assert look("差旅", reader).passages == ()
    row = synonyms(save, "差旅", "出差")
    assert look("差旅", reader).passages
    with transaction.atomic():
        row.delete()
        move_revision()
    assert look("差旅", reader).passages == ()


def _in_another_session(work):
    def run():
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(timeout=20)
    assert not thread.is_alive()


def test_a_search_sees_question_and_passages_cut_by_one_dictionary(library, reader):
    """A snapshot from before the exchange has the old cut on both sides, one from after it the new one."""
    term = "流程图谱系"
    handbook = library.collection("Handbook", reader)
    document = library.document(handbook, "Atlas", f"{term}由总部维护")
    DictionaryTerm.objects.create(text=term, key=term)

    def both(cursor):
        question = question_terms(term, search_dictionary([document.scope_id]))
        cursor.execute("select bool_or(%s = any(tsvector_to_array(terms))) from lexical_g1", [term])
        return term in question.own, cursor.fetchone()[0]

    def run_to_the_end():
        while recutting.step():
            pass

    with read_snapshot() as cursor:
        assert both(cursor) == (False, False)
        _in_another_session(run_to_the_end)
        assert both(cursor) == (False, False)
    with read_snapshot() as cursor:
        assert both(cursor) == (True, True)
