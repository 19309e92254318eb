"""Puts `request.principal` on each request: the person behind its token or session, or None."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import translation

from accounts.authentication import authenticate
from kb_platform.errors import NotAuthenticated


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
        return self.get_response(request)

    def _prepare(self, request: HttpRequest) -> None:
        if request.principal.token is not None:  # type: ignore[attr-defined]
            # No browser adds this header by itself, and cookies are not looked at: nothing to forge.
            request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
        elif request.user.is_authenticated and request.user.language:
            translation.activate(request.user.language)
            request.LANGUAGE_CODE = translation.get_language()
