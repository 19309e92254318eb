"""How long a session lasts: to a fixed moment, so that the page can tell two minutes ahead."""

from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone


def limit_session(request: HttpRequest) -> int:
    """Let the session end one whole session's length from now; returns that in seconds."""
    seconds = settings.SESSION_COOKIE_AGE
    request.session.set_expiry(timezone.now() + timedelta(seconds=seconds))
    return seconds
