"""The job ledger: who may work on which version, until when, and how work ends.

A worker claims a job and holds a lease that a heartbeat renews. Every claim raises the job's fence, and every later
write is conditioned on it, so that a worker which was thought dead cannot write over its successor. Redis only rings
the bell: a job is found by its row, whatever became of the message.
"""

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.models import F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce, Least
from django.utils import timezone

from ingestion import turns
from ingestion.models import DocumentVersion, IngestJob, ProcessingEvent, Section, VersionState
from kb_platform.jobs import enqueue
from kb_platform.runtime_config import store as configuration
from kb_platform.runtime_config.declarations import LONGEST_HOURS, STALL_MINUTES

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=30)
HEARTBEAT_S = 8.0
MAX_FAILURES = 3
BELL_AGAIN = timedelta(seconds=15)
EXCUSED = "-"  # in the place of a holder that was told to stop
BELLS_AT_ONCE = 4  # whoever comes works until nothing is left
PAUSE_S = {"failed_once": 5, "surroundings": 2, "made_way": 0, "no_space": 30, "no_model": 30}
FIRST_STEP = {IngestJob.Stage.PARSE: VersionState.PARSING, IngestJob.Stage.EMBED: VersionState.EMBEDDING}
UNITS = {IngestJob.Stage.PARSE: "pages", IngestJob.Stage.EMBED: "chunks"}
BELLS = {
    IngestJob.Stage.PARSE: ("ingestion.tasks.parse_ready", "parse"),
    IngestJob.Stage.EMBED: ("ingestion.tasks.embed_ready", "embed"),
}


class StaleLease(Exception):
    """The job was cancelled, deleted, or taken over: whatever was being done must not be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to work on one job at one stage, while its fence holds. `began`: by this process's clock."""

    job_id: int
    version_id: int
    fence: int
    stage: str
    failures: int = 0
    began: float = field(default_factory=time.monotonic, compare=False)

    @property
    def is_first(self) -> bool:
        """Nobody claimed the job before: no earlier try left anything behind."""
        return self.fence == 1


def new_job(version: DocumentVersion, *, collection_id: int, priority: int) -> IngestJob:
    """A job for a version, not yet saved. Save it, then `ring`."""
    return IngestJob(
        version=version,
        person=version.created_by_id or 0,
        place=collection_id,
        priority=priority,
        rung_at=timezone.now(),
    )


def claim(stage: str, *, limit: int = 1, holder: str = "") -> list[Lease]:
    """Take up to `limit` free jobs of a stage, each the one whose turn it is. holder: the worker's name."""
    leases: list[Lease] = []
    while len(leases) < limit and (lease := _claim_next(stage, holder)):
        leases.append(lease)
    return leases


def claim_batch(stage: str, *, most_jobs: int, most_chunks: int, holder: str = "") -> list[Lease]:
    """Claim jobs of a stage while they hold at most `most_chunks` together; at least one. One that failed before
    comes alone, so that it cannot take others down with it.
    """
    first = _claim_next(stage, holder)
    if first is None:
        return []
    if first.failures or most_jobs < 2:
        return [first]
    chunks = DocumentVersion.objects.values_list("chunk_count", flat=True).get(pk=first.version_id)
    return [first, *claim_short(stage, most_jobs - 1, most_chunks - chunks, holder=holder)]


@transaction.atomic
def claim_short(stage: str, most_jobs: int, most_chunks: int, *, holder: str = "") -> list[Lease]:
    """The jobs whose turn is next, as far as they fit, taken together. None of them was ever given back or lost."""
    fitting = []
    for job in turns.next_in_turn(stage, most_jobs):
        if not job.failures and job.lease_until is None and job.version.chunk_count <= most_chunks:
            most_chunks -= job.version.chunk_count
            fitting.append(job.pk)
    free = turns.free(stage).filter(pk__in=fitting, failures=0, lease_until=None)
    locked = {job.pk: job for job in free.select_for_update(skip_locked=True)}
    return _hand_out([locked[pk] for pk in fitting if pk in locked], stage, holder)


@transaction.atomic
def _claim_next(stage: str, holder: str) -> Lease | None:
    """The job whose turn it is. Jobs that ended three workers are given up on the way."""
    for jobs in turns.in_turn(stage):
        rows = jobs.select_for_update(skip_locked=True, of=("self",)).select_related("version")
        while job := rows.first():
            if job.lease_until is not None and job.holder != EXCUSED:  # the last holder fell silent
                job.failures += 1
                job.save(update_fields=["failures"])
            if job.failures < MAX_FAILURES:
                return _hand_out([job], stage, holder)[0]
            _set_aside(job)
    return None


