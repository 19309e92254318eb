"""Gives each request its trace id and answers expected errors of page views with a page instead of a 500."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from kb_platform import trace
from kb_platform.errors import KnowledgeBaseError, NotAuthenticated

PAGES = {400, 403, 404, 409, 413, 503}


class TraceIdMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        current = trace.set_trace_id(request.headers.get(trace.HEADER))
        response = self.get_response(request)
        response[trace.HEADER] = current
        if "Cache-Control" not in response and not request.path.startswith("/static/"):
            response["Cache-Control"] = "private, no-store"
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, NotAuthenticated):
            from django.contrib.auth.views import redirect_to_login

            return redirect_to_login(request.get_full_path())
        if isinstance(error, KnowledgeBaseError):
            status = error.status if error.status in PAGES else 500
            return render(request, f"errors/{status}.html", {"error": error}, status=status)
        return None
