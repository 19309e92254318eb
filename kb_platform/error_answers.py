"""The answer to an expected error outside of DRF: JSON for programs, a page or the sign-in form for people."""

from urllib.parse import urlsplit

from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from kb_platform.api import error_body
from kb_platform.errors import KnowledgeBaseError, NotAuthenticated

FOR_PROGRAMS = ("/api/", "/metrics")
PAGES = {400, 403, 404, 409, 413, 429, 503, 507}


def error_answer(request: HttpRequest, error: KnowledgeBaseError) -> HttpResponse:
    if request.path.startswith(FOR_PROGRAMS):
        return _as_json(error)
    if isinstance(error, NotAuthenticated):
        return _to_sign_in(request)
    if request.headers.get("HX-Request"):  # told in a toast; a fragment has no place for a page
        return HttpResponse(str(error), status=error.status, content_type="text/plain; charset=utf-8")
    status = error.status if error.status in PAGES else 500
    if status >= 500:  # the page must not ask the database who is reading it
        request.user, request.principal = AnonymousUser(), None  # type: ignore[attr-defined]
    return render(request, f"errors/{status}.html", {"error": error}, status=status)


def _as_json(error: KnowledgeBaseError) -> HttpResponse:
    response = JsonResponse(error_body(error), status=error.status)
    if error.status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="api"'
    if error.retry_after:
        response["Retry-After"] = str(error.retry_after)
    return response


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    """Back to the page afterwards, if it can be opened by a plain GET; for a fragment, to the page it belongs to."""
    if request.headers.get("HX-Request"):  # a fragment must not be replaced by the sign-in page
        try:
            page = urlsplit(request.headers.get("HX-Current-URL", "/"))
        except ValueError:
            page = urlsplit("/")
        back = page.path + (f"?{page.query}" if page.query else "")
        return HttpResponse(status=204, headers={"HX-Redirect": redirect_to_login(back)["Location"]})
    return redirect_to_login(request.get_full_path() if request.method == "GET" else "/")
