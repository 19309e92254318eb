"""Index rows that follow their document into another access scope, or out of search. Readers are right before: hydration looks at the document."""

import time
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from ingestion.indexing import tables
from ingestion.models import Document, IndexGeneration, ScopeMove
from kb_platform.jobs import enqueue

RING_AFTER = timedelta(seconds=20)


@transaction.atomic
def follow_scope(document_id: int) -> None:
    """Bring the rows of every written generation to the document's scope of now. Safe to repeat."""
    document = Document.objects.select_for_update(of=("self",)).filter(pk=document_id).first()
    if document is None:
        return
    for generation in IndexGeneration.objects.exclude(state=IndexGeneration.State.RETIRED):
        if document.archived_at is None:
            tables.move_rows(generation.number, document.pk, document.scope_id)
        else:
            tables.delete_rows(generation.number, document.pk)
    ScopeMove.objects.filter(document=document).delete()


def follow_all(*, seconds: float) -> bool:
    """Carry out pending moves, oldest first, until time is up; whether any are left."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pending = list(ScopeMove.objects.order_by("pk").values_list("document_id", flat=True)[:50])
        if not pending:
            return False
        for document_id in pending:
            follow_scope(document_id)
    return True


def ring_pending() -> None:
    """Call again for moves that nobody has carried out."""
    if ScopeMove.objects.filter(created_at__lt=timezone.now() - RING_AFTER).exists():
        enqueue("ingestion.tasks.follow_scopes", expires_s=30)
