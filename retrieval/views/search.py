"""The search page: a query, conditions, passages under their documents, and why each was found."""

from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.requests import PageRequest
from kb_platform.errors import InvalidInput
from kb_platform.policies import Access, policy
from retrieval.facets import facets_for
from retrieval.filters import Filters, parse_filters
from retrieval.pipeline import search
from retrieval.results import grouped
from retrieval.values import MAX_OFFSET, SearchRequest

RESULTS = 20
FACETS = {"type": "doc_type", "language": "language", "tag": "tags"}
MOMENTS = {"after": "modified_after", "before": "modified_before"}


@policy(Access.SIGNED_IN)
@require_safe
def search_page(request: PageRequest) -> HttpResponse:
    typed = request.GET.get("q", "").strip()
    chosen = {name: request.GET.getlist(name) for name in ("collection", *FACETS)}
    context: dict[str, Any] = {
        "typed": typed,
        "facets": facets_for(request.principal, chosen),
        "dates": {name: request.GET.get(name, "") for name in MOMENTS},
        "chosen_count": sum(
            len(request.GET.getlist(name)) for name in (*chosen, *MOMENTS) if request.GET.get(name)
        ),
    }
    if typed:
        try:
            context |= _found(request, typed)
        except InvalidInput as error:
            context["problem"] = " ".join(str(reason) for reason in error.fields.values()) or str(error)
    return render(request, "retrieval/search.html", context, status=400 if "problem" in context else 200)


def _found(request: PageRequest, typed: str) -> dict[str, Any]:
    page = _page_number(request.GET)
    wanted = SearchRequest(
        text=typed, filters=filters_of(request.GET), top_k=RESULTS, offset=(page - 1) * RESULTS
    )
    result = search(wanted, principal=request.principal)
    has_next = len(result.passages) == RESULTS and result.total_estimate > page * RESULTS
    return {
        "result": result,
        "groups": grouped(request.principal, result.passages),
        "seconds": result.timings_ms.get("total", 0.0) / 1000,
        "page_number": page,
        "next_page": page + 1 if has_next and page * RESULTS <= MAX_OFFSET else None,
        "previous_page": page - 1 if page > 1 else None,
    }


def filters_of(query: QueryDict) -> Filters:
    """The conditions in an address, as the API would read them."""
    conditions: dict[str, Any] = {
        field: values for name, field in FACETS.items() if (values := [v for v in query.getlist(name) if v])
    }
    conditions |= {field: value for name, field in MOMENTS.items() if (value := query.get(name))}
    collections = [uid for uid in query.getlist("collection") if uid]
    return parse_filters(conditions, collections=collections or None)


def _page_number(query: QueryDict) -> int:
    text = query.get("page", "1")
    return (
        min(int(text), MAX_OFFSET // RESULTS + 1)
        if text.isdecimal() and 0 < len(text) < 6 and int(text)
        else 1
    )
