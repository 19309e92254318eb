"""How long a session lasts: to a fixed moment, so that the page can tell two minutes ahead."""

from datetime import timedelta

from django.http import HttpRequest
from django.utils import timezone

from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import SESSION_HOURS


def limit_session(request: HttpRequest) -> int:
    """Let the session end one whole session's length from now; returns that in seconds."""
    seconds = store.get(SESSION_HOURS) * 3600
    request.session.set_expiry(timezone.now() + timedelta(seconds=seconds))
    return seconds
