"""Celery tasks of ingestion: each takes ids, loads, calls one function. Whatever they lose, the ledger finds again."""

import logging
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from celery import shared_task, signals
from django.db import DatabaseError, InterfaceError, connection

from ingestion import blobs, bulk, ledger, pipeline, rechunking
from ingestion.dictionary import recutting
from ingestion.embedding.errors import EmbedderUnavailable
from ingestion.embedding.registry import get_embedder
from ingestion.faq import importing as faq_imports
from ingestion.faq import vectors as faq_vectors
from ingestion.indexing import moves
from ingestion.ledger import Lease, StaleLease
from ingestion.models import Document, DocumentVersion, IngestJob, VersionPart
from ingestion.rendering import page_images
from kb_platform.jobs import enqueue
from kb_platform.outages import as_outage, is_out_of_space
from kb_platform.runtime_config import store as configuration

log = logging.getLogger(__name__)
TASK_S = 60.0  # one task works this long at most, then rings for its successor
GIVE_BACK_S = 60.0
BATCH_JOBS, BATCH_CHUNKS = 32, 128
CAUSE_CHARACTERS = 200
_NO_MEMORY = re.compile(r"out of memory|bad_alloc|cannot allocate|failed to allocate", re.IGNORECASE)


@shared_task(bind=True)
def parse_ready(self: Any) -> None:
    """Read the files whose turn it is, one after the other, until nothing is left or time is up."""
    for _turn in _turns(IngestJob.Stage.PARSE):
        leases = ledger.claim(IngestJob.Stage.PARSE, holder=self.request.hostname or "")
        if not leases:
            return
        with at_work(leases):
            pipeline.read(leases[0], get_embedder())


@shared_task(bind=True)
def embed_ready(self: Any) -> None:
    """Embed and publish whatever has been read, in batches, until nothing is left or time is up."""
    holder = self.request.hostname or ""
    for _turn in _turns(IngestJob.Stage.EMBED):
        leases = ledger.claim_batch(
            IngestJob.Stage.EMBED, most_jobs=BATCH_JOBS, most_chunks=BATCH_CHUNKS, holder=holder
        )
        if not leases:
            return
        with at_work(leases):
            pipeline.embed_and_publish(leases, get_embedder(), let_by=partial(_embed_short_ones, holder))


def _embed_short_ones(holder: str) -> None:
    """A batch of files that wait behind the long one in hand, whose lease is kept meanwhile."""
    leases = ledger.claim_short(IngestJob.Stage.EMBED, BATCH_JOBS, BATCH_CHUNKS, holder=holder)
    if leases:
        with at_work(leases):
            pipeline.embed_and_publish(leases, get_embedder())


def _turns(stage: str) -> Iterator[None]:
    """Go on for a task's time, then call a successor, so that other tasks get their turn."""
    end = time.monotonic() + TASK_S
    while time.monotonic() < end:
        with configuration.read_once():
            yield
    ledger.ring(stage)


@signals.worker_shutting_down.connect
def _excuse_what_is_in_hand(sender: Any = None, **_: Any) -> None:
    """sender: the worker's name."""
    try:
        ledger.excuse(str(sender))
    except (DatabaseError, InterfaceError) as error:
        log.warning("nothing excused at the end", extra={"cause": str(error).strip()[:200]})


@shared_task
def rechunk_waiting() -> None:
    """Cut documents anew, one after the other, until nothing waits or time is up."""
    end = time.monotonic() + TASK_S
    while time.monotonic() < end:
        turn = rechunking.take_turn()
        if turn is None:
            return
        try:
            pipeline.rechunk(turn, get_embedder())
        except (StaleLease, Document.DoesNotExist):
            log.info("rechunking taken over, or its document is gone")
        except Exception as error:
            if _blame(error) != "failed_once":  # its lease runs out by itself
                log.warning("rechunking interrupted", extra={"cause": str(error).strip()[:200]})
                return
            log.exception("rechunking failed", extra={"document": turn.document_id})
            rechunking.release(turn, failed=True)
    rechunking.ring()


