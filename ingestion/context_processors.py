"""What the rail of every page shows of ingestion, read only when a page draws it."""

from functools import cache
from typing import Any

from django.http import HttpRequest

from accounts.permissions.visibility import visible_scopes
from accounts.values import Permission


def rail(request: HttpRequest) -> dict[str, Any]:
    """may_manage_content: whether the reader may contribute to anything."""

    @cache
    def may_manage_content() -> bool:
        principal = getattr(request, "principal", None)
        return bool(principal and visible_scopes(principal, at_least=Permission.CONTRIBUTE))

    return {"may_manage_content": may_manage_content}
