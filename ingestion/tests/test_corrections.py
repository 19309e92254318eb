"""Corrections outlive re-chunking and new versions, reach search at once, and are nobody's but those who contribute."""

import pytest

from accounts.principals import principal_of
from accounts.values import GrantRequest, Holder, Permission
from ingestion import corrections, pipeline, rechunking, selectors, services
from ingestion.chunking.choices import usual
from ingestion.chunking.drafts import Shape
from ingestion.collection_chunking import change_chunking
from ingestion.models import Chunk, Correction, Document
from ingestion.tests.conftest import run_jobs
from kb_platform.errors import Conflict, InvalidInput, NotAllowed
from kb_platform.models import AuditEntry

PLAN = "\n\n".join(
    f"## Part {number}\n\n" + " ".join(f"Sentence {number}-{n} of the plan is here." for n in range(60))
    for number in range(3)
).encode()


def cut_anew(embedder) -> None:
    while turn := rechunking.take_turn():
        pipeline.rechunk(turn, embedder)


def chunks(document) -> list[Chunk]:
    return list(selectors.chunks_of(Document.objects.get(pk=document.pk)))


def indexed(document) -> set[int]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("select chunk_id from lexical_g1 where document_id = %s", [document.pk])
        lexical = {row[0] for row in cursor.fetchall()}
        cursor.execute("select chunk_id from dense_g1 where document_id = %s", [document.pk])
        assert lexical == {row[0] for row in cursor.fetchall()}
    return lexical


@pytest.fixture
def plan(ingest):
    return ingest("plan.md", PLAN)


@pytest.fixture
def actor(owner):
    return principal_of(owner)


def whole(document) -> str:
    return "\n".join(chunk.text for chunk in chunks(document))


def test_a_corrected_text_stands_alone_and_only_it_is_embedded(plan, actor, embedder, monkeypatch):
    before = chunks(plan)
    target = before[1]
    own = corrections.own_text(target)
    new = own.replace("Sentence 0-", "Corrected 0-")
    row = corrections.correct_text(actor=actor, document=plan, chunk=target.pk, text=new, counter=embedder)
    read: list[str] = []
    embed = embedder.embed_documents
    monkeypatch.setattr(embedder, "embed_documents", lambda texts: (read.extend(texts), embed(texts))[1])
    cut_anew(embedder)
    after = chunks(plan)
    (made,) = [chunk for chunk in after if chunk.correction_id == row.pk]
    assert made.text == new
    assert (made.first_element, made.last_element) == (target.first_element, target.last_element)
    assert own not in whole(plan)
    assert {chunk.pk for chunk in before if chunk.heading_path[-1] != "Part 0"} < {
        chunk.pk for chunk in after
    }
    assert {chunk.pk for chunk in after} == indexed(plan)
    untouched = {chunk.text for chunk in before if chunk.heading_path[-1] != "Part 0"}
    assert not any(text in piece for text in untouched for piece in read)
    entry = AuditEntry.objects.get(action="chunk.corrected")
    assert set(entry.detail) == {"made", "correction", "version"}, (
        "no text of the document: others read the audit log"
    )


def test_what_is_left_out_is_found_no_more_from_that_moment(plan, actor, embedder):
    target = chunks(plan)[1]
    said = corrections.own_text(target)
    corrections.exclude(actor=actor, document=plan, chunk=target.pk)
    assert target.pk not in indexed(plan)
    assert not Chunk.objects.filter(pk=target.pk).exists()
    cut_anew(embedder)
    for sentence in said.split(". "):
        assert sentence.strip(". ") not in whole(plan)
    assert {chunk.pk for chunk in chunks(plan)} == indexed(plan)


def test_a_split_and_a_join_make_what_was_asked(plan, actor, embedder):
    target = chunks(plan)[0]
    place = corrections.split_places(target)[4]
    corrections.split(actor=actor, document=plan, chunk=target.pk, at=place)
    cut_anew(embedder)
    first, second = chunks(plan)[:2]
    assert first.text + second.text == corrections.own_text(target).replace("\n", "") or (
        first.text.strip() + " " + second.text.strip() == corrections.own_text(target).strip()
    )
    corrections.merge(actor=actor, document=plan, chunk=first.pk, counter=embedder)
    cut_anew(embedder)
    assert "".join(chunks(plan)[0].text.split()) == "".join(target.text.split())


