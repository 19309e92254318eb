"""Background work of retrieval: what is kept of searches and chats, for as long as is set."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from kb_platform.retention import delete_in_batches
from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import CONVERSATION_DAYS, TRACE_DAYS
from retrieval.models import Conversation, SearchTrace


@shared_task
def forget_old_traces() -> int:
    """Remove traces older than is set; returns how many."""
    oldest = timezone.now() - timedelta(days=store.get(TRACE_DAYS))
    return delete_in_batches(SearchTrace.objects.filter(created_at__lt=oldest))


@shared_task
def forget_old_conversations() -> int:
    """Remove conversations without a question for longer than is set, with all that hangs on them; returns how many."""
    days = store.get(CONVERSATION_DAYS)
    if not days:
        return 0
    oldest = timezone.now() - timedelta(days=days)
    return delete_in_batches(Conversation.objects.filter(updated_at__lt=oldest), size=200)
