"""From bytes to index rows and back, with a real database and the real sandbox."""

import pytest
from django.db import connection
from django.db.models import F

from accounts.principals import principal_of
from ingestion import bulk, ledger, pipeline, selectors, services, tasks
from ingestion.indexing.moves import follow_all, follow_scope
from ingestion.ledger import StaleLease
from ingestion.listing import ListQuery, list_documents
from ingestion.models import (
    CachedVector,
    Chunk,
    Document,
    IngestJob,
    ScopeStatistic,
    TermStatistic,
    VersionState,
)
from ingestion.tests.conftest import latest, run_jobs

POLICY = b"# Visitors\n\n## Sign-in\n\nVisitors sign in at gate 4 with form VK-77B.\n\n## Hours\n\nThe gate opens at 7:30.\n"


def rows(table: str = "lexical_g1") -> list[tuple[int, int, int]]:
    with connection.cursor() as cursor:
        cursor.execute(f"select chunk_id, document_id, scope_id from {table} order by chunk_id")
        return cursor.fetchall()


def term_counts(scope_id: int) -> dict[str, int]:
    counted = TermStatistic.objects.filter(scope_id=scope_id, chunk_count__gt=0)
    return dict(counted.values_list("term", "chunk_count"))


def test_a_file_becomes_live_with_its_text_in_both_tables(ingest):
    document = ingest("visitors.md", POLICY)
    version = document.active_version
    assert version.state == VersionState.LIVE
    assert version.job.state == IngestJob.State.SUCCEEDED
    chunks = list(Chunk.objects.filter(version=version))
    assert "VK-77B" in " ".join(chunk.text for chunk in chunks)
    assert (
        [row[0] for row in rows("dense_g1")] == [row[0] for row in rows()] == [chunk.pk for chunk in chunks]
    )
    assert term_counts(document.scope_id)["vk-77b"] >= 1
    assert ScopeStatistic.objects.get(scope_id=document.scope_id).chunk_count == len(chunks)


def test_the_title_comes_from_the_file_unless_somebody_gave_one(ingest):
    assert ingest("visitors.md", POLICY).title == "Visitors"
    assert ingest("named.md", POLICY, title="Gate rules").title == "Gate rules"


def test_a_new_version_replaces_the_old_and_leaves_nothing_of_it_in_the_index(ingest):
    first = ingest("visitors.md", POLICY)
    before = {row[0] for row in rows()}
    second = ingest("visitors.md", POLICY.replace(b"gate 4", b"gate 9"))
    assert second.pk == first.pk
    assert second.active_version.number == 2
    assert first.active_version.number == 1
    old = second.versions.get(number=1)
    assert old.state == VersionState.SUPERSEDED
    assert not old.chunks.exists()
    assert old.elements.exists(), "citations of the old version still need its text"
    assert before.isdisjoint({row[0] for row in rows()})
    fresh = {term for chunk in second.active_version.chunks.all() for term in chunk.text.lower().split()}
    assert "9" in fresh
    assert "4" not in term_counts(second.scope_id)


def test_the_same_bytes_again_make_no_version(ingest, upload):
    document = ingest("visitors.md", POLICY)
    again = upload("visitors.md", POLICY)
    assert not again.created
    assert again.version.pk == document.active_version_id


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("empty.docx", b"", "empty"),
        ("blank.md", b"  \n\n ", "empty"),
        ("archive.pdf", b"7z\xbc\xaf'\x1c" + bytes(200), "wrong_name"),
        ("script.html", b"<html><script>x()</script></html>", "no_text"),
    ],
)
def test_a_file_without_content_is_rejected_with_a_reason_and_indexes_nothing(
    ingest, owner, name, content, code
):
    document = ingest(name, content)
    version = latest(document)
    assert (version.state, version.reason_code) == (VersionState.REJECTED, code)
    assert version.job.state == IngestJob.State.FAILED
    assert document.active_version is None
    assert rows() == []
    actor = principal_of(owner)
    unread = list_documents(actor, ListQuery.parse({"quality": "unread"}, actor)).rows
    assert unread == ([document] if code == "no_text" else [])


def test_a_bad_new_version_leaves_the_old_one_live(ingest):
    document = ingest("visitors.md", POLICY)
    live = rows()
    again = ingest("visitors.md", b"   ")
    assert again.active_version.number == 1
    assert again.active_version.state == VersionState.LIVE
    assert latest(again).state == VersionState.REJECTED
    assert rows() == live
    assert document.pk == again.pk


def test_a_nul_byte_does_no_harm(ingest):
    document = ingest("nul.txt", b"Control room\n\nThe\x00 valve V-77 is red.\n")
    assert document.active_version.state == VersionState.LIVE
    assert "valve V-77" in Chunk.objects.get(document=document).text


