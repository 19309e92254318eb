"""What the rail of every page shows of retrieval, read only when a page draws it."""

from collections.abc import Callable
from functools import cache
from typing import Any

from django.http import HttpRequest

from retrieval.chat.selectors import conversations_for
from retrieval.debugger.asking import may_debug
from retrieval.models import Conversation

RECENT = 8


def rail(request: HttpRequest) -> dict[str, Any]:
    """recent_conversations: the reader's own, the latest first. may_debug: whether the retrieval debugger is for them."""

    @cache
    def recent() -> list[Conversation]:
        principal = getattr(request, "principal", None)
        return list(conversations_for(principal)[:RECENT]) if principal else []

    @cache
    def debugs() -> bool:
        principal = getattr(request, "principal", None)
        return principal is not None and may_debug(principal)

    found: Callable[[], list[Conversation]] = recent
    return {"recent_conversations": found, "may_debug": debugs}
