"""Liveness, readiness, metrics, the language switch, and the error pages that work without a database."""

import sys
from collections.abc import Callable

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.utils import translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from redis.exceptions import RedisError

from kb_platform import folders, replica
from kb_platform.api import as_knowledge_base_error
from kb_platform.error_answers import error_answer
from kb_platform.errors import InvalidInput, KnowledgeBaseError, NotAllowed, NotFound
from kb_platform.outages import as_outage
from kb_platform.policies import Access, policy

THEMES = {"light", "dark", "auto"}


@policy(Access.PUBLIC)
@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """The process answers; says nothing of what it depends on."""
    return JsonResponse({"status": "ok"})


@policy(Access.PUBLIC)
@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """Each dependency by name; 503 while the database is down or a folder takes nothing. Valkey only makes things slow."""
    parts = {"database": _answers(_ask_database), "cache": _answers(_ask_cache)}
    troubled = [state for folder in folders.watched().values() if (state := folders.state_of(folder)) != "ok"]
    parts["storage"] = troubled[0] if troubled else "ok"
    if settings.REPLICA_URL:
        parts["replica"] = "down" if replica.is_away() else "ok"
    healthy = parts["database"] == parts["storage"] == "ok"
    return JsonResponse(
        {"status": "ok" if healthy else "unavailable", "parts": parts}, status=200 if healthy else 503
    )


def _ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("select 1")


def _ask_cache() -> None:
    cache.get("readyz")


def _answers(ask: Callable[[], None]) -> str:
    try:
        ask()
    except (DatabaseError, RedisError, OSError):
        return "down"
    return "ok"


@policy(Access.ADMINISTRATOR, scope="admin")
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)


@policy(Access.PUBLIC)
@require_POST
def set_language(request: HttpRequest) -> HttpResponse:
    """Switch the language: a cookie for this browser, and the profile of who is signed in."""
    wanted = request.POST.get("language", "")
    response = HttpResponseRedirect(_next_page(request))
    if wanted in dict(settings.LANGUAGES):
        translation.activate(wanted)
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME, wanted, max_age=365 * 86400, samesite="Lax", httponly=True
        )
        if request.user.is_authenticated:
            request.user.language = wanted
            request.user.save(update_fields=["language"])
    return response


@policy(Access.SIGNED_IN)
@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    """Keep the appearance (light, dark, auto) in the profile."""
    wanted = request.POST.get("theme", "")
    if request.user.is_authenticated and wanted in THEMES:
        request.user.theme = wanted
        request.user.save(update_fields=["theme"])
    return HttpResponseRedirect(_next_page(request))


def _next_page(request: HttpRequest) -> str:
    """Where the form came from, if that is a page of this site."""
    target = request.POST.get("next", "")
    own = url_has_allowed_host_and_scheme(target, {request.get_host()}, request.is_secure())
    return target if own else "/"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A host, a form or a size that Django refuses to read."""
    return error_answer(request, as_knowledge_base_error(exception) or InvalidInput())


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_answer(request, NotFound())


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_answer(request, NotAllowed())


def stale_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form or call without this session's CSRF token."""
    return error_answer(
        request, NotAllowed(_("This page is out of date. Reload it and send the form again."), code="csrf")
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """What nobody expected; or a dependency that went away while a middleware needed it."""
    return error_answer(request, as_outage(sys.exc_info()[1]) or KnowledgeBaseError(code="internal"))
