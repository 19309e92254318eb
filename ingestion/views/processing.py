"""The operators' page of processing: a look at all work, and stopping or trying again."""

import uuid

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from accounts.requests import PageRequest
from ingestion import operations
from ingestion.processing import processing_for
from kb_platform.errors import NotFound
from kb_platform.policies import Access, policy
from kb_platform.toasts import toast

BUSY_POLL_S, IDLE_POLL_S = 2, 10


@policy(Access.ADMINISTRATOR)
@require_safe
def processing(request: PageRequest) -> HttpResponse:
    """The whole page; htmx takes the part that changes out of it."""
    state = processing_for(request.principal)
    poll_s = BUSY_POLL_S if state.running or state.waiting else IDLE_POLL_S
    return render(request, "ingestion/processing.html", {"state": state, "poll_s": poll_s})


@policy(Access.ADMINISTRATOR)
@require_POST
def processing_retry(request: PageRequest) -> HttpResponse:
    """Try all failed files of one reason again."""
    count = operations.retry_cause(
        actor=request.principal, code=request.POST.get("reason", "").replace("\x00", "")[:50]
    )
    text = ngettext("%(n)d file is tried again.", "%(n)d files are tried again.", count) % {"n": count}
    toast(request, text)
    return redirect("processing")


@policy(Access.ADMINISTRATOR)
@require_POST
def operate(request: PageRequest, uid: str, action: str) -> HttpResponse:
    try:
        key = str(uuid.UUID(uid))
    except ValueError:
        raise NotFound() from None
    if action == "cancel":
        operations.stop(actor=request.principal, uid=key)
    else:
        operations.retry(actor=request.principal, uid=key)
    return redirect("processing")
