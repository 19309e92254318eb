"""What every page's frame needs."""

from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest
from django.utils.translation import get_language

from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import DEFAULT_THEME, HELP_CONTACT, SITE_NAME
from kb_platform.trace import trace_id


def shell(request: HttpRequest) -> dict[str, Any]:
    """principal: the reader; theme: light, dark or auto; letters: single-letter shortcuts; session_left_s: None when it
    has no end of its own; html_language: for <html lang>; trace_id: for error pages; site_name, help_contact: settings.
    """
    language = get_language() or "en"
    return {
        "principal": getattr(request, "principal", None),
        "theme": _of_account(request, "theme") or store.get(DEFAULT_THEME),
        "site_name": SITE_NAME.shown(store.get(SITE_NAME)),
        "help_contact": store.get(HELP_CONTACT),
        "letters": _of_account(request, "letter_shortcuts") is not False,
        "session_left_s": _session_left_s(request),
        "html_language": "zh-Hans" if language.startswith("zh") else "en",
        "trace_id": trace_id(),
    }


def _of_account(request: HttpRequest, name: str) -> Any:
    """What the reader's account says, or None."""
    try:
        return getattr(getattr(request, "user", None), name, None)
    except DatabaseError:
        return None  # error pages are drawn while the database is away


def _session_left_s(request: HttpRequest) -> int | None:
    """Seconds until a session with a fixed end is over."""
    principal = getattr(request, "principal", None)
    if principal is None or principal.token is not None or "_session_expiry" not in request.session:
        return None
    return max(request.session.get_expiry_age(), 0)
