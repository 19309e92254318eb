"""What administrators do to jobs without seeing the documents: stop, try again. Each is audited by number, not by name."""

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.values import Principal
from ingestion.models import IngestJob
from ingestion.processing import failed_jobs
from ingestion.reasons import retry_helps, what_helps
from ingestion.services import give_up, restart
from ingestion.turns import SMALL_BATCH
from kb_platform.audit import record
from kb_platform.errors import Conflict, NotAllowed, NotFound

AT_ONCE = 500


def _require_administrator(actor: Principal) -> None:
    if not actor.is_administrator:
        raise NotAllowed()


@transaction.atomic
def retry_cause(*, actor: Principal, code: str) -> int:
    """Try again all failed files of one reason, at most AT_ONCE; returns how many."""
    _require_administrator(actor)
    if not retry_helps(code):
        raise Conflict(what_helps(code), code="retry_is_useless")
    jobs = failed_jobs().filter(version__reason_code=code).order_by("id")
    locked = list(
        jobs.select_for_update(of=("self",), skip_locked=True).select_related("version__document")[:AT_ONCE]
    )
    priority = IngestJob.Priority.LATER if len(locked) > SMALL_BATCH else IngestJob.Priority.FIRST
    for job in locked:
        restart(job, priority=priority)
    if locked:
        record(actor, "jobs.retried", None, reason=code, count=len(locked))
    return len(locked)


@transaction.atomic
def stop(*, actor: Principal, uid: str) -> None:
    """Cancel an unfinished job."""
    job = _locked(actor, uid)
    if job.ended_at:
        raise Conflict(_("The job has already ended."), code="ended")
    give_up(job, "cancelled")
    record(actor, "job.cancelled", job)


@transaction.atomic
def retry(*, actor: Principal, uid: str) -> None:
    """Try one failed job again."""
    job = _locked(actor, uid)
    if not failed_jobs().filter(pk=job.pk).exists():
        raise Conflict(_("Only a failed or cancelled job can be tried again."), code="not_ended")
    if not retry_helps(job.version.reason_code):
        raise Conflict(what_helps(job.version.reason_code), code="retry_is_useless")
    restart(job)
    record(actor, "job.retried", job)


def _locked(actor: Principal, uid: str) -> IngestJob:
    _require_administrator(actor)
    jobs = IngestJob.objects.select_for_update(of=("self",)).select_related("version__document")
    job = jobs.filter(uid=uid).first()
    if job is None:
        raise NotFound()
    return job
