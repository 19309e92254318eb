"""What every page's frame needs."""

from typing import Any

from django.http import HttpRequest
from django.utils.translation import get_language

from kb_platform.trace import trace_id


def shell(request: HttpRequest) -> dict[str, Any]:
    """principal: the reader; theme: light, dark or auto; html_language: for <html lang>; trace_id: for error pages."""
    user = getattr(request, "user", None)
    language = get_language() or "en"
    return {
        "principal": getattr(request, "principal", None),
        "theme": getattr(user, "theme", "") or "auto",
        "html_language": "zh-Hans" if language.startswith("zh") else "en",
        "trace_id": trace_id(),
    }
