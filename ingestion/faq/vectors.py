"""Vectors of the stored questions, made as those of readers' questions are, so that one question is compared with another.

They are made in the background by whoever has the model in memory; a question without one is still found word for word.
"""

import hashlib
import time

from ingestion.embedding.protocol import Embedder
from ingestion.models import FaqQuestion, IndexGeneration
from kb_platform.jobs import enqueue

AT_ONCE = 32


def embedder_key(fingerprint: str) -> str:
    """What stands for an embedder beside a vector."""
    return hashlib.sha256(fingerprint.encode()).hexdigest()


def ring() -> None:
    """Ask for the vectors that are missing, once the transaction commits."""
    enqueue("ingestion.tasks.embed_faq_questions", queue="embed")


def ring_if_missing() -> None:
    """The same where the active index is ahead of the questions: a bell was lost, or it has another embedder now."""
    active = IndexGeneration.objects.filter(state=IndexGeneration.State.ACTIVE).first()
    if active and FaqQuestion.objects.exclude(embedder=embedder_key(active.embedder)).exists():
        ring()


def embed_missing(embedder: Embedder, *, seconds: float) -> bool:
    """Make what is missing, for at most this long; whether something is left."""
    key, end = embedder_key(embedder.fingerprint), time.monotonic() + seconds
    behind = FaqQuestion.objects.exclude(embedder=key).order_by("pk")
    while rows := list(behind[:AT_ONCE]):
        for row in rows:
            row.embedder, row.embedding = key, embedder.embed_query(row.text)
        FaqQuestion.objects.bulk_update(rows, ["embedder", "embedding"])
        if time.monotonic() > end:
            return behind.exists()
    return False
