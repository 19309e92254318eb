"""Background work of retrieval."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from retrieval.models import SearchTrace


@shared_task
def forget_old_traces() -> int:
    """Remove traces older than TRACE_DAYS; returns how many."""
    oldest = timezone.now() - timedelta(days=settings.TRACE_DAYS)
    count, _by_model = SearchTrace.objects.filter(created_at__lt=oldest).delete()
    return count
