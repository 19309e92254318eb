from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.principals import principal_of
from ingestion import ledger, operations, services
from ingestion.blobs import store
from ingestion.models import IngestJob, VersionState
from ingestion.processing import processing_for, stalled_stages
from ingestion.values import SourceFile
from kb_platform import heartbeats
from kb_platform.errors import NotAllowed
from kb_platform.models import AuditEntry, WorkerHeartbeat

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("embedder")]


@pytest.fixture
def collection(owner):
    return services.create_collection(actor=principal_of(owner), name="Pay")


@pytest.fixture
def job(owner, collection, source):
    return services.upload_document(
        actor=principal_of(owner), collection=collection, file=source("secret.md")
    ).job


@pytest.fixture
def source():
    return lambda name: SourceFile(name=name, blob=store([b"# " + name.encode()]))


def fail(job, code="crashed"):
    job.refresh_from_db()
    ledger.end(job, IngestJob.State.FAILED, VersionState.QUARANTINED, code)


def counts(person):
    state = processing_for(principal_of(person))
    return state.running, state.waiting, state.failed, state.done


def test_counts_follow_a_job_from_waiting_to_done(administrator, job):
    assert counts(administrator) == (0, 1, 0, 0)
    (lease,) = ledger.claim(IngestJob.Stage.PARSE)
    assert counts(administrator) == (1, 0, 0, 0)
    ledger.end_lease(lease, IngestJob.State.SUCCEEDED, VersionState.LIVE, "")
    assert counts(administrator) == (0, 0, 0, 1)


def test_a_dead_holder_counts_as_waiting(administrator, job):
    ledger.claim(IngestJob.Stage.PARSE)
    IngestJob.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert counts(administrator) == (0, 1, 0, 0)


def test_names_of_hidden_documents_are_not_shown_even_to_administrators(browser, administrator, owner, job):
    page = browser(administrator).get("/system/processing").content.decode()
    assert "A file that is not open to you" in page
    assert "secret" not in page
    fail(job)
    page = browser(administrator).get("/system/processing").content.decode()
    assert "Reader stopped" in page
    assert "secret" not in page
    assert browser(owner).get("/system/processing").status_code == 403


def test_files_that_wait_without_a_worker_raise_the_banner_with_its_command(
    browser, administrator, owner, job
):
    heartbeats.beat("embed@host", ["embed"])
    assert [stage.queue for stage in stalled_stages()] == ["parse"]
    page = browser(administrator).get("/system/processing").content.decode()
    assert "python manage.py worker parse" in page
    assert "stalled, no estimate" in page
    heartbeats.beat("parse@host", ["parse", "light"])
    assert stalled_stages() == ()
    WorkerHeartbeat.objects.update(beat_at=timezone.now() - timedelta(seconds=61))
    assert [stage.queue for stage in stalled_stages()] == ["parse"]


def test_without_waiting_files_nobody_is_missed(administrator):
    assert stalled_stages() == ()


def test_all_files_of_one_cause_are_tried_again_and_no_others(
    browser, administrator, owner, collection, source
):
    jobs = [
        services.upload_document(actor=principal_of(owner), collection=collection, file=source(name)).job
        for name in ("a.md", "b.md", "c.md")
    ]
    for row, code in zip(jobs, ("crashed", "crashed", "encrypted"), strict=True):
        fail(row, code)
    page = browser(administrator).post("/system/processing/retry", {"reason": "crashed"}, follow=True)
    assert "2 files are tried again." in page.content.decode()
    states = [IngestJob.objects.get(pk=row.pk).state for row in jobs]
    assert states == ["queued", "queued", "failed"]
    assert AuditEntry.objects.get(action="jobs.retried").detail == {"reason": "crashed", "count": 2}
    with pytest.raises(NotAllowed):
        operations.retry_cause(actor=principal_of(owner), code="encrypted")


def test_an_older_version_that_failed_needs_nobody(administrator, owner, collection, source, job):
    fail(job)
    assert counts(administrator)[2] == 1
    newer = SourceFile(name="secret.md", blob=store([b"# Newer"]))
    services.upload_document(actor=principal_of(owner), collection=collection, file=newer)
    assert counts(administrator)[2] == 0


def test_single_jobs_are_stopped_and_tried_again_by_administrators_only(
    browser, administrator, outsider, job
):
    path = f"/system/processing/jobs/{job.uid}"
    assert browser(outsider).post(f"{path}/cancel").status_code == 403
    assert browser(administrator).post(f"{path}/retry").status_code == 409
    assert browser(administrator).post(f"{path}/cancel").status_code == 302
    job.refresh_from_db()
    assert job.state == "cancelled"
    assert browser(administrator).post("/system/processing/jobs/x/cancel").status_code == 404
