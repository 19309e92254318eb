from dataclasses import replace

import pytest
from django.db import connection

from accounts.principals import principal_of
from ingestion import bulk, selectors, services
from ingestion.blobs import store
from ingestion.faq import vectors
from ingestion.faq.selectors import Narrowing, get_pair, pairs_for, phrasings_of
from ingestion.faq.services import add_pair, change_pair
from ingestion.faq.values import PairDraft
from ingestion.models import Chunk, Document, FaqPair, VersionState
from ingestion.tests.conftest import run_jobs
from ingestion.values import SourceFile
from kb_platform.errors import Conflict, InvalidInput, NotAllowed, NotFound

DRAFT = PairDraft(question="When is payday?", answer="On the 25th.", phrasings=("工资什么时候发？",))


def indexed(document):
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from lexical_g1 where document_id = %s", [document.pk])
        return cursor.fetchone()[0]


def test_a_pair_becomes_a_passage_of_its_own_document(pair, owner, embedder):
    made = pair("How do I reset my VPN password?", "Call 8000.\n\nAsk for Kim.")
    run_jobs(embedder)
    chunk = Chunk.objects.get(document=made.document)
    assert "Call 8000." in chunk.text
    assert "Ask for Kim." in chunk.text
    assert chunk.embedding_text.count("reset my VPN") == 1
    document = Document.objects.get(pk=made.document_id)
    assert (document.title, document.owner, document.is_faq) == (made.question, owner, True)
    assert document.active_version.blob == made.blob
    assert indexed(document) == 1


def test_old_words_leave_the_index_with_the_change_and_new_ones_follow(pair, owner, embedder):
    made = pair(answer="Call 8000.")
    run_jobs(embedder)
    changed = change_pair(
        actor=principal_of(owner), pair=made, draft=PairDraft(question=made.question, answer="Call 9000.")
    )
    assert indexed(made.document) == 0
    assert not Chunk.objects.filter(document=made.document).exists()
    assert Document.objects.get(pk=made.document_id).active_version is None
    run_jobs(embedder)
    document = Document.objects.get(pk=made.document_id)
    assert "9000" in Chunk.objects.get(document=document).text
    assert document.active_version.blob == changed.blob
    assert [row.state for row in document.versions.all()] == [VersionState.LIVE, VersionState.SUPERSEDED]


def test_a_change_of_wordings_alone_reads_nothing_again_and_keeps_vectors(pair, owner, embedder):
    made = pair("When is payday?", "On the 25th.", "Payday?")
    run_jobs(embedder)
    assert vectors.embed_missing(embedder, seconds=5) is False
    draft = PairDraft(question=made.question, answer=made.answer, phrasings=("Salary day?", "payday"))
    change_pair(actor=principal_of(owner), pair=made, draft=draft)
    assert made.document.versions.count() == 1
    rows = {row.text: bool(row.embedder) for row in made.questions.all()}
    assert rows == {"When is payday?": True, "Salary day?": False, "payday": False}


def test_the_same_question_is_added_once_in_a_collection(pair, collection, owner):
    pair("When is payday?", "On the 25th.", "工资什么时候发？")
    for question in ("when is payday", "请问工资什么时候发"):
        with pytest.raises(Conflict):
            add_pair(
                actor=principal_of(owner),
                collection=collection,
                draft=PairDraft(question=question, answer="Never."),
            )
    other = services.create_collection(actor=principal_of(owner), name="Abroad")
    pair("When is payday?", "On the 1st.", into=other)