def _set_aside(job: IngestJob) -> None:
    """Give up a job that failed too often; with the deeper cause, where the last try lived to tell it."""
    told = ProcessingEvent.objects.filter(version=job.version_id, kind=ProcessingEvent.Kind.FAULT).last()
    cause = told.reason_params.get("cause") if told and job.lease_until is None else None
    code, params = ("kept_failing", {"cause": cause}) if cause else ("workers_died", {})
    end(job, IngestJob.State.FAILED, VersionState.QUARANTINED, code, attempts=job.failures, **params)


def _hand_out(jobs: list[IngestJob], stage: str, holder: str) -> list[Lease]:
    """Leases of locked jobs."""
    if not jobs:
        return []
    now, step = timezone.now(), IngestJob.Stage(stage)
    versions = [job.version_id for job in jobs]
    IngestJob.objects.filter(pk__in=[job.pk for job in jobs]).update(
        state=IngestJob.State.RUNNING,
        holder=holder,
        fence=F("fence") + 1,
        lease_until=now + LEASE,
        heartbeat_at=now,
        started_at=Coalesce("started_at", now),
        claimed_at=now,
        progress_done=0,
        progress_unit=UNITS[step],
        not_before=None,
        deadline=now + min(stall_limit(), whole_limit()),
    )
    first = FIRST_STEP[step]  # again, when a later step was broken off
    DocumentVersion.objects.filter(pk__in=versions).update(state=first)
    started = ProcessingEvent.Kind.STARTED
    ProcessingEvent.objects.bulk_create(
        ProcessingEvent(version_id=job.version_id, kind=started, stage=first, attempt=job.failures + 1)
        for job in jobs
    )
    return [
        Lease(
            job_id=job.pk, version_id=job.version_id, fence=job.fence + 1, stage=stage, failures=job.failures
        )
        for job in jobs
    ]


def stall_limit() -> timedelta:
    """How long a stage may go without progress."""
    return timedelta(minutes=configuration.get(STALL_MINUTES))


def whole_limit() -> timedelta:
    """How long a stage may take, whatever progress it makes."""
    return timedelta(hours=configuration.get(LONGEST_HOURS))


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
    """Write progress with real counts, which moves the deadline. Raises StaleLease when the work is no longer wanted."""
    moved = (
        held(lease)
        .exclude(progress_done=done, progress_unit=unit)
        .update(
            progress_done=done,
            progress_total=total,
            progress_unit=unit,
            deadline=Least(F("claimed_at") + whole_limit(), timezone.now() + stall_limit()),
        )
    )
    if not moved and not held(lease).update(progress_total=total):
        raise StaleLease()
    if not state:
        return
    changed = DocumentVersion.objects.filter(pk=lease.version_id).exclude(state=state).update(state=state)
    if changed and state not in FIRST_STEP.values():  # those are told when the job is claimed
        facts = {"attempt": lease.failures + 1, "done": done, "unit": unit}
        tell(lease.version_id, ProcessingEvent.Kind.STARTED, stage=state, **facts)


@transaction.atomic
def begin_publishing(leases: Sequence[Lease]) -> None:
    """All chunks of these are embedded. Lost leases are passed over: each is looked at again when it is published."""
    ours = Q()
    for lease in leases:
        ours |= Q(pk=lease.job_id, fence=lease.fence)
    held_now = IngestJob.objects.filter(ours, ended_at=None, cancel_requested=False).order_by("pk")
    jobs = list(held_now.select_for_update(of=("self",)).select_related("version"))
    unit, step = UNITS[IngestJob.Stage.EMBED], VersionState.PUBLISHING
    chunks = Subquery(DocumentVersion.objects.filter(pk=OuterRef("version_id")).values("chunk_count"))
    IngestJob.objects.filter(pk__in=[job.pk for job in jobs]).update(
        progress_done=chunks,
        progress_total=chunks,
        progress_unit=unit,
        deadline=Least(F("claimed_at") + whole_limit(), timezone.now() + stall_limit()),
    )
    DocumentVersion.objects.filter(pk__in=[job.version_id for job in jobs]).update(state=step)
    ProcessingEvent.objects.bulk_create(
        ProcessingEvent(
            version_id=job.version_id,
            kind=ProcessingEvent.Kind.STARTED,
            stage=step,
            attempt=job.failures + 1,
            done=job.version.chunk_count,
            unit=unit,
        )
        for job in jobs
    )


def note_pages(lease: Lease, done: int, total: int) -> None:
    """Progress of reading. Raises StaleLease also when the file takes long and would take the last place of short ones."""
    note(lease, done=done, total=total, unit="pages")
    if turns.is_long(time.monotonic() - lease.began, done, total) and not _may_take_long(lease):
        release(lease, code="made_way")
        raise StaleLease()


@transaction.atomic
def _may_take_long(lease: Lease) -> bool:
    """Mark the job as a long one; whether there is a place for it."""
    job = held(lease).filter(is_long=False).select_for_update().first()
    if job is None:
        return True
    job.is_long = True
    job.save(update_fields=["is_long"])
    return turns.has_long_place(lease.stage, beside=job.pk)


