"""What the API shares: how bodies are read, the error shape and the page shape of API.md."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404
from rest_framework import exceptions, parsers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.pagination import PageNumberPagination
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from kb_platform import errors
from kb_platform.json_values import is_usable
from kb_platform.outages import as_outage
from kb_platform.trace import trace_id

log = logging.getLogger(__name__)


class JSONBody(parsers.JSONParser):
    """A JSON body; one that is too deep, or holds what no answer could give back, is refused as malformed."""

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            data = super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise exceptions.ParseError() from None
        if not is_usable(data):
            raise exceptions.ParseError()
        return data


class AnyAccept(DefaultContentNegotiation):
    """Answers in the view's first form when none is accepted: an `<img>` that asks for WebP gets its page."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        offered = list(renderers)
        try:
            chosen: tuple[BaseRenderer, str] = super().select_renderer(request, offered, format_suffix)
        except exceptions.NotAcceptable:
            chosen = offered[0], offered[0].media_type
        return chosen


class Pages(PageNumberPagination):
    """`?page=&page_size=` -> count, next, previous, results."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500


def error_body(error: errors.KnowledgeBaseError) -> dict[str, Any]:
    body: dict[str, Any] = {"code": error.code, "message": _encodable(error)}
    if error.fields:
        body["fields"] = {_encodable(name): _encodable(text) for name, text in error.fields.items()}
    return {"error": {**body, "trace_id": trace_id()}}


def _encodable(text: object) -> str:
    """A refusal may quote what was sent, lone surrogates and all."""
    return str(text).encode("utf-8", "replace").decode()


def field_texts(detail: Any, prefix: str = "") -> dict[str, str]:
    """Flatten DRF's nested details to dotted field names and one sentence each."""
    if isinstance(detail, dict):
        flat: dict[str, str] = {}
        for key, value in detail.items():
            flat |= field_texts(value, f"{prefix}.{key}" if prefix else str(key))
        return flat
    if isinstance(detail, list) and any(isinstance(item, dict | list) for item in detail):
        flat = {}
        for number, item in enumerate(detail):
            flat |= field_texts(item, f"{prefix}.{number}")
        return flat
    return {prefix or "detail": " ".join(map(str, detail)) if isinstance(detail, list) else str(detail)}


def as_knowledge_base_error(error: Exception) -> errors.KnowledgeBaseError | None:
    """The tree's own error for what Django and DRF raise; None for what nobody expected."""
    known: errors.KnowledgeBaseError | None = as_outage(error)
    if isinstance(error, errors.KnowledgeBaseError):
        known = error
    elif isinstance(error, Http404):
        known = errors.NotFound()
    elif isinstance(error, RequestDataTooBig):
        known = errors.TooLarge()
    elif isinstance(error, SuspiciousOperation):
        known = errors.InvalidInput()
    elif isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        known = errors.NotAuthenticated()
    elif isinstance(error, PermissionDenied | exceptions.PermissionDenied):
        known = errors.NotAllowed()
    elif isinstance(error, exceptions.ValidationError):
        known = errors.InvalidInput(fields=field_texts(error.detail))
    elif isinstance(error, exceptions.APIException):
        known = errors.InvalidInput(str(error.detail), code=str(error.default_code))
        known.status = error.status_code
    return known


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn expected errors into the API's error shape; leave bugs to Django's 500 handler."""
    known = as_knowledge_base_error(error)
    if known is None:
        return None
    response = Response(error_body(known), status=known.status)
    if known.status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="api"'
    if known.retry_after:
        response["Retry-After"] = str(known.retry_after)
    return response
