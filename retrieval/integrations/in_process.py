"""A search by a program in this process, as somebody: the body that the search API would answer with."""

from collections.abc import Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from accounts.models import User
from accounts.principals import principal_of
from accounts.values import Principal
from kb_platform.errors import NotFound
from retrieval.filters import parse_filters
from retrieval.pipeline import search
from retrieval.serializers import search_json
from retrieval.values import Mode, SearchRequest


def search_as(reader: Any, question: Mapping[str, Any]) -> dict[str, Any]:
    """reader: a Principal, a User or a user's id. Raises NotFound for an account that is none or is closed."""
    try:
        request = SearchRequest(
            text=question["query"],
            filters=parse_filters(question["filters"], collections=question["collections"]),
            mode=Mode(question["mode"]),
            top_k=question["top_k"],
        )
        return search_json(search(request, principal=_principal(reader)))
    finally:
        close_old_connections()  # threads of a pool end without giving theirs back


async def search_as_async(reader: Any, question: Mapping[str, Any]) -> dict[str, Any]:
    """The same for coroutines: in a thread with a database connection of its own."""
    return await sync_to_async(search_as, thread_sensitive=False)(reader, question)


def _principal(reader: Any) -> Principal:
    if isinstance(reader, Principal):
        return reader
    found = User.objects.filter(pk=getattr(reader, "pk", reader), is_active=True).first()
    if found is None:
        raise NotFound()
    return principal_of(found)
