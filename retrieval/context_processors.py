"""What the rail of every page shows of retrieval, read only when a page draws it."""

from collections.abc import Callable
from functools import cache
from typing import Any

from django.http import HttpRequest

from retrieval.chat.selectors import conversations_for
from retrieval.models import Conversation

RECENT = 8


def rail(request: HttpRequest) -> dict[str, Any]:
    """recent_conversations: the reader's own, the latest first."""

    @cache
    def recent() -> list[Conversation]:
        principal = getattr(request, "principal", None)
        return list(conversations_for(principal)[:RECENT]) if principal else []

    found: Callable[[], list[Conversation]] = recent
    return {"recent_conversations": found}
