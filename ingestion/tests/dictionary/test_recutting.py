"""Other terms: what is cut anew, that nothing is mixed, and that publishing goes on meanwhile."""

import pytest
from django.db import connection

from ingestion.dictionary import recutting, revisions
from ingestion.dictionary.questions import question_terms
from ingestion.indexing.analyzer import fold_phrase
from ingestion.models import DictionaryTerm, RecutRow, Recutting, TermStatistic

TERM = "流程图谱系"
TEXT = f"# 说明\n\n{TERM}由总部维护。"


def add(text=TERM, collection=None):
    return DictionaryTerm.objects.create(text=text, key=fold_phrase(text), collection=collection)


def run_to_the_end():
    while recutting.step():
        pass


def indexed(document):
    """The tokens of a document's chunks in the index."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select tsvector_to_array(terms) from lexical_g1 where document_id = %s", [document.pk]
        )
        return {token for (tokens,) in cursor.fetchall() for token in tokens}


def counted(token):
    return sum(TermStatistic.objects.filter(term=token).values_list("chunk_count", flat=True))


def asked(document, text=TERM):
    """The question's own tokens, as of now."""
    dictionary = revisions.search_dictionary([document.scope_id])
    return set(question_terms(text, dictionary).own)


def test_a_term_comes_into_force_on_both_sides_at_once(ingest):
    document, other = ingest("a.md", TEXT.encode()), ingest("b.md", "# 别的\n\n没有这个词。".encode())
    before = indexed(other)
    add()
    recutting.step()  # it has begun
    recutting.step()  # all chunks were looked at
    assert TERM not in indexed(document) | asked(document)
    run_to_the_end()
    assert TERM in indexed(document) & asked(document)
    assert counted(TERM) == 1
    assert indexed(other) == before
    assert not RecutRow.objects.exists()
    assert not Recutting.objects.exists()


def test_a_term_that_is_taken_away_leaves_nothing_behind(ingest):
    document = ingest("a.md", TEXT.encode())
    before = indexed(document)
    term = add()
    run_to_the_end()
    DictionaryTerm.objects.filter(pk=term.pk).update(wanted=False)
    run_to_the_end()
    assert indexed(document) == before
    assert counted(TERM) == 0
    assert not DictionaryTerm.objects.exists()


def test_what_is_published_during_a_run_is_cut_by_what_is_in_force_at_each_moment(ingest):
    ingest("a.md", TEXT.encode())
    add()
    recutting.step()
    recutting.step()  # whatever was there has been looked at
    late = ingest("late.md", TEXT.encode())
    assert TERM not in indexed(late)
    run_to_the_end()
    assert TERM in indexed(late)
    assert counted(TERM) == 2


def test_what_is_published_afterwards_is_cut_with_the_terms(ingest):
    add()
    run_to_the_end()
    assert TERM in indexed(ingest("a.md", TEXT.encode()))


def test_a_collections_own_terms_cut_its_documents_alone(ingest, collection, owner):
    from accounts.principals import principal_of
    from ingestion import services

    other = services.create_collection(actor=principal_of(owner), name="Other")
    here, there = ingest("a.md", TEXT.encode()), ingest("b.md", TEXT.encode(), into=other)
    add(collection=collection)
    run_to_the_end()
    assert TERM in indexed(here)
    assert TERM not in indexed(there)
    assert asked(here) > asked(there) == indexed(there) & asked(there)


def test_a_moved_document_is_cut_with_the_terms_of_its_new_collection(ingest, collection, owner, embedder):
    from accounts.principals import principal_of
    from ingestion import pipeline, rechunking, services

    other = services.create_collection(actor=principal_of(owner), name="Other")
    document = ingest("b.md", TEXT.encode(), into=other)
    add(collection=collection)
    run_to_the_end()
    services.move_document(actor=principal_of(owner), document=document, collection=collection)
    turn = rechunking.take_turn()
    pipeline.rechunk(turn, embedder)
    assert TERM in indexed(document)


def test_a_wish_that_comes_during_a_run_gets_a_run_of_its_own(ingest):
    document = ingest("a.md", TEXT.encode())
    add()
    recutting.step()
    add("总部维护")
    run_to_the_end()
    assert {TERM, "总部维护"} <= indexed(document)


def test_statistics_stay_those_of_the_rows(ingest):
    ingest("a.md", TEXT.encode())
    ingest("b.md", "Operating leases of 流程图谱系 and MES 报警码".encode())
    for text in (TERM, "operating lease", "MES报警码"):
        add(text)
    run_to_the_end()
    with connection.cursor() as cursor:
        cursor.execute(
            "select lexeme, count(*) from lexical_g1, unnest(terms) group by lexeme order by lexeme"
        )
        rows = dict(cursor.fetchall())
    held = TermStatistic.objects.exclude(chunk_count=0)
    assert {row.term: row.chunk_count for row in held} == rows
    assert {"operating lease", "mes报警码"} <= rows.keys()


def test_a_run_that_fails_three_times_waits_for_a_person(ingest):
    ingest("a.md", TEXT.encode())
    add()
    recutting.step()
    for _time in range(3):
        recutting.note_failure()
    assert recutting.step() is False
    assert recutting.progress([None]).failed
    recutting.retry()
    run_to_the_end()
    assert recutting.progress([None]) is None


def test_progress_is_told_of_the_places_asked_for(ingest, collection):
    ingest("a.md", TEXT.encode())
    add(collection=collection)
    assert recutting.progress([None]) is None
    assert recutting.progress([collection.pk]).waiting
    recutting.step()
    recutting.step()
    assert recutting.progress([collection.pk]).percent == 99


@pytest.mark.django_db
def test_without_entries_questions_are_cut_as_ever():
    assert revisions.search_dictionary([1]).dictionaries[0].terms == ()
