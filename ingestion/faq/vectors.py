"""Vectors of the stored questions, made as those of readers' questions are, so that one question is compared with another.

They are made in the background by whoever has the model in memory; a question without one is still found word for word.
"""

import hashlib
import time
from collections.abc import Sequence

from django.db import transaction

from ingestion.embedding.protocol import Embedder
from ingestion.indexing.tables import count_change
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


def tell_changed(rows: Sequence[FaqQuestion]) -> None:
    """Rankings that were found before these wordings are not used again."""
    scopes = FaqQuestion.objects.filter(pk__in=[row.pk for row in rows]).values_list(
        "pair__document__scope_id", flat=True
    )
    if active := IndexGeneration.objects.filter(state=IndexGeneration.State.ACTIVE).first():
        count_change(active.number, list(scopes.distinct()))


def embed_missing(embedder: Embedder, *, seconds: float) -> bool:
    """Make what is missing, for at most this long; whether something is left."""
    key, end = embedder_key(embedder.fingerprint), time.monotonic() + seconds
    behind = FaqQuestion.objects.exclude(embedder=key).order_by("pk")
    while rows := list(behind[:AT_ONCE]):
        for row in rows:
            row.embedder, row.embedding = key, embedder.embed_query(row.text)
        with transaction.atomic():
            FaqQuestion.objects.bulk_update(rows, ["embedder", "embedding"])
            tell_changed(rows)
        if time.monotonic() > end:
            return behind.exists()
    return False
