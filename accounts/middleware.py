"""Puts `request.principal` on each request: the signed-in person, or None."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import translation

from accounts.principals import principal_of


class PrincipalMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.principal = principal_of(request.user) if request.user.is_authenticated else None  # type: ignore[attr-defined]
        if request.user.is_authenticated and request.user.language:
            translation.activate(request.user.language)
            request.LANGUAGE_CODE = translation.get_language()
        return self.get_response(request)
