"""The list of documents: filters and order in the address, saved views, the processing tray."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from accounts.requests import PageRequest
from ingestion.listing import Listing, ListQuery, list_documents, without_filter
from ingestion.models import SavedView
from ingestion.tray import tray_for
from ingestion.views.uploading import upload_context
from kb_platform.policies import Access, policy
from kb_platform.templatetags.shell import language_name

MOST_VIEWS = 20
STATES = (
    ("live", gettext_lazy("Searchable")),
    ("partly_live", gettext_lazy("Partly searchable")),
    ("processing", gettext_lazy("In processing")),
    ("rejected", gettext_lazy("Rejected")),
    ("quarantined", gettext_lazy("Set aside")),
    ("archived", gettext_lazy("Archived")),
)
VIEWS = (
    ("", gettext_lazy("All documents")),
    ("mine", gettext_lazy("Mine")),
    ("attention", gettext_lazy("Need attention")),
    ("restricted", gettext_lazy("Own access list")),
    ("archived", gettext_lazy("Archived")),
)


@policy(Access.SIGNED_IN)
@require_safe
def documents(request: PageRequest) -> HttpResponse:
    """The list, filtered by the query string. htmx takes the parts it needs out of the same page."""
    query = ListQuery.parse(request.GET, request.principal)
    listing = list_documents(request.principal, query)
    context = {
        "listing": listing,
        "page": listing.page,
        "query": query,
        "choices": _choices(listing),
        "applied": _applied(listing),
        "views": VIEWS,
        "tray": tray_for(request.principal, listing.contributable),
        "contributable": listing.contributable,
        "manageable": listing.manageable,
    }
    return render(
        request,
        "ingestion/documents.html",
        {**context, **upload_context(listing.targets, listing.manageable, query.filters.collection)},
    )


def _choices(listing: Listing) -> list[dict[str, Any]]:
    """The filters that are chosen from lists: name in the address, label, options, and the value of now."""
    wanted, facets = listing.query.filters, listing.facets
    offered = (
        ("collection", _("Collection"), [(str(row.uid), row.name) for row in listing.collections]),
        ("state", _("State"), STATES),
        ("type", _("Type"), [(name, name) for name in facets.doc_types]),
        ("language", _("Language"), [(code, language_name(code) or code) for code in facets.languages]),
        ("owner", _("Owner"), [(str(key), name) for key, name in facets.owners]),
    )
    now = {"type": wanted.doc_type}
    return [
        {
            "name": name,
            "label": label,
            "options": options,
            "value": now.get(name) if name in now else getattr(wanted, name),
        }
        for name, label, options in offered
    ]


def _applied(listing: Listing) -> list[dict[str, str]]:
    """The filters in force but for the view, each with the address without it."""
    applied = [
        {
            "label": str(dict(choice["options"]).get(choice["value"], choice["value"])),
            "url": f"?{without_filter(listing.query, choice['name']).address}",
        }
        for choice in _choices(listing)
        if choice["value"]
    ]
    if text := listing.query.filters.text:
        applied.append({"label": f"“{text}”", "url": f"?{without_filter(listing.query, 'q').address}"})
    return applied


@policy(Access.SIGNED_IN)
@require_safe
def processing_tray(request: PageRequest) -> HttpResponse:
    """The tray alone, polled. Tells the list to reload when something changed since `seen`."""
    tray = tray_for(request.principal)
    line = request.GET.get("as") == "line"
    response = render(
        request,
        "ingestion/_tray_line.html" if line else "ingestion/_tray.html",
        {"tray": tray, "polled": True},
    )
    if request.GET.get("seen") != tray.fingerprint:
        response["HX-Trigger"] = "documents-changed"
    return response


@policy(Access.SIGNED_IN)
@require_POST
def view_save(request: PageRequest) -> HttpResponse:
    """Keep the filters and the order under a name; a name that exists is given the new ones."""
    query = ListQuery.parse(QueryDict(request.POST.get("query", "")[:4000]), request.principal)
    name = " ".join(request.POST.get("name", "").replace("\x00", "").split())[:60]
    here = f"{reverse('documents')}?{query.address}"
    if not name:
        messages.error(request, _("Give the view a name."))
    elif len(query.address) > 1000:
        messages.error(request, _("These filters are too long to be kept."))
    elif SavedView.objects.filter(user_id=request.principal.user_id).exclude(name=name).count() >= MOST_VIEWS:
        messages.error(request, _("You have %(n)d views already. Remove one first.") % {"n": MOST_VIEWS})
    else:
        SavedView.objects.update_or_create(
            user_id=request.principal.user_id, name=name, defaults={"query": query.address}
        )
        messages.success(request, _("The view “%(name)s” is saved.") % {"name": name})
    return redirect(here)


@policy(Access.SIGNED_IN)
@require_POST
def view_delete(request: PageRequest, number: int) -> HttpResponse:
    """Forget one of the reader's own views; anything else is left as it is."""
    SavedView.objects.filter(user_id=request.principal.user_id, pk=min(number, 2**31)).delete()
    return redirect("documents")