def test_readers_read_and_only_contributors_write(pair, shared, reader, outsider):
    made = pair()
    assert list(pairs_for(principal_of(reader), shared)) == [made]
    assert get_pair(principal_of(reader), str(made.uid)) == made
    with pytest.raises(NotAllowed):
        add_pair(actor=principal_of(reader), collection=shared, draft=DRAFT)
    with pytest.raises(NotAllowed):
        change_pair(actor=principal_of(reader), pair=made, draft=DRAFT)
    assert not pairs_for(principal_of(outsider), shared)
    with pytest.raises(NotFound):
        get_pair(principal_of(outsider), str(made.uid))
    for action in (lambda who: add_pair(actor=who, collection=shared, draft=DRAFT),
                   lambda who: change_pair(actor=who, pair=made, draft=DRAFT)):  # fmt: skip
        with pytest.raises(NotFound):
            action(principal_of(outsider))


def test_an_owner_must_be_able_to_read_it(shared, owner, reader, outsider):
    made = add_pair(
        actor=principal_of(owner), collection=shared, draft=replace(DRAFT, owner_email=reader.email)
    )
    assert made.document.owner_id == reader.pk
    for email in (outsider.email, "nobody@example.com"):
        with pytest.raises(InvalidInput) as refused:
            change_pair(actor=principal_of(owner), pair=made, draft=replace(DRAFT, owner_email=email))
        assert set(refused.value.fields) == {"owner"}


def test_a_pair_in_the_trash_is_nobodys_and_comes_back_whole(pair, shared, owner, reader, embedder):
    made = pair("When is payday?", "On the 25th.", "工资什么时候发？")
    run_jobs(embedder)
    who = principal_of(owner)
    bulk.delete_documents(actor=who, documents=selectors.documents_for(who))
    assert not pairs_for(who, shared)
    bulk.undelete_documents(actor=who, documents=Document.objects.all())
    back = get_pair(principal_of(reader), str(made.uid))
    assert phrasings_of(back) == ["工资什么时候发？"]


def test_lists_of_documents_leave_pairs_out_and_the_faq_finds_them(pair, shared, owner):
    pair("When is payday?", "On the 25th.", "工资什么时候发？")
    who = principal_of(owner)
    assert selectors.collections_for(who).get().document_count == 0
    for text in ("payday", "25th", "什么时候", "owner"):
        assert pairs_for(who, shared, Narrowing(text=text)).count() == 1, text
    assert not pairs_for(who, shared, Narrowing(text="\x00"))
    assert not pairs_for(who, shared, Narrowing(state="invalid"))
    assert not pairs_for(who, shared, Narrowing(state="nonsense"))


def test_the_file_of_a_pair_is_changed_in_no_other_way(pair, collection, owner, embedder):
    made = pair()
    run_jobs(embedder)
    file = SourceFile(name="x.md", blob=store([b"# other"]), source_uri=made.document.source_key)
    with pytest.raises(Conflict):
        services.upload_document(actor=principal_of(owner), collection=collection, file=file)
    with pytest.raises(Conflict):
        services.restore_version(actor=principal_of(owner), document=made.document, number=1)


def test_what_is_typed_is_cleaned_and_checked():
    draft = PairDraft(
        question=" When\nis payday? ",
        answer="On\r\nthe 25th. \n\n\n\nx\x00",
        phrasings=("when is payday", "", "Payday?", "payday"),
    )
    assert (draft.question, draft.answer) == ("When is payday?", "On\nthe 25th.\n\nx")
    assert draft.phrasings == ("Payday?",)
    with pytest.raises(InvalidInput) as refused:
        PairDraft(question="？", answer=" ", phrasings=tuple(f"wording {n}" for n in range(21)))
    assert set(refused.value.fields) == {"question", "answer", "phrasings"}


def test_missing_vectors_are_rung_for(pair, embedder, monkeypatch):
    rung = []
    monkeypatch.setattr(vectors, "enqueue", lambda task, **options: rung.append(task))
    pair()
    assert len(rung) == 1
    vectors.ring_if_missing()
    assert len(rung) == 2
    vectors.embed_missing(embedder, seconds=5)
    vectors.ring_if_missing()
    assert len(rung) == 2
    assert FaqPair.objects.get().questions.get().embedding is not None
