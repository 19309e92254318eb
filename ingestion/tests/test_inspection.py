"""The page of one document: chunks and their places, and the log of what happened."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.permissions.grants import replace_grants
from accounts.principals import principal_of
from accounts.values import GrantRequest, Holder, Permission
from ingestion import ledger, pipeline, services
from ingestion.inspection import Place, content_of, log_of
from ingestion.models import Document, DocumentVersion, IngestJob, VersionState
from ingestion.samples.build import FILES
from ingestion.tests.conftest import latest, run_jobs
from kb_platform.errors import Conflict


def steps(version):
    return [(row.stage, row.outcome) for row in log_of(version.events.all())]


def test_the_log_tells_each_step_with_its_counts(ingest):
    rows = log_of(latest(ingest("a.md", b"# A\n\nSome text.")).events.all())
    assert [(row.stage, row.outcome) for row in rows] == [
        ("received", "done"),
        ("parsing", "done"),
        ("chunking", "done"),
        ("embedding", "done"),
        ("publishing", "done"),
    ]
    counts = [(row.done, row.unit) for row in rows[1:]]
    assert counts == [(2, "elements"), (1, "chunks"), (1, "chunks"), (1, "chunks")]
    assert all(row.duration is not None for row in rows)


def test_the_log_tells_faults_attempts_and_reasons(upload):
    version = upload("a.md", b"# A\n\ntext").version
    (lease,) = ledger.claim(IngestJob.Stage.PARSE)
    ledger.release(lease, code="failed_once")
    IngestJob.objects.update(not_before=None)
    (lease,) = ledger.claim(IngestJob.Stage.PARSE)
    ledger.end_lease(lease, IngestJob.State.FAILED, VersionState.REJECTED, "empty")
    rows = log_of(version.events.all())
    assert [(row.stage, row.outcome, row.attempt) for row in rows] == [
        ("received", "done", 1),
        ("parsing", "interrupted", 1),
        ("parsing", "failed", 2),
    ]
    assert rows[-1].reason_code == "empty"


def test_a_worker_that_died_between_two_steps_left_the_later_one_interrupted(upload, embedder):
    version = upload("a.md", b"# A\n\ntext").version
    for lease in ledger.claim(IngestJob.Stage.PARSE):
        pipeline.read(lease, embedder)
    (lease,) = ledger.claim_batch(IngestJob.Stage.EMBED, most_jobs=1, most_chunks=1)
    ledger.note(lease, state=VersionState.PUBLISHING, done=1, total=1, unit="chunks")
    IngestJob.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    run_jobs(embedder)
    assert steps(version)[-4:] == [
        ("embedding", "done"),
        ("publishing", "interrupted"),
        ("embedding", "done"),
        ("publishing", "done"),
    ]


def test_what_is_cancelled_while_it_waits_has_an_end(upload, owner):
    uploaded = upload("a.md", b"# A\n\ntext")
    services.cancel_job(actor=principal_of(owner), job=uploaded.job)
    assert steps(uploaded.version) == [("received", "done"), ("ended", "cancelled")]


def test_a_pages_boxes_know_their_chunks(ingest):
    document = ingest("manual.pdf", (FILES / "pl-300-user-manual.pdf").read_bytes())
    content = content_of(document, Place(page=2))
    assert content.is_paged
    assert content.size[0] > 100
    listed = {chunk.order for chunk in content.listed}
    assert {box.chunk for box in content.boxes} <= listed | {None}
    assert {label.chunk for label in content.labels} <= listed
    assert "el-table" in {box.kind for box in content.boxes}
    selected = content_of(document, Place(chunk=max(listed)))
    assert selected.page_number == selected.selected.page


def test_text_stands_beside_the_chunks_that_hold_the_words(ingest):
    text = "\n\n".join(f"## Part {n}\n\n" + f"Words of part {n}. " * 60 for n in range(8))
    document = ingest("a.md", f"# A\n\n{text}".encode())
    found = content_of(document, Place(text="part 5"))
    assert 0 < len(list(found.listed)) < found.total
    assert not found.is_paged
    assert all(number is not None for _element, number in found.placed[1:])


def test_an_older_file_becomes_the_newest_version(ingest, owner):
    ingest("a.md", b"# A\n\nFirst.")
    document = ingest("a.md", b"# A\n\nSecond.")
    actor = principal_of(owner)
    upload = services.restore_version(actor=actor, document=document, number=1)
    assert (upload.version.number, upload.version.blob) == (3, document.versions.get(number=1).blob)
    assert document.active_version.number == 2
    with pytest.raises(Conflict):
        services.restore_version(actor=actor, document=document, number=2)


def test_readers_see_nothing_of_a_version_that_was_never_in_force(
    api, browser, ingest, upload, collection, owner, reader
):
    grants = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.VIEW)]
    replace_grants(actor=principal_of(owner), scope=collection.scope, grants=grants)
    document = ingest("a.md", b"# A\n\nOpen text.")
    DocumentVersion.objects.create(
        document=document, number=2, blob="0" * 64, file_name="cuts-2027.md", size_bytes=1
    )
    for end in ("versions", "log"):
        path = f"/manage/documents/{document.uid}/{end}"
        assert "cuts-2027" in browser(owner).get(path).content.decode()
        assert "cuts-2027" not in browser(reader).get(path).content.decode()
    assert browser(reader).get(f"/manage/documents/{document.uid}/versions/2/file").status_code == 404
    path = f"/api/v1/documents/{document.uid}/versions"
    assert api(reader).get(path).json()["count"] == 1
    Document.objects.filter(pk=document.pk).update(active_version=None)
    DocumentVersion.objects.update(published_at=None)
    path = f"/manage/documents/{document.uid}/chunks"
    assert "Open text." in browser(owner).get(path).content.decode()
    assert "Open text." not in browser(reader).get(path).content.decode()