def test_equal_text_is_embedded_once(ingest, embedder, monkeypatch):
    asked: list[str] = []
    real = type(embedder).embed_documents
    monkeypatch.setattr(
        type(embedder), "embed_documents", lambda self, texts: (asked.extend(texts), real(self, texts))[1]
    )
    document = ingest("visitors.md", POLICY)
    count = len(asked)
    assert count == CachedVector.objects.count()
    services.reparse_document(actor=principal_of(document.owner), document=document)
    run_jobs(embedder)
    document.refresh_from_db()
    assert document.active_version.number == 2
    assert len(asked) == count


def test_nothing_is_published_on_a_lost_lease(upload, embedder):
    upload("visitors.md", POLICY)
    (lease,) = ledger.claim(IngestJob.Stage.PARSE)
    pipeline.read(lease, embedder)
    (lease,) = ledger.claim_batch(IngestJob.Stage.EMBED, most_jobs=1, most_chunks=100)
    IngestJob.objects.filter(pk=lease.job_id).update(fence=lease.fence + 1)
    pipeline.embed_and_publish([lease], embedder)
    assert rows() == []


def test_short_files_are_published_while_a_long_one_is_embedded(upload, embedder, monkeypatch):
    monkeypatch.setattr(pipeline, "EMBED_SLICE", 1)
    monkeypatch.setattr(pipeline, "LET_BY_AFTER", 1)
    monkeypatch.setattr(tasks, "BATCH_CHUNKS", 2)
    sections = b"\n\n".join(b"# Part %d\n\n" % n + b"Valves of part %d close. " % n * 60 for n in range(4))
    names = {"long.md": sections, "short.md": b"# Note\n\nLeave is fifteen days."}
    uploads = {name: upload(name, content) for name, content in names.items()}
    for lease in ledger.claim(IngestJob.Stage.PARSE, limit=2):
        pipeline.read(lease, embedder)
    (lease,) = ledger.claim_batch(IngestJob.Stage.EMBED, most_jobs=1, most_chunks=1)
    assert lease.version_id == uploads["long.md"].version.pk
    pipeline.embed_and_publish([lease], embedder, let_by=lambda: tasks._embed_short_ones("worker"))
    long, short = (latest(uploads[name].document) for name in names)
    assert (long.state, short.state) == ("live", "live")
    assert short.published_at < long.published_at


def test_reading_twice_replaces_what_the_first_try_left(upload, embedder):
    uploaded = upload("visitors.md", POLICY)
    (lease,) = ledger.claim(IngestJob.Stage.PARSE)
    pipeline.read(lease, embedder)
    count = uploaded.version.elements.count()
    IngestJob.objects.filter(pk=lease.job_id).update(stage=IngestJob.Stage.PARSE, lease_until=None)
    (again,) = ledger.claim(IngestJob.Stage.PARSE)
    pipeline.read(again, embedder)
    assert uploaded.version.elements.count() == count
    with pytest.raises(StaleLease):
        ledger.note(lease)


def test_moving_changes_readers_at_once_and_the_index_follows(ingest, owner, embedder):
    principal = principal_of(owner)
    document = ingest("visitors.md", POLICY)
    other = services.create_collection(actor=principal, name="Archive")
    old_scope = document.scope_id
    services.move_document(actor=principal, document=document, collection=other)
    assert Document.objects.get(pk=document.pk).scope_id == other.scope_id
    follow_scope(document.pk)
    assert {row[2] for row in rows()} == {other.scope_id}
    assert term_counts(old_scope) == {}
    assert term_counts(other.scope_id)["gate"] >= 1


def test_deleting_leaves_nothing(ingest, owner):
    document = ingest("visitors.md", POLICY)
    scope = document.scope_id
    services.delete_document(actor=principal_of(owner), document=document)
    assert rows() == rows("dense_g1") == []
    assert term_counts(scope) == {}
    assert not Chunk.objects.exists()


def test_archiving_takes_a_document_out_of_the_index(ingest, owner):
    document = ingest("visitors.md", POLICY)
    bulk.archive_documents(actor=principal_of(owner), documents=Document.objects.filter(pk=document.pk))
    follow_all(seconds=5)
    assert rows() == []
    state = selectors.documents_for(principal_of(owner)).get(pk=document.pk).state
    assert state == "archived"


def test_a_version_that_gives_way_to_a_newer_one_leaves_no_chunks(upload, embedder):
    first = upload("a.md", b"# A\n\nold text").version
    (lease,) = ledger.claim(IngestJob.Stage.PARSE)
    pipeline.read(lease, embedder)
    assert Chunk.objects.filter(version=first).exists()
    upload("a.md", b"# A\n\nnew text")
    assert not Chunk.objects.filter(version=first).exists()
    run_jobs(embedder)
    assert Chunk.objects.exclude(version__document__active_version=F("version")).count() == 0
