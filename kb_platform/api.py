"""What every API answer shares: the error shape and the page shape of API.md."""

import logging
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions
from rest_framework.pagination import PageNumberPagination
from rest_framework.response import Response

from kb_platform import errors
from kb_platform.outages import as_outage
from kb_platform.trace import trace_id

log = logging.getLogger(__name__)


class Pages(PageNumberPagination):
    """`?page=&page_size=` -> count, next, previous, results."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500


def error_body(error: errors.KnowledgeBaseError) -> dict[str, Any]:
    body: dict[str, Any] = {"code": error.code, "message": str(error)}
    if error.fields:
        body["fields"] = {name: str(text) for name, text in error.fields.items()}
    return {"error": {**body, "trace_id": trace_id()}}


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
    if known.status == 503:
        response["Retry-After"] = "5"
    return response
