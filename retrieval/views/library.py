"""The library: for reading only. Collections as tiles, and the current documents of one."""

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.requests import PageRequest
from ingestion import selectors
from kb_platform.policies import Access, policy
from retrieval.library import Narrowing, choices_in, documents_in, shelf_for

ROWS, TILES = 25, 12


@policy(Access.SIGNED_IN)
@require_safe
def library(request: PageRequest) -> HttpResponse:
    shelf = shelf_for(request.principal)
    tiles = shelf.tiles if request.GET.get("all") else shelf.tiles[:TILES]
    context = {"shelf": shelf, "tiles": tiles, "more_count": len(shelf.tiles) - len(tiles)}
    return render(request, "retrieval/library.html", context)


@policy(Access.OBJECT)
@require_safe
def library_collection(request: PageRequest, uid: str) -> HttpResponse:
    collection = selectors.get_collection(request.principal, uid)
    asked = {name: request.GET.get(name, "") for name in ("q", "type", "language", "sort")}
    wanted = Narrowing(
        text=asked["q"], doc_type=asked["type"], language=asked["language"], order=asked["sort"] or "-changed"
    )
    documents = documents_in(request.principal, collection.pk, wanted)
    context = {
        "collection": collection,
        "page": Paginator(documents, ROWS).get_page(request.GET.get("page")),
        "choices": choices_in(request.principal, collection.pk),
        "is_filtered": bool(asked["q"] or asked["type"] or asked["language"]),
        "order": wanted.order,
        **asked,
    }
    return render(request, "retrieval/library_collection.html", context)
