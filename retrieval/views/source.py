"""The source viewer: a document as text, or its page images with the passages marked.

The script of the conversation asks for the same address with `X-Part: panel` and shows it beside the answer.
"""

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from accounts.requests import PageRequest
from kb_platform.policies import Access, policy
from retrieval.viewer import Place, view_document


@policy(Access.OBJECT)
@require_safe
def source(request: PageRequest, uid: str, page: int | None = None) -> HttpResponse:
    place = parse_place(request.GET, page)
    viewed = view_document(request.principal, uid, place)
    mode = "text" if request.GET.get("view") == "text" or not viewed.is_paged else "page"
    is_panel = request.headers.get("X-Part") == "panel"
    template = "retrieval/_source_panel.html" if is_panel else "retrieval/source.html"
    response = render(request, template, {"viewed": viewed, "place": place, "mode": mode})
    patch_vary_headers(response, ["X-Part"])
    return response


def parse_place(query: QueryDict, page: int | None) -> Place:
    """The place of the address; a number that is none counts as not given."""
    return Place(
        version=_number(query.get("version")),
        first=_number(query.get("from")),
        last=_number(query.get("to")),
        page=page if page is not None else _number(query.get("page")),
        nearest=page is None,
        cite=query.get("cite", ""),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else None
