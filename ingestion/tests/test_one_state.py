"""A file has one state, whoever asks for it and wherever; and what went wrong is told by its cause."""

import pytest

from accounts.principals import principal_of
from ingestion import ledger, tasks, tray, uploads
from ingestion.embedding.errors import EmbedderUnavailable
from ingestion.listing import ListQuery, list_documents
from ingestion.models import (
    UNFINISHED,
    DocumentVersion,
    IngestJob,
    ProcessingEvent,
    UploadedFile,
    Verdict,
    VersionState,
)
from ingestion.reasons import reason_text
from ingestion.testing.rows import make_document

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("state", "shown", "words"),
    [
        (VersionState.EMBEDDING, "processing", "In processing"),
        (VersionState.LIVE, "live", "Searchable"),
        (VersionState.REJECTED, "rejected", "Rejected"),
        (VersionState.QUARANTINED, "quarantined", "Set aside"),
    ],
)
def test_list_page_api_tray_and_upload_tell_one_state(collection, owner, api, browser, state, shown, words):
    document = make_document(collection, title="Plan", state=state)
    version = document.latest_version
    if state not in UNFINISHED:
        ledger.end(version.job, IngestJob.State.SUCCEEDED, state, "" if state == "live" else "no_text")
    actor = principal_of(owner)
    batch = uploads.open_batch(actor=actor, collection=collection)
    UploadedFile.objects.create(batch=batch, name="plan.md", outcome="accepted", version=version)
    (row,) = list_documents(actor, ListQuery.parse({}, actor)).rows
    counts = uploads.count_files(uploads.files_of(actor, batch), batch)
    told = api(owner).get(f"/api/v1/documents/{document.uid}").json()
    assert {row.state, told["state"]} == {shown}
    assert bool(tray.tray_for(actor).unfinished) == bool(counts.unfinished) == (shown == "processing")
    assert (counts.live, counts.failed) == (shown == "live", shown in ("rejected", "quarantined"))
    for path in ("/manage/documents", f"/manage/documents/{document.uid}"):
        page = browser(owner).get(path).content.decode()
        assert words in page.split("<main", 1)[1], path


def test_a_model_that_is_away_is_named_and_not_counted_against_the_file(upload, owner, browser, monkeypatch):
    monkeypatch.setattr("django.db.connection.close", lambda: None)
    document = upload("a.txt", b"Plain words.").document
    (lease,) = ledger.claim(IngestJob.Stage.PARSE)
    with tasks.at_work([lease]):
        raise EmbedderUnavailable("the card has no memory left")
    job = IngestJob.objects.get()
    assert (job.state, job.failures) == ("queued", 0)
    assert ProcessingEvent.objects.filter(reason_code="no_model").exists()
    page = browser(owner).get(f"/manage/documents/{document.uid}/log").content.decode()
    assert "The embedding model does not answer" in page


def test_three_failures_end_in_a_sentence_that_names_the_cause(upload, owner, browser, monkeypatch):
    monkeypatch.setattr("django.db.connection.close", lambda: None)
    document = upload("a.txt", b"Plain words.").document
    for _ in range(3):
        (lease,) = ledger.claim(IngestJob.Stage.PARSE)
        with tasks.at_work([lease]):
            raise RuntimeError("CUDA error: failed to allocate 2 GiB\nStack trace: ...")
        IngestJob.objects.update(not_before=None)
    assert ledger.claim(IngestJob.Stage.PARSE) == []
    version = DocumentVersion.objects.get()
    assert (version.state, version.reason_code) == ("quarantined", "kept_failing")
    assert "out of memory" in reason_text(version)
    page = browser(owner).get(f"/manage/documents/{document.uid}/log").content.decode()
    assert "at last with “out of memory”" in page


def test_the_page_of_a_document_tells_of_each_page_what_was_read(collection, owner, browser):
    document = make_document(collection)
    report = {
        "pages": 4,
        "page_characters": [900, 0, 30, 800],
        "recognised": {"4": 0.55},
        "warnings": ["pages_without_text:3"],
    }
    DocumentVersion.objects.filter(document=document).update(
        verdict=Verdict.BADLY, read_share=0.6, page_count=4, quality=report
    )
    page = browser(owner).get(f"/manage/documents/{document.uid}").content.decode()
    strip = page.split('class="pstrip', 1)[1].split("</svg>", 1)[0]
    assert strip.count("<rect") == 4
    to_look_at = page.split("Pages to look at", 1)[1].split("</ul>", 1)[0]
    assert [number for number in range(1, 5) if f"/p/{number}?" in to_look_at] == [3, 4]
