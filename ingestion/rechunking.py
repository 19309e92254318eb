"""Documents whose chunks have to be made anew from their elements: who asks for it, who does it, and how it ends.

A wish is a row; a worker holds it by a lease and a fence, as with jobs of the ledger. Meanwhile readers keep the chunks of
before, and keep them if the work fails three times. `pipeline.rechunk` does the work.
"""

import logging
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion.ledger import MAX_FAILURES, StaleLease
from ingestion.models import Collection, Correction, Document, DocumentVersion, Rechunking
from kb_platform.jobs import enqueue

log = logging.getLogger(__name__)
LEASE = timedelta(minutes=3)
RING_AFTER = timedelta(seconds=20)
FOUND_AT_ONCE = 500  # documents of collections that are cut otherwise now
GIVEN_UP = "rechunk_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The right to make the chunks of a document anew. `wishes`: how many are fulfilled by it."""

    document_id: int
    fence: int
    wishes: int


def request(document: Document, *, by_person: bool = False) -> None:
    """Have the document's chunks made anew, soon after commit. Needs a transaction."""
    row, is_new = Rechunking.objects.select_for_update().get_or_create(
        document=document, defaults={"by_person": by_person}
    )
    if not is_new:
        row.wishes += 1
        row.by_person = row.by_person or by_person
        row.failures, row.reason_code = 0, ""
        row.save()
    ring()


def ring() -> None:
    enqueue("ingestion.tasks.rechunk_waiting", queue="embed")


def request_if_outdated(document: Document, version: DocumentVersion) -> None:
    """After a publication: whether something changed since its chunks were made, while it was being embedded."""
    active = set(active_corrections(document).values_list("pk", flat=True))
    regarded = set(version.correction_outcomes.values_list("correction_id", flat=True))
    if active != regarded or document.retitled_at:
        Document.objects.filter(pk=document.pk).update(retitled_at=None)
        request(document, by_person=True)
    elif version.chunking != Collection.objects.values_list("chunking", flat=True).get(
        pk=document.collection_id
    ):
        request(document)


def active_corrections(document: Document) -> QuerySet[Correction]:
    return document.corrections.filter(undone_at=None).order_by("id")


def outdated(collection: Collection | None = None) -> QuerySet[Document]:
    """Documents in force that were cut otherwise than their collection asks for now."""
    documents = Document.objects.filter(active_version__isnull=False, trashed_from=None).exclude(
        active_version__chunking=F("collection__chunking")
    )
    return documents.filter(collection=collection) if collection else documents


def find_outdated() -> int:
    """Ask for the documents of collections whose way of cutting changed, and for those that were moved; returns how many."""
    found = list(
        outdated().filter(rechunking=None).order_by("pk").values_list("pk", flat=True)[:FOUND_AT_ONCE]
    )
    Rechunking.objects.bulk_create((Rechunking(document_id=pk) for pk in found), ignore_conflicts=True)
    return len(found)


def reconcile() -> None:
    """Find what is outdated, and ring again for wishes that nobody has come for."""
    found = find_outdated()
    late = waiting().filter(requested_at__lt=timezone.now() - RING_AFTER)
    if found or late.exists():
        enqueue("ingestion.tasks.rechunk_waiting", queue="embed", expires_s=30)


def waiting() -> QuerySet[Rechunking]:
    """Wishes that nobody works on: those of people first, then in their order."""
    free = Q(lease_until=None) | Q(lease_until__lt=timezone.now())
    return Rechunking.objects.filter(free, reason_code="").order_by("-by_person", "id")


@transaction.atomic
def take_turn() -> Turn | None:
    """The next document; one that ended three workers is given up."""
    row = waiting().select_for_update(skip_locked=True, of=("self",)).first()
    if row is None:
        return None
    if row.lease_until is not None:  # the last holder fell silent
        row.failures += 1
    row.fence += 1
    row.lease_until = timezone.now() + LEASE
    if row.failures >= MAX_FAILURES:
        row.reason_code, row.lease_until = GIVEN_UP, None
        row.save()
        log.warning("rechunking given up", extra={"document": row.document_id})
        return take_turn()
    row.save()
    return Turn(document_id=row.document_id, fence=row.fence, wishes=row.wishes)


def renew(turn: Turn) -> None:
    """Go on holding it. Raises StaleLease when somebody else does."""
    if not _held(turn).update(lease_until=timezone.now() + LEASE):
        raise StaleLease()


def _held(turn: Turn) -> QuerySet[Rechunking]:
    return Rechunking.objects.filter(document_id=turn.document_id, fence=turn.fence, reason_code="")


def finish(turn: Turn) -> None:
    """In the transaction that publishes: the wish is fulfilled; one that came meanwhile stays. Raises StaleLease."""
    row = _held(turn).select_for_update().first()
    if row is None:
        raise StaleLease()
    if row.wishes == turn.wishes:
        row.delete()
        return
    row.lease_until, row.failures = None, 0
    row.save()
    ring()


def release(turn: Turn, *, failed: bool) -> None:
    """Give it back: at once when the surroundings failed, counted when the work itself did."""
    row = _held(turn).first()
    if row is None:
        return
    row.failures += failed
    row.lease_until = None
    if row.failures >= MAX_FAILURES:
        row.reason_code = GIVEN_UP
    row.save()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the documents of a collection follow its way of cutting. `waiting` counts those being worked on too."""

    total: int
    waiting: int
    failed: int

    @property
    def done(self) -> int:
        return self.total - self.waiting - self.failed


def progress_of(principal: Principal, collection: Collection) -> Progress:
    """Of the documents that the principal sees: how many others there are with lists of their own is told to nobody."""
    seen = Document.objects.filter(collection=collection, scope_id__in=visible_scopes(principal))
    failed = Rechunking.objects.filter(document__in=seen).exclude(reason_code="")
    late = outdated(collection).filter(pk__in=seen)
    return Progress(
        total=seen.filter(active_version__isnull=False).count(),
        waiting=late.exclude(pk__in=failed.values("document")).count(),
        failed=failed.count(),
    )


@transaction.atomic
def retry_failed(documents: QuerySet[Document]) -> int:
    """Try again what was given up; the caller may do so. Returns how many."""
    count = (
        Rechunking.objects.filter(document__in=documents)
        .exclude(reason_code="")
        .update(reason_code="", failures=0, lease_until=None)
    )
    ring()
    return count
