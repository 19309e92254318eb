"""What every page's frame needs."""

from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest
from django.utils.translation import get_language

from kb_platform.trace import trace_id


def shell(request: HttpRequest) -> dict[str, Any]:
    """principal: the reader; theme: light, dark or auto; html_language: for <html lang>; trace_id: for error pages."""
    language = get_language() or "en"
    return {
        "principal": getattr(request, "principal", None),
        "theme": _theme(request),
        "html_language": "zh-Hans" if language.startswith("zh") else "en",
        "trace_id": trace_id(),
    }


def _theme(request: HttpRequest) -> str:
    try:
        return getattr(getattr(request, "user", None), "theme", "") or "auto"
    except DatabaseError:
        return "auto"  # error pages are drawn while the database is away
