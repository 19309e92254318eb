"""The job ledger: who may work on which version, until when, and how work ends.

A worker claims a job and holds a lease that a heartbeat renews. Every claim raises the job's fence, and every later
write is conditioned on it, so that a worker which was thought dead cannot write over its successor. Redis only rings
the bell: a job is found by its row, whatever became of the message.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from ingestion.models import DocumentVersion, IngestJob, ProcessingEvent, VersionState
from kb_platform.jobs import enqueue

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=30)
HEARTBEAT_S = 8.0
MAX_FAILURES = 3
STAGE_LIMIT = {IngestJob.Stage.PARSE: timedelta(minutes=20), IngestJob.Stage.EMBED: timedelta(hours=4)}
BELL_AGAIN = timedelta(seconds=30)
FIRST_STEP = {IngestJob.Stage.PARSE: VersionState.PARSING, IngestJob.Stage.EMBED: VersionState.EMBEDDING}
BELLS = {
    IngestJob.Stage.PARSE: ("ingestion.tasks.parse_version", "parse"),
    IngestJob.Stage.EMBED: ("ingestion.tasks.embed_ready", "embed"),
}


class StaleLease(Exception):
    """The job was cancelled, deleted, or taken over: whatever was being done must not be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to work on one job at one stage, while its fence holds."""

    job_id: int
    version_id: int
    fence: int
    stage: str
    failures: int = 0


def open_jobs(stage: str) -> Any:
    """Jobs of a stage that nobody holds: never claimed, or with a lease that ran out. Oldest first."""
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=timezone.now())
    return IngestJob.objects.filter(free, stage=stage, ended_at__isnull=True).order_by("id")


@transaction.atomic
def claim(stage: str, *, version_id: int | None = None, limit: int = 1) -> list[Lease]:
    """Take up to `limit` free jobs of a stage, or the one of a version. Jobs that ended three workers are given up."""
    jobs = open_jobs(stage)
    if version_id is not None:
        jobs = jobs.filter(version_id=version_id)
    leases = []
    for job in jobs.select_for_update(skip_locked=True, of=("self",)).select_related("version")[:limit]:
        if job.lease_until is not None:  # the last holder fell silent
            job.failures += 1
        if job.failures >= MAX_FAILURES:
            end(job, IngestJob.State.FAILED, VersionState.QUARANTINED, "workers_died", attempts=job.failures)
            continue
        leases.append(_hand_out(job, stage))
    return leases


def claim_batch(stage: str, *, most_jobs: int, most_chunks: int) -> list[Lease]:
    """Claim jobs of a stage until they hold `most_chunks` together; at least one. One that failed before comes alone,
    so that it cannot take others down with it.
    """
    waiting = open_jobs(stage).values_list("version_id", "version__chunk_count", "failures", "lease_until")[
        :most_jobs
    ]
    leases: list[Lease] = []
    chunks = 0
    for version_id, chunk_count, failures, lease_until in waiting:
        suspect = failures > 0 or lease_until is not None
        if leases and (suspect or chunks + chunk_count > most_chunks):
            break
        leases += claim(stage, version_id=version_id)
        chunks += chunk_count
        if suspect:
            break
    return leases


def _hand_out(job: IngestJob, stage: str) -> Lease:
    now = timezone.now()
    job.state = IngestJob.State.RUNNING
    job.fence += 1
    job.lease_until, job.heartbeat_at = now + LEASE, now
    job.started_at = job.started_at or now
    job.deadline = now + STAGE_LIMIT[IngestJob.Stage(stage)]
    job.save()
    first = FIRST_STEP[IngestJob.Stage(stage)]
    DocumentVersion.objects.filter(pk=job.version_id).update(
        state=first
    )  # again, when a later step was broken off
    tell(
        job.version_id,
        ProcessingEvent.Kind.STARTED,
        stage=first,
        attempt=job.failures + 1,
    )
    return Lease(
        job_id=job.pk, version_id=job.version_id, fence=job.fence, stage=stage, failures=job.failures
    )


def held(lease: Lease) -> Any:
    """The lease's job as a queryset, empty once the lease is lost or the job cancelled."""
    return IngestJob.objects.filter(
        pk=lease.job_id, fence=lease.fence, ended_at__isnull=True, cancel_requested=False
    )


def lock(lease: Lease) -> IngestJob:
    """The lease's job, locked until the transaction ends. Lock the document before it, as every writer does."""
    job = held(lease).select_for_update().first()
    if job is None:
        raise StaleLease()
    return job  # type: ignore[no-any-return]


def note(lease: Lease, *, state: str | None = None, done: int = 0, total: int = 0, unit: str = "") -> None:
    """Write progress with real counts. Raises StaleLease when the work is no longer wanted."""
    updated = held(lease).update(progress_done=done, progress_total=total, progress_unit=unit)
    if not updated:
        raise StaleLease()
    if not state:
        return
    changed = DocumentVersion.objects.filter(pk=lease.version_id).exclude(state=state).update(state=state)
    if changed and state not in FIRST_STEP.values():  # those are told when the job is claimed
        facts = {"attempt": lease.failures + 1, "done": done, "unit": unit}
        tell(lease.version_id, ProcessingEvent.Kind.STARTED, stage=state, **facts)


