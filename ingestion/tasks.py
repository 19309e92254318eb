"""Celery tasks of ingestion: each takes ids, loads, calls one function. Whatever they lose, the ledger finds again."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from celery import shared_task
from django.db import DatabaseError, OperationalError, connection

from ingestion import blobs, bulk, ledger, pipeline
from ingestion.embedding.registry import get_embedder
from ingestion.indexing import moves
from ingestion.ledger import Lease, StaleLease
from ingestion.models import DocumentVersion, IngestJob, VersionPart
from ingestion.rendering import page_images
from kb_platform.jobs import enqueue

log = logging.getLogger(__name__)
EMBED_TASK_S = 60.0  # one task works this long at most, then rings for its successor
GIVE_BACK_S = 60.0
BATCH_JOBS, BATCH_CHUNKS = 32, 128


@shared_task
def parse_version(version_id: int) -> None:
    """Read one version, if nobody else does and it still needs it."""
    for lease in ledger.claim(IngestJob.Stage.PARSE, version_id=version_id):
        with at_work([lease]):
            pipeline.read(lease, get_embedder())


@shared_task
def embed_ready() -> None:
    """Embed and publish whatever has been read, in batches, until nothing is left or time is up."""
    end = time.monotonic() + EMBED_TASK_S
    while time.monotonic() < end:
        leases = ledger.claim_batch(IngestJob.Stage.EMBED, most_jobs=BATCH_JOBS, most_chunks=BATCH_CHUNKS)
        if not leases:
            return
        with at_work(leases):
            pipeline.embed_and_publish(leases, get_embedder())
    ledger.ring(IngestJob.Stage.EMBED, 0)


@contextmanager
def at_work(leases: list[Lease]) -> Iterator[None]:
    """Keep the leases alive, and give them back when the work fails.

    A database that went away is not the file's fault; anything else unexpected is counted against it.
    """
    try:
        with ledger.heartbeat(leases):
            yield
    except StaleLease:
        log.info("job taken over or cancelled")
    except OperationalError as error:
        log.warning("the database went away", extra={"cause": str(error).strip()[:200]})
        _give_back(leases, failed=False)
    except Exception:
        log.exception("ingestion failed", extra={"versions": [lease.version_id for lease in leases]})
        _give_back(leases, failed=True)


def _give_back(leases: list[Lease], *, failed: bool) -> None:
    """Release the leases once the database answers again; after a minute they run out by themselves."""
    end = time.monotonic() + GIVE_BACK_S
    while time.monotonic() < end:
        connection.close()
        try:
            for lease in leases:
                ledger.release(lease, failed=failed)
            return
        except DatabaseError:
            time.sleep(1)


@shared_task
def reconcile() -> None:
    """Every few seconds: what the ledger knows that nobody works on."""
    result = ledger.reconcile()
    moves.ring_pending()
    if any(result.values()):
        log.info("ledger reconciled", extra=result)


@shared_task
def follow_scope(document_id: int) -> None:
    moves.follow_scope(document_id)


@shared_task
def follow_scopes() -> None:
    """Carry out what bulk changes left behind, a minute at a time."""
    if moves.follow_all(seconds=EMBED_TASK_S):
        enqueue("ingestion.tasks.follow_scopes")


@shared_task
def purge_deleted() -> None:
    """Remove for good what has been in the trash for its time, a minute at a time."""
    if bulk.purge_due(seconds=EMBED_TASK_S):
        enqueue("ingestion.tasks.purge_deleted")


@shared_task
def collect_garbage() -> None:
    named = DocumentVersion.objects.values_list("blob"), VersionPart.objects.values_list("blob")
    referenced = {blob for rows in named for (blob,) in rows.distinct()}
    removed, forgotten = blobs.collect_garbage(referenced), page_images.collect_garbage(referenced)
    if removed or forgotten:
        log.info("unreferenced files removed", extra={"blobs": removed, "drawn": forgotten})
