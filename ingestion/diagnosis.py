"""What `manage.py doctor` looks at in ingestion: the index, the model, and work that does not move."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.db.models import Count
from django.utils import timezone

from ingestion.blobs import path_of
from ingestion.embedding.errors import EmbedderUnavailable
from ingestion.embedding.registry import get_embedder
from ingestion.indexing.generations import matches
from ingestion.models import Document, DocumentVersion, IndexGeneration, IngestJob
from kb_platform.diagnosis import Finding, ok, problem, warning

WAITS_LONG = timedelta(minutes=10)


def examine() -> Iterator[Finding]:
    yield from _index()
    yield from _jobs()
    yield from _blobs()


def _index() -> Iterator[Finding]:
    generation = IndexGeneration.objects.filter(state=IndexGeneration.State.ACTIVE).first()
    if generation is None:
        yield problem("index", "there is none yet; run `manage.py up` once")
        return
    try:
        embedder = get_embedder()
    except EmbedderUnavailable as error:
        yield problem("embedder", str(error))
        return
    if not matches(generation, embedder):
        yield problem("index", "was made with another embedder; set KB_EMBEDDER back")
        return
    live = Document.objects.filter(active_version__isnull=False, archived_at=None).count()
    yield ok(
        "index",
        f"generation {generation.number} holds {live} live documents, {generation.dimension} dimensions",
    )


def _jobs() -> Iterator[Finding]:
    """A long queue that moves is no trouble; one of which nothing was begun for minutes is."""
    since = timezone.now() - WAITS_LONG
    waiting = IngestJob.objects.filter(ended_at=None, lease_until=None, rung_at__lt=since)
    moves = IngestJob.objects.filter(claimed_at__gt=since).exists()
    if not moves and (count := waiting.count()):
        yield warning("jobs", f"{count} jobs wait and none was begun for 10 minutes")
    states = dict(IngestJob.objects.values_list("state").annotate(n=Count("pk")).order_by("state"))
    yield ok("jobs", ", ".join(f"{n} {state}" for state, n in states.items()) or "none yet")


def _blobs() -> Iterator[Finding]:
    named = DocumentVersion.objects.values_list("blob", flat=True).distinct()
    lost = sum(not path_of(digest).exists() for digest in named.iterator())
    if lost:
        yield problem(
            "files",
            f"{lost} uploaded files are missing below {settings.BLOB_DIR}; restore them from a backup",
        )
    else:
        yield ok("files", "every uploaded file is in its place")