def advance(lease: Lease, *, stage: str, state: str, total: int, unit: str) -> None:
    """Hand the job on to its next stage, which has `total` units of work, and ring for it. Call inside the transaction that stores the stage's result."""
    updated = held(lease).update(
        stage=stage,
        state=IngestJob.State.QUEUED,
        failures=0,
        lease_until=None,
        deadline=None,
        rung_at=timezone.now(),
        progress_done=0,
        progress_total=total,
        progress_unit=unit,
    )
    if not updated:
        raise StaleLease()
    DocumentVersion.objects.filter(pk=lease.version_id).update(state=state)
    tell(lease.version_id, ProcessingEvent.Kind.HANDED_ON, done=total, unit=unit)
    ring(stage, lease.version_id)


def ring(stage: str, version_id: int) -> None:
    """Call a worker, after commit."""
    task, queue = BELLS[IngestJob.Stage(stage)]
    arguments = {"version_id": version_id} if stage == IngestJob.Stage.PARSE else {}
    enqueue(task, queue=queue, **arguments)


def release(lease: Lease, *, failed: bool) -> None:
    """Give the job back: at once when the surroundings failed, counted and later when the work itself did."""
    pause = timezone.now() + (timedelta(seconds=5) if failed else timedelta(0))
    released = held(lease).update(
        state=IngestJob.State.QUEUED,
        failures=F("failures") + (1 if failed else 0),
        lease_until=None,
        deadline=None,
        rung_at=pause - BELL_AGAIN,
    )
    if released:
        code = "failed_once" if failed else "surroundings"
        tell(lease.version_id, ProcessingEvent.Kind.FAULT, attempt=lease.failures + 1, reason_code=code)


@transaction.atomic
def end_lease(lease: Lease, job_state: str, version_state: str, reason_code: str, **params: Any) -> None:
    """End the job that the lease holds. Raises StaleLease when it is no longer held."""
    job = held(lease).select_for_update().select_related("version").first()
    if job is None:
        raise StaleLease()
    end(job, job_state, version_state, reason_code, **params)


def end(job: IngestJob, job_state: str, version_state: str, reason_code: str = "", **params: Any) -> None:
    """Write how a job ended, on the job and on its version. Needs a transaction."""
    job.state, job.ended_at = job_state, timezone.now()
    job.lease_until = job.deadline = None
    if job_state == IngestJob.State.SUCCEEDED:
        job.stage = IngestJob.Stage.DONE
    job.save()
    version = job.version
    version.state, version.reason_code, version.reason_params = version_state, reason_code, params
    version.save(update_fields=["state", "reason_code", "reason_params"])
    tell(
        version.pk,
        ProcessingEvent.Kind.ENDED,
        done=version.chunk_count,
        unit="chunks" if job_state == IngestJob.State.SUCCEEDED else "",
        outcome=version_state,
        reason_code=reason_code,
        reason_params=params,
    )


def tell(version_id: int, kind: ProcessingEvent.Kind, **facts: Any) -> None:
    """Add a line to the log of a version."""
    ProcessingEvent.objects.create(version_id=version_id, kind=kind, **facts)


@contextmanager
def heartbeat(leases: list[Lease]) -> Iterator[None]:
    """Renew the leases from a thread while the block runs."""
    stop = threading.Event()
    thread = threading.Thread(target=_beat, args=(leases, stop), name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _beat(leases: list[Lease], stop: threading.Event) -> None:
    try:
        while not stop.wait(HEARTBEAT_S):
            now = timezone.now()
            for lease in leases:
                try:
                    held(lease).update(lease_until=now + LEASE, heartbeat_at=now)
                except DatabaseError as error:
                    log.warning("heartbeat missed", extra={"job": lease.job_id, "cause": str(error)})
                    connection.close()
    finally:
        connection.close()


def reconcile() -> dict[str, int]:
    """Compare the ledger with the world: end what passed its deadline, ring again for what nobody came for."""
    now = timezone.now()
    late = 0
    with transaction.atomic():
        overdue = IngestJob.objects.filter(ended_at__isnull=True, deadline__lt=now).select_related("version")
        for job in overdue.select_for_update(skip_locked=True, of=("self",)):
            end(job, IngestJob.State.FAILED, VersionState.QUARANTINED, "deadline", stage=job.stage)
            late += 1
    rung = 0
    for stage in BELLS:
        waiting = open_jobs(stage).filter(Q(rung_at__isnull=True) | Q(rung_at__lt=now - BELL_AGAIN))[:200]
        for job in waiting:
            IngestJob.objects.filter(pk=job.pk).update(rung_at=now)
            ring(stage, job.version_id)
            rung += 1
    return {"late": late, "rung": rung}
