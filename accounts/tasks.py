"""Nightly work of accounts."""

from celery import shared_task

from accounts import sign_in


@shared_task
def forget_old_failures() -> int:
    """Remove failed sign-ins older than is set; returns how many."""
    return sign_in.forget_old_failures()
