"""Gives each request its trace id, reads it as plain text, holds it against its route's policy, and answers expected errors of plain views."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse

from kb_platform import trace
from kb_platform.error_answers import error_answer
from kb_platform.errors import KnowledgeBaseError, NotAuthenticated
from kb_platform.outages import as_outage
from kb_platform.policies import enforce, policy_of
from kb_platform.runtime_config import store


class TraceIdMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        store.begin_request()
        trace.set_origin(request.META.get("REMOTE_ADDR") or "")
        current = trace.set_trace_id(request.headers.get(trace.HEADER))
        response = self.get_response(request)
        response[trace.HEADER] = current
        if "Cache-Control" not in response and not request.path.startswith("/static/"):
            response["Cache-Control"] = "private, no-store"
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        known = error if isinstance(error, KnowledgeBaseError) else as_outage(error)
        return error_answer(request, known) if known else None


class PlainTextMiddleware:
    """Reads every form as UTF-8 whatever charset it claims, and drops cookies with NUL, which no table can look up."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.encoding is not None:
            request.encoding = "utf-8"
        if any("\x00" in value for value in request.COOKIES.values()):
            request.COOKIES = {name: value for name, value in request.COOKIES.items() if "\x00" not in value}
        return self.get_response(request)


class PolicyMiddleware:
    """The gate of every route: stands after what sets `request.principal`, and runs before any view.

    `request.credential_error` says why credentials that were sent do not count.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Any, arguments: Any, named: Any
    ) -> HttpResponse | None:
        caller = getattr(request, "principal", None)
        try:
            enforce(policy_of(view), caller, request.method or "")
        except NotAuthenticated as refused:
            return error_answer(request, getattr(request, "credential_error", None) or refused)
        except KnowledgeBaseError as refused:
            return error_answer(request, refused)
        return None