def advance(lease: Lease, *, stage: str, state: str, total: int, unit: str) -> None:
    """Hand the job on to its next stage, which has `total` units of work, and ring for it. Call inside the transaction that stores the stage's result."""
    updated = held(lease).update(
        stage=stage,
        state=IngestJob.State.QUEUED,
        failures=0,
        lease_until=None,
        deadline=None,
        is_long=False,
        rung_at=timezone.now(),
        progress_done=0,
        progress_total=total,
        progress_unit=unit,
    )
    if not updated:
        raise StaleLease()
    DocumentVersion.objects.filter(pk=lease.version_id).update(state=state)
    tell(lease.version_id, ProcessingEvent.Kind.HANDED_ON, done=total, unit=unit)
    ring(stage)


def ring(stage: str) -> None:
    """Call a worker, after commit. It takes whatever job is next, not the one that made it come."""
    task, queue = BELLS[IngestJob.Stage(stage)]
    enqueue(task, queue=queue)


def release(lease: Lease, *, code: str, cause: str = "") -> None:
    """Give the job back after a pause. `failed_once` counts against the file; other codes are its surroundings' fault.

    cause: what happened, in few words, for the log and for the sentence when it is given up.
    """
    failed = code == "failed_once"
    not_before = timezone.now() + timedelta(seconds=PAUSE_S[code])
    released = held(lease).update(
        state=IngestJob.State.QUEUED,
        failures=F("failures") + (1 if failed else 0),
        lease_until=None,
        deadline=None,
        not_before=not_before,
        rung_at=not_before - BELL_AGAIN,
    )
    if released:
        tell(
            lease.version_id,
            ProcessingEvent.Kind.FAULT,
            attempt=lease.failures + 1,
            reason_code=code,
            reason_params={"cause": cause} if cause else {},
        )


def free_what_was_held_by(holder: str) -> int:
    """A worker that starts cannot still be working on what it held before: those leases end now."""
    now = timezone.now()
    held_before = IngestJob.objects.filter(holder__in=[holder, EXCUSED], ended_at=None, lease_until__gt=now)
    return held_before.update(lease_until=now, rung_at=now - BELL_AGAIN)


def excuse(holder: str) -> int:
    """A worker is told to stop: what it cannot finish is not counted against the files it had in hand."""
    return IngestJob.objects.filter(holder=holder, ended_at=None, lease_until__gt=timezone.now()).update(
        holder=EXCUSED
    )


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
    job.lease_until = job.deadline = job.not_before = None
    if job_state == IngestJob.State.SUCCEEDED:
        job.stage = IngestJob.Stage.DONE
    job.save()
    version = job.version
    version.state, version.reason_code, version.reason_params = version_state, reason_code, params
    version.save(update_fields=["state", "reason_code", "reason_params"])
    if job_state != IngestJob.State.SUCCEEDED:
        drop_drafts([version.pk])
    tell(
        version.pk,
        ProcessingEvent.Kind.ENDED,
        done=version.chunk_count,
        unit="chunks" if job_state == IngestJob.State.SUCCEEDED else "",
        outcome=version_state,
        reason_code=reason_code,
        reason_params=params,
    )


def drop_drafts(version_ids: list[int]) -> None:
    """Remove the sections and chunks of versions that will not become live; what is live keeps its own."""
    Section.objects.filter(version__in=version_ids).exclude(
        version=F("version__document__active_version")
    ).delete()


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
        held_now = IngestJob.objects.filter(ended_at__isnull=True, lease_until__gt=now)
        overdue = held_now.filter(deadline__lt=now).select_related("version")
        for job in overdue.select_for_update(skip_locked=True, of=("self",)):
            code, params = _lateness(job, now)
            end(job, IngestJob.State.FAILED, VersionState.QUARANTINED, code, stage=job.stage, **params)
            late += 1
    return {"late": late, "rung": sum(_ring_again(stage, now) for stage in BELLS)}


def _lateness(job: IngestJob, now: datetime) -> tuple[str, dict[str, int]]:
    """The reason for giving a job up, and the limit that it passed."""
    if job.claimed_at and now - job.claimed_at >= whole_limit():
        return "deadline", {"hours": configuration.get(LONGEST_HOURS)}
    return "stalled", {"minutes": configuration.get(STALL_MINUTES)}


def _ring_again(stage: str, now: datetime) -> int:
    """For the first of those that wait; whoever comes takes the rest as well."""
    waiting = turns.free(stage, with_long=turns.has_long_place(stage))
    lost = waiting.filter(Q(rung_at__isnull=True) | Q(rung_at__lte=now - BELL_AGAIN))
    first = list(lost.order_by("priority", "id").values_list("pk", flat=True)[:BELLS_AT_ONCE])
    IngestJob.objects.filter(pk__in=first).update(rung_at=now)
    for _job in first:
        ring(stage)
    return len(first)
