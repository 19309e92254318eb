"""Nightly work of the platform."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from kb_platform.models import AuditEntry
from kb_platform.retention import delete_in_batches
from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import AUDIT_DAYS


@shared_task
def forget_old_entries() -> int:
    """Remove audit entries older than is set; returns how many."""
    oldest = timezone.now() - timedelta(days=store.get(AUDIT_DAYS))
    return delete_in_batches(AuditEntry.objects.filter(at__lt=oldest))
