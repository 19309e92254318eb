"""The ledger: claims, fences, leases that run out, and ends with a reason."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import User
from accounts.principals import principal_of
from ingestion import ledger, services
from ingestion.blobs import store
from ingestion.ledger import StaleLease
from ingestion.models import IngestJob, VersionState
from ingestion.reasons import reason_text
from ingestion.values import SourceFile

PARSE, EMBED = IngestJob.Stage.PARSE, IngestJob.Stage.EMBED


@pytest.fixture
def job(owner: User, settings, tmp_path) -> IngestJob:
    settings.BLOB_DIR = tmp_path
    principal = principal_of(owner)
    collection = services.create_collection(actor=principal, name="Manuals")
    file = SourceFile(name="a.md", blob=store([b"# A\n\ntext"]))
    return services.upload_document(actor=principal, collection=collection, file=file).job


def _silence(job: IngestJob) -> None:
    """Let the holder's lease run out."""
    IngestJob.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def test_a_job_is_handed_to_one_worker_only(job):
    assert len(ledger.claim(PARSE)) == 1
    assert ledger.claim(PARSE) == []
    assert ledger.claim(PARSE, limit=10) == []


def test_a_silent_holder_loses_the_job_and_can_write_nothing_more(job):
    (first,) = ledger.claim(PARSE)
    _silence(job)
    (second,) = ledger.claim(PARSE)
    assert second.fence > first.fence
    assert second.failures == 1
    with pytest.raises(StaleLease):
        ledger.note(first, done=1, total=2)
    with pytest.raises(StaleLease):
        ledger.end_lease(first, IngestJob.State.SUCCEEDED, VersionState.LIVE, "")
    ledger.note(second, done=1, total=2, unit="pages")
    job.refresh_from_db()
    assert (job.progress_done, job.progress_total, job.progress_unit) == (1, 2, "pages")


def test_the_third_silent_holder_is_the_last(job):
    for _ in range(3):
        assert ledger.claim(PARSE)
        _silence(job)
    assert ledger.claim(PARSE) == []
    job.refresh_from_db()
    assert job.state == IngestJob.State.FAILED
    assert job.version.state == VersionState.QUARANTINED
    assert job.version.reason_code == "workers_died"


def test_surroundings_that_fail_are_not_counted_against_the_file(job):
    for _ in range(5):
        (lease,) = ledger.claim(PARSE)
        ledger.release(lease, code="surroundings")
        IngestJob.objects.update(not_before=None)
    (lease,) = ledger.claim(PARSE)
    assert lease.failures == 0


def test_a_job_given_back_rests_before_it_is_taken_again(job):
    (lease,) = ledger.claim(PARSE)
    ledger.release(lease, code="failed_once")
    assert ledger.claim(PARSE) == []
    IngestJob.objects.update(not_before=timezone.now())
    assert ledger.claim(PARSE)[0].failures == 1


def test_progress_moves_the_deadline_and_its_lack_ends_the_job(job):
    (lease,) = ledger.claim(PARSE)
    almost = timezone.now() + timedelta(seconds=1)
    for done, moved in ((5, True), (5, False)):
        IngestJob.objects.update(deadline=almost)
        ledger.note(lease, done=done, total=400, unit="pages")
        job.refresh_from_db()
        assert (job.deadline > almost) is moved
    IngestJob.objects.update(deadline=timezone.now() - timedelta(seconds=1))
    assert ledger.reconcile()["late"] == 1
    job.refresh_from_db()
    assert (job.state, job.version.reason_code) == (IngestJob.State.FAILED, "stalled")
    assert "10 minutes" in reason_text(job.version)


def test_no_progress_carries_a_job_beyond_its_longest_time(job):
    (lease,) = ledger.claim(PARSE)
    begun = timezone.now() - timedelta(hours=12, minutes=-1)
    IngestJob.objects.update(claimed_at=begun)
    ledger.note(lease, done=399, total=400, unit="pages")
    job.refresh_from_db()
    assert job.deadline == begun + timedelta(hours=12)
    IngestJob.objects.update(claimed_at=begun - timedelta(minutes=2), deadline=begun)
    ledger.reconcile()
    job.version.refresh_from_db()
    assert "12 hours" in reason_text(job.version)


