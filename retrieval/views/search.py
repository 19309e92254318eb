"""The search page: a question, conditions, passages under their documents, and why each was found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.requests import PageRequest
from ingestion.conditions import PREFIX, conditions_in, split_name
from ingestion.fields import condition_text, typed_filters
from ingestion.models import MetadataField
from kb_platform.errors import InvalidInput
from kb_platform.policies import Access, policy
from retrieval.direct_shown import shown_direct
from retrieval.facets import UPDATED_DAYS, Facet, facets_for, found_documents, option_label, own_fields
from retrieval.filters import Filters, parse_filters
from retrieval.pipeline import rank, search
from retrieval.query.shown import condition_chips, note_sentences, taken_back
from retrieval.query.values import condition_json
from retrieval.recall import recall
from retrieval.results import above_floor, grouped
from retrieval.search_settings import current
from retrieval.values import MAX_TOP_K, EvidenceLevel, SearchRequest, SearchResult

POOL, DOCUMENTS = MAX_TOP_K, 10
FACETS = {
    "type": "doc_type",
    "department": "department",
    "level": "security_level",
    "language": "language",
    "tag": "tags",
}
PERIODS = {str(days): days for days in UPDATED_DAYS}
MOMENTS = {"after": "modified_after", "before": "modified_before"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """An active condition; `url` is the page without it."""

    label: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderstoodChip:
    """A condition in the question; `url` is the page with it taken back, or, if it was, with it again."""

    label: str
    url: str
    is_removed: bool


@policy(Access.SIGNED_IN)
@require_safe
def search_page(request: PageRequest) -> HttpResponse:
    typed = request.GET.get("q", "").strip()
    own = own_fields(request.principal)
    picked = [name for name in request.GET if name.startswith(PREFIX) and not split_name(name)[1]]
    chosen = {name: request.GET.getlist(name) for name in ("collection", *FACETS, "updated", *picked)}
    typed_values = {name: request.GET[name] for name in request.GET if name.startswith(PREFIX)}
    context: dict[str, Any] = {
        "typed": typed,
        "dates": {name: request.GET.get(name, "") for name in MOMENTS},
        "sort": "date" if request.GET.get("sort") == "date" else "",
        "ask_url": _ask_url(typed, chosen["collection"]),
        "typed_filters": typed_filters(own, typed_values),
        "typed_is_set": any(typed_values[name] for name in typed_values if name not in picked),
    }
    try:
        found = _found(request, typed) if typed else {}
        context |= found
    except InvalidInput as error:
        found = {}
        context["problem"] = " ".join(str(reason) for reason in error.fields.values()) or str(error)
    facets = facets_for(request.principal, chosen, found=found.get("documents"), fields=own)
    chips = _chips(request.GET, facets, own)
    context |= {"facets": facets, "chips": chips, "clear_url": _query({"q": [typed]} if typed else {})}
    return render(request, "retrieval/search.html", context, status=400 if "problem" in context else 200)


def _found(request: PageRequest, typed: str) -> dict[str, Any]:
    """The page of documents, and for the facets all that was found without their conditions."""
    principal, filters = request.principal, filters_of(request.GET)
    without = taken_back(request.GET.getlist("without"))
    wanted = SearchRequest(text=typed, filters=filters, top_k=POOL, without=without)
    result = search(wanted, principal=principal)
    listed = above_floor(result.passages)
    groups = grouped(
        principal,
        listed,
        question=typed,
        newest_first=request.GET.get("sort") == "date",
        expansions=result.expansions,
    )
    chunk_ids = [one.chunk_id for passage in listed for one in (passage, *passage.also_in)]
    if filters:
        settings = current()
        everything = recall(SearchRequest(text=typed, top_k=POOL), principal=principal, settings=settings)
        chunk_ids = [candidate.chunk_id for candidate in above_floor(rank(everything, settings)[:POOL])]
    is_cut = len(listed) == POOL < result.total_estimate
    return {
        "result": result,
        "understood": _understood_chips(request.GET, result),
        "taken_back": _taken_back(result),
        "notes": note_sentences(result.notes),
        "direct": shown_direct(result.direct),
        "page": Paginator(groups, DOCUMENTS).get_page(request.GET.get("page")),
        "passage_count": len(listed),
        "about": result.total_estimate if is_cut else None,
        "is_weak": result.evidence.level is EvidenceLevel.NONE,
        "seconds": result.timings_ms.get("total", 0.0) / 1000,
        "documents": found_documents(principal, [key for key in chunk_ids if isinstance(key, int)]),
    }


def filters_of(query: QueryDict) -> Filters:
    """The conditions in an address, as the API would read them."""
    conditions: dict[str, Any] = {
        field: values for name, field in FACETS.items() if (values := [v for v in query.getlist(name) if v])
    }
    conditions |= {field: value for name, field in MOMENTS.items() if (value := query.get(name))}
    days = PERIODS.get(query.get("updated", ""))
    if days and "modified_after" not in conditions:
        conditions["modified_after"] = (timezone.now() - timedelta(days=days)).isoformat()
    collections = [uid for uid in query.getlist("collection") if uid]
    own = [(name, value) for name, values in query.lists() for value in values]
    return replace(parse_filters(conditions, collections=collections or None), metadata=conditions_in(own))


def _chips(query: QueryDict, facets: list[Facet], own: Mapping[str, MetadataField]) -> list[Chip]:
    labels = {(facet.name, option.value): option.label for facet in facets for option in facet.options}
    chips = []
    for name in ("collection", *FACETS, "updated"):
        for value in dict.fromkeys(filter(None, query.getlist(name))):
            fallback = _("Another collection") if name == "collection" else option_label(name, value)
            chips.append(Chip(label=labels.get((name, value), fallback), url=_without(query, name, value)))
    for name in (name for name in query if name.startswith(PREFIX)):
        for value in dict.fromkeys(filter(None, query.getlist(name))):
            told = condition_text(own, name, labels.get((name, value), value)[:80])
            chips.append(Chip(label=told, url=_without(query, name, value)))
    for name, told in (("after", _("from %(day)s")), ("before", _("before %(day)s"))):
        if day := query.get(name):
            chips.append(Chip(label=told % {"day": day[:40]}, url=_without(query, name, day)))
    return chips


def _understood_chips(query: QueryDict, result: SearchResult) -> list[UnderstoodChip]:
    if result.understanding is None:
        return []
    conditions, removed = (
        [condition_json(condition) for condition in found]
        for found in (result.understanding.conditions, result.understanding.removed)
    )
    return [
        UnderstoodChip(label=chip.label, url=_taking_back(query, chip.without), is_removed=chip.is_removed)
        for chip in condition_chips(conditions, removed)
    ]


def _taken_back(result: SearchResult) -> list[str]:
    """What stays taken back when a filter is set or the question is sent again."""
    return [condition.key for condition in result.understanding.removed] if result.understanding else []


def _taking_back(query: QueryDict, keys: Sequence[str]) -> str:
    kept = {name: values for name, values in query.lists() if name not in ("page", "without")}
    return _query(kept | {"without": list(keys)})


def _without(query: QueryDict, name: str, value: str) -> str:
    kept = {key: [v for v in values if (key, v) != (name, value)] for key, values in query.lists()}
    kept.pop("page", None)
    return _query(kept)


def _query(parameters: dict[str, list[str]]) -> str:
    query = QueryDict(mutable=True)
    for name, values in parameters.items():
        query.setlist(name, values)
    text = query.urlencode()
    return reverse("search") + (f"?{text}" if text else "")


def _ask_url(typed: str, collections: list[str]) -> str:
    query = QueryDict(mutable=True)
    if typed:
        query["q"] = typed
    query.setlist("collection", [uid for uid in collections if uid])
    text = query.urlencode()
    return reverse("ask") + (f"?{text}" if text else "")