def test_corrections_outlive_another_profile_and_a_new_version(plan, actor, embedder, collection, upload):
    target = chunks(plan)[1]
    row = corrections.correct_text(
        actor=actor, document=plan, chunk=target.pk, text="Only this is true.", counter=embedder
    )
    left_out = chunks(plan)[3]
    corrections.exclude(actor=actor, document=plan, chunk=left_out.pk)
    gone = corrections.own_text(left_out).split(". ")[1]
    change_chunking(actor=actor, collection=collection, choice=usual(Shape.MANUAL))
    cut_anew(embedder)
    assert rechunking.progress_of(actor, collection).waiting == 0
    assert [chunk.text for chunk in chunks(plan) if chunk.correction_id == row.pk] == ["Only this is true."]
    assert gone not in whole(plan)

    upload("plan.md", b"# Before\n\nA new beginning.\n\n" + PLAN)
    run_jobs(embedder)
    fresh = Document.objects.get(pk=plan.pk)
    assert fresh.active_version.number == 2
    assert "Only this is true." in whole(plan)
    assert gone not in whole(plan)
    assert not corrections.lost_in(fresh.active_version)


def test_a_version_without_the_quote_says_which_corrections_are_lost(plan, actor, embedder, upload):
    target = chunks(plan)[1]
    row = corrections.correct_text(
        actor=actor, document=plan, chunk=target.pk, text="Only this is true.", counter=embedder
    )
    upload("plan.md", b"# Another plan\n\nNothing of it is left.")
    run_jobs(embedder)
    fresh = Document.objects.get(pk=plan.pk)
    assert list(corrections.lost_in(fresh.active_version)) == [row]
    assert "Nothing of it is left." in whole(plan)


def test_undoing_brings_the_text_back_and_later_ones_come_first(plan, actor, embedder):
    before = whole(plan)
    target = chunks(plan)[1]
    first = corrections.correct_text(
        actor=actor, document=plan, chunk=target.pk, text="Once.", counter=embedder
    )
    cut_anew(embedder)
    (made,) = [chunk for chunk in chunks(plan) if chunk.correction_id == first.pk]
    second = corrections.correct_text(
        actor=actor, document=plan, chunk=made.pk, text="Twice.", counter=embedder
    )
    cut_anew(embedder)
    assert "Twice." in whole(plan)
    with pytest.raises(Conflict, match="Undo that one first"):
        corrections.undo(actor=actor, document=plan, uid=str(first.uid))
    for row in (second, first):
        corrections.undo(actor=actor, document=plan, uid=str(row.uid))
    cut_anew(embedder)
    assert whole(plan) == before
    assert Correction.objects.filter(document=plan, undone_at=None).count() == 0


def test_a_correction_made_while_a_new_version_is_read_is_not_lost(plan, actor, embedder, upload):
    upload("plan.md", PLAN + b"\n\nMore.")
    from ingestion import ledger
    from ingestion.models import IngestJob

    for lease in ledger.claim(IngestJob.Stage.PARSE):
        pipeline.read(lease, embedder)
    target = chunks(plan)[1]
    corrections.correct_text(
        actor=actor, document=plan, chunk=target.pk, text="Only this is true.", counter=embedder
    )
    run_jobs(embedder)
    assert "Only this is true." not in whole(plan)
    cut_anew(embedder)
    assert "Only this is true." in whole(plan)


def test_readers_and_bad_input_change_nothing(plan, actor, embedder, reader, collection):
    grants = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.VIEW)]
    services.share_collection(actor=actor, collection=collection, grants=grants)
    target = chunks(plan)[0]
    with pytest.raises(NotAllowed):
        corrections.exclude(actor=principal_of(reader), document=plan, chunk=target.pk)
    for text in ("  ", "\x00", target.text, "word " * 2_000, "x" * 30_000):
        with pytest.raises(InvalidInput):
            corrections.correct_text(actor=actor, document=plan, chunk=target.pk, text=text, counter=embedder)
    with pytest.raises(InvalidInput):
        corrections.split(actor=actor, document=plan, chunk=target.pk, at=10**9)
    with pytest.raises(Conflict):
        corrections.exclude(actor=actor, document=plan, chunk=10**18)
    with pytest.raises(Conflict, match="last passage"):
        corrections.merge(actor=actor, document=plan, chunk=chunks(plan)[-1].pk, counter=embedder)
    assert not Correction.objects.exists()


def test_work_that_fails_three_times_leaves_the_old_chunks(plan, actor, embedder, monkeypatch, owner):
    before = [chunk.pk for chunk in chunks(plan)]
    corrections.correct_text(actor=actor, document=plan, chunk=before[0], text="New.", counter=embedder)
    for _attempt in range(3):
        turn = rechunking.take_turn()
        rechunking.release(turn, failed=True)
    assert rechunking.take_turn() is None
    assert [chunk.pk for chunk in chunks(plan)] == before
    assert rechunking.retry_failed(Document.objects.filter(pk=plan.pk)) == 1
    cut_anew(embedder)
    assert "New." in whole(plan)


def test_the_only_passage_stays_and_nothing_is_noted_of_the_attempt(ingest, actor):
    document = ingest("note.md", b"One sentence.")
    (only,) = chunks(document)
    with pytest.raises(Conflict):
        corrections.exclude(actor=actor, document=document, chunk=only.pk)
    assert indexed(document) == {only.pk}
    assert not Correction.objects.exists()