def test_waiting_is_not_being_stuck(job):
    long_ago = timezone.now() - timedelta(days=2)
    IngestJob.objects.update(created_at=long_ago, rung_at=long_ago)
    assert ledger.reconcile()["late"] == 0
    assert len(ledger.claim(PARSE)) == 1


def test_time_that_nobody_worked_is_not_counted(job):
    """The site was off for longer than a file may stay without progress."""
    ledger.claim(PARSE)
    IngestJob.objects.update(deadline=timezone.now() - timedelta(minutes=1))
    _silence(job)
    assert ledger.reconcile()["late"] == 0
    assert len(ledger.claim(PARSE)) == 1


def test_workers_that_are_told_to_stop_say_nothing_against_their_files(job):
    for _stop in range(4):
        (lease,) = ledger.claim(PARSE, holder="parse@a")
        ledger.excuse("parse@a")
        ledger.note(lease, done=1, total=2)  # it may still finish
        assert ledger.free_what_was_held_by("parse@a") == 1
    assert ledger.claim(PARSE)[0].failures == 0


def test_a_worker_that_starts_again_frees_what_it_held_before(job):
    ledger.claim(PARSE, holder="parse@a")
    assert ledger.free_what_was_held_by("parse@b") == 0
    assert ledger.free_what_was_held_by("parse@a") == 1
    assert ledger.claim(PARSE)[0].failures == 1


def test_reconcile_rings_again_for_a_job_whose_bell_was_lost(
    job, django_capture_on_commit_callbacks, monkeypatch
):
    rung: list[str] = []
    monkeypatch.setattr("kb_platform.celery.app.send_task", lambda task, **_: rung.append(task))
    IngestJob.objects.filter(pk=job.pk).update(rung_at=timezone.now() - timedelta(minutes=5))
    with django_capture_on_commit_callbacks(execute=True):
        ledger.reconcile()
    with django_capture_on_commit_callbacks(execute=True):
        ledger.reconcile()  # rung a moment ago: not again
    assert rung == ["ingestion.tasks.parse_ready"]


def test_advancing_hands_the_job_to_the_next_stage_with_a_clean_record(job):
    (lease,) = ledger.claim(PARSE)
    ledger.advance(lease, stage=EMBED, state=VersionState.EMBEDDING, total=3, unit="chunks")
    assert ledger.claim(PARSE) == []
    (lease,) = ledger.claim_batch(EMBED, most_jobs=8, most_chunks=8)
    assert lease.failures == 0
    job.version.refresh_from_db()
    assert job.version.state == VersionState.EMBEDDING


def test_a_suspect_is_embedded_alone(owner, job):
    principal = principal_of(owner)
    others = [
        services.upload_document(
            actor=principal,
            collection=job.version.document.collection,
            file=SourceFile(name=f"{n}.md", blob=store([f"# {n}".encode()])),
        ).job
        for n in range(3)
    ]
    for lease in ledger.claim(PARSE, limit=10):
        ledger.advance(lease, stage=EMBED, state=VersionState.EMBEDDING, total=3, unit="chunks")
    IngestJob.objects.filter(pk=others[0].pk).update(failures=1)
    first = ledger.claim_batch(EMBED, most_jobs=8, most_chunks=100)
    second = ledger.claim_batch(EMBED, most_jobs=8, most_chunks=100)
    assert [lease.job_id for lease in first] == [job.pk, others[1].pk, others[2].pk]
    assert [lease.job_id for lease in second] == [others[0].pk]


def test_a_cancelled_job_is_lost_to_its_holder(owner, job):
    (lease,) = ledger.claim(PARSE)
    services.cancel_job(actor=principal_of(owner), job=job)
    with pytest.raises(StaleLease):
        ledger.note(lease, done=1, total=1)
    services.retry_job(actor=principal_of(owner), job=job)
    assert len(ledger.claim(PARSE)) == 1
