"""The audit log, newest first, and its export. It is read only, and names of objects are all it says of them."""

from collections.abc import AsyncIterator
from urllib.parse import urlencode

from asgiref.sync import sync_to_async
from django.db import transaction
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone, translation
from django.views.decorators.http import require_safe

from accounts.principals import principal_on
from kb_platform import audit_log
from kb_platform.audit import record
from kb_platform.audit_log import AuditFilter
from kb_platform.policies import Access, policy


@policy(Access.ADMINISTRATOR)
@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    asked = AuditFilter.from_query(request.GET.dict())
    query = asked.as_query()
    page = audit_log.page_of(asked, before=request.GET.get("before", ""), after=request.GET.get("after", ""))
    first = page.entries[0] if page.entries else None
    context = {
        "page": page,
        "asked": asked,
        "groups": audit_log.choices(),
        "export": urlencode(query),
        "person": first.actor_name if first and asked.actor is not None else asked.actor,
        "thing": first.object_name if first and asked.object_id else asked.object_id,
        "time_zone": audit_log.time_zone(),
    }
    return render(request, "accounts/audit.html", context)


@policy(Access.ADMINISTRATOR)
@require_safe
def audit_export(request: HttpRequest) -> HttpResponseBase:
    """All entries that fit the filter as CSV, streamed; that it was exported is itself recorded."""
    asked = AuditFilter.from_query(request.GET.dict())
    if request.method != "HEAD":
        with transaction.atomic():
            record(principal_on(request), "audit.exported", None, **asked.as_query())
    answer = StreamingHttpResponse(
        _stream(asked, translation.get_language() or "en"), content_type="text/csv; charset=utf-8"
    )
    name = f"audit-{timezone.localdate().isoformat()}.csv"
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


async def _stream(asked: AuditFilter, language: str) -> AsyncIterator[str]:
    """Batch by batch, so that neither a whole log nor a database cursor is held while somebody downloads."""
    lines = audit_log.csv_lines(asked)

    def following() -> str:
        with translation.override(language):
            return next(lines, ("", 0))[0]

    while text := await sync_to_async(following)():
        yield text
