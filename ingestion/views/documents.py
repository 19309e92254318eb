"""The list of documents: filters and order in the address, saved views, the processing tray."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe
from django_stubs_ext import StrOrPromise

from accounts.requests import PageRequest
from ingestion.conditions import PREFIX
from ingestion.facets import SUGGESTED
from ingestion.fields import PICKED, condition_text, typed_filters
from ingestion.listing import Listing, ListQuery, list_documents, without_filter
from ingestion.models import MetadataField, SavedView, Verdict
from ingestion.templatetags.documents import value_text
from ingestion.tray import tray_for
from ingestion.views.uploading import Offer, upload_context
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
    ("doubtful", gettext_lazy("Look badly read")),
    ("restricted", gettext_lazy("Own access list")),
    ("archived", gettext_lazy("Archived")),
)

SHOWN_FIRST = ("collection", "state", "quality", "type", "q", "view")
FACETS = (
    ("quality", gettext_lazy("How it was read")),
    ("type", gettext_lazy("Type")),
    ("department", gettext_lazy("Department")),
    ("level", gettext_lazy("Security level")),
    ("tag", gettext_lazy("Tag")),
    ("language", gettext_lazy("Language")),
    ("owner", gettext_lazy("Owner")),
)


@policy(Access.SIGNED_IN)
@require_safe
def documents(request: PageRequest) -> HttpResponse:
    """The list, filtered by the query string. htmx takes the parts it needs out of the same page."""
    query = ListQuery.parse(request.GET, request.principal)
    listing = list_documents(request.principal, query)
    choices = _choices(listing)
    context = {
        "listing": listing,
        "page": listing.page,
        "query": query,
        "choices": choices,
        "typed_filters": typed_filters(listing.own_fields, query.values),
        "applied": _applied(listing, choices),
        "more_applied": any(name not in SHOWN_FIRST for name in query.values),
        "views": VIEWS,
        "tray": tray_for(request.principal, listing.contributable),
        "contributable": listing.contributable,
        "manageable": listing.manageable,
    }
    return render(
        request,
        "ingestion/documents.html",
        {**context, **upload_context(_offer(listing), query.filters.collection)},
    )


def _offer(listing: Listing) -> Offer:
    """What the upload form on this page offers; the list has read it all."""
    known = {attribute: [row.value for row in listing.facets[name]] for name, attribute in SUGGESTED.items()}
    return Offer(
        targets=listing.targets,
        manageable=listing.manageable,
        fields=listing.field_rows,
        suggestions=known,
    )


def _choices(listing: Listing) -> list[dict[str, Any]]:
    """The filters that are chosen from lists: name in the address, label, options with counts, and the value of now."""
    counts, values = listing.facets, listing.query.values
    numbers = {count.value: count.count for count in counts["state"]}
    offered = [
        ("collection", _("Collection"), [(str(row.uid), row.name, None) for row in listing.collections]),
        ("state", _("State"), [(value, label, numbers.get(value, 0)) for value, label in STATES]),
    ]
    words: dict[str, dict[str, StrOrPromise]] = {"quality": dict(Verdict.choices)}
    for name, label in FACETS:
        options = [
            (
                row.value,
                words.get(name, {}).get(row.value) or row.label or _value_label(name, row.value),
                row.count,
            )
            for row in counts[name]
        ]
        offered.append((name, str(label), options))
    for key, field in listing.own_fields.items():
        if field.kind in PICKED:
            options = [
                (row.value, value_text(_typed(field, row.value)), row.count) for row in counts[PREFIX + key]
            ]
            offered.append((PREFIX + key, field.label, options))
    return [
        {"name": name, "label": label, "options": options, "value": values.get(name, "")}
        for name, label, options in offered
    ]


def _value_label(name: str, value: str) -> str:
    return language_name(value) or value if name == "language" else value


def _typed(field: MetadataField, value: str) -> Any:
    return value == "true" if field.kind == MetadataField.Kind.BOOLEAN else value


def _applied(listing: Listing, choices: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """The filters in force but for the view, each with the address without it."""
    labels = {
        choice["name"]: str(
            {value: label for value, label, _n in choice["options"]}.get(choice["value"], choice["value"])
        )
        for choice in choices
        if choice["value"]
    }
    applied = []
    for name, value in listing.query.values.items():
        if name != "view":
            label = labels.get(name) or condition_text(listing.own_fields, name, value)
            applied.append({"label": label, "url": f"?{without_filter(listing.query, name).address}"})
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
