"""Puts `request.principal` on each request: the person behind its token or session, or None."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation

from accounts.authentication import authenticate
from kb_platform.errors import NotAuthenticated
from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import DEFAULT_LANGUAGE

FOR_PROGRAMS = ("/api/v1/", "/api/schema", "/metrics", "/static/", "/healthz", "/readyz")


class PrincipalMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.principal = None  # type: ignore[attr-defined]
        try:
            found = authenticate(request)
        except NotAuthenticated as error:
            request.credential_error = error  # type: ignore[attr-defined]
        else:
            if found is not None:
                request.user, request.principal = found  # type: ignore[attr-defined]
                self._prepare(request)
        self._speak(request)
        return self.get_response(request)

    def _prepare(self, request: HttpRequest) -> None:
        if request.principal.token is not None:  # type: ignore[attr-defined]
            # No browser adds this header by itself, and cookies are not looked at: nothing to forge.
            request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]

    def _speak(self, request: HttpRequest) -> None:
        """The language that was chosen in the account or on this browser, else the site's default for pages."""
        principal = request.principal  # type: ignore[attr-defined]
        chosen = principal.language if principal and principal.token is None else ""
        if not chosen and not request.path.startswith(FOR_PROGRAMS):
            chosen = "" if settings.LANGUAGE_COOKIE_NAME in request.COOKIES else store.get(DEFAULT_LANGUAGE)
        if chosen:
            translation.activate(chosen)
            request.LANGUAGE_CODE = translation.get_language()
