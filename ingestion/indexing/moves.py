"""Index rows that follow their document into another access scope. Readers are right before: hydration looks at the document."""

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
        tables.move_rows(generation.number, document.pk, document.scope_id)
    ScopeMove.objects.filter(document=document).delete()


def ring_pending() -> None:
    """Call again for moves that nobody has carried out."""
    for move in ScopeMove.objects.filter(created_at__lt=timezone.now() - RING_AFTER)[:200]:
        enqueue("ingestion.tasks.follow_scope", document_id=move.document_id)