@shared_task
def recut_waiting() -> None:
    """Let the index follow the dictionary's terms, batch by batch, until all are in force or time is up."""
    end = time.monotonic() + TASK_S
    while time.monotonic() < end:
        try:
            if not recutting.step():
                return
        except Exception as error:
            if _blame(error) != "failed_once":
                log.warning("recutting interrupted", extra={"cause": str(error).strip()[:200]})
                return
            log.exception("recutting failed")
            recutting.note_failure()
    recutting.ring()


@shared_task
def embed_faq_questions() -> None:
    """Make the vectors of stored questions that have none, until none is missing or time is up."""
    if faq_vectors.embed_missing(get_embedder(), seconds=TASK_S):
        faq_vectors.ring()


@contextmanager
def at_work(leases: list[Lease]) -> Iterator[None]:
    """Keep the leases alive, and give them back when the work fails.

    A database or a model that went away, and a disk that takes nothing, are not the file's fault; anything else
    unexpected is counted against it.
    """
    try:
        with ledger.heartbeat(leases):
            yield
    except StaleLease:
        log.info("job taken over, cancelled, or put behind short ones")
    except Exception as error:
        code = _blame(error)
        if code == "failed_once":
            log.exception("ingestion failed", extra={"versions": [lease.version_id for lease in leases]})
        else:
            log.warning("ingestion interrupted", extra={"code": code, "cause": str(error).strip()[:200]})
        _give_back(leases, code, _in_few_words(error) if code == "failed_once" else "")


def _blame(error: Exception) -> str:
    """What a failure is put down to: `failed_once` is the file's, the rest are its surroundings'."""
    if is_out_of_space(error):
        return "no_space"
    if isinstance(error, EmbedderUnavailable):
        return "no_model"
    return "surroundings" if as_outage(error) else "failed_once"


def _in_few_words(error: Exception) -> str:
    """What happened, for a person: its first line, without what only developers read."""
    if isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)):
        return "out of memory"
    line = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {line}"[:CAUSE_CHARACTERS].rstrip(": ")


def _give_back(leases: list[Lease], code: str, cause: str) -> None:
    """Release the leases once the database answers again; after a minute they run out by themselves."""
    end = time.monotonic() + GIVE_BACK_S
    while time.monotonic() < end:
        connection.close()
        try:
            for lease in leases:
                ledger.release(lease, code=code, cause=cause)
            return
        except (DatabaseError, InterfaceError):
            time.sleep(1)


@signals.worker_ready.connect
def _take_up_again(sender: Any = None, **_: Any) -> None:
    """What this worker was doing when it was killed need not wait for its lease to run out."""
    try:
        ledger.free_what_was_held_by(getattr(sender, "hostname", ""))
        ledger.reconcile()
    except (DatabaseError, InterfaceError) as error:
        log.warning("nothing taken up at the start", extra={"cause": str(error).strip()[:200]})
    finally:
        connection.close()


@shared_task
def reconcile() -> None:
    """Every few seconds: what the ledger knows that nobody works on."""
    result = ledger.reconcile()
    moves.ring_pending()
    rechunking.reconcile()
    recutting.reconcile()
    faq_vectors.ring_if_missing()
    if any(result.values()):
        log.info("ledger reconciled", extra=result)


@shared_task
def follow_scope(document_id: int) -> None:
    moves.follow_scope(document_id)


@shared_task
def follow_scopes() -> None:
    """Carry out what bulk changes left behind, a minute at a time."""
    if moves.follow_all(seconds=TASK_S):
        enqueue("ingestion.tasks.follow_scopes")


@shared_task
def purge_deleted() -> None:
    """Remove for good what has been in the trash for its time, a minute at a time, and files nobody took over."""
    faq_imports.forget_old()
    if bulk.purge_due(seconds=TASK_S):
        enqueue("ingestion.tasks.purge_deleted")


@shared_task
def collect_garbage() -> None:
    named = DocumentVersion.objects.values_list("blob"), VersionPart.objects.values_list("blob")
    referenced = {blob for rows in named for (blob,) in rows.distinct()}
    removed, forgotten = blobs.collect_garbage(referenced), page_images.collect_garbage(referenced)
    if removed or forgotten:
        log.info("unreferenced files removed", extra={"blobs": removed, "drawn": forgotten})
