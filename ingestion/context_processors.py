"""What the rail of every page shows of ingestion, read only when a page draws it."""

from functools import cache
from typing import Any

from django.http import HttpRequest

from accounts.permissions.visibility import visible_scopes
from accounts.values import Permission
from ingestion.tray import Tray, tray_for
from kb_platform.templatetags.shell import is_managing

WITH_A_TRAY = {"documents", "upload_batch"}


def rail(request: HttpRequest) -> dict[str, Any]:
    """may_manage_content: whether the reader may contribute to anything. tray_line: what is being processed, on Manage pages."""

    @cache
    def may_manage_content() -> bool:
        principal = getattr(request, "principal", None)
        return bool(principal and visible_scopes(principal, at_least=Permission.CONTRIBUTE))

    @cache
    def tray_line() -> Tray | None:
        name = getattr(request.resolver_match, "url_name", None) or ""
        principal = getattr(request, "principal", None)
        if principal is None or name in WITH_A_TRAY or not is_managing(name):
            return None
        return tray_for(principal)

    return {"may_manage_content": may_manage_content, "tray_line": tray_line}
