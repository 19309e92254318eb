"""Pages of collections: the list, making, changing and deleting one."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from accounts.permissions.visibility import require
from accounts.requests import PageRequest
from accounts.values import Permission, Principal
from ingestion import selectors, services
from ingestion.chunking.choices import from_key
from ingestion.collection_cards import cards_for, narrowed
from ingestion.forms import CollectionForm, DeleteForm, show_refusal
from ingestion.models import Collection
from kb_platform.audit import entries_about
from kb_platform.errors import Conflict, InvalidInput
from kb_platform.policies import Access, policy

get_or_post = require_http_methods(["GET", "HEAD", "POST"])
CARDS, ROWS, ENTRIES = 24, 25, 50
SORT_NAMES = (
    ("name", gettext_lazy("By name")),
    ("changed", gettext_lazy("Changed last")),
    ("documents", gettext_lazy("Most documents")),
    ("attention", gettext_lazy("Most needing attention")),
)


@policy(Access.SIGNED_IN)
@require_safe
def collections(request: PageRequest) -> HttpResponse:
    """Cards, narrowed and ordered by the query string."""
    asked = {name: request.GET.get(name, "") for name in ("q", "sort", "show")}
    cards = cards_for(request.principal)
    needing = [card for card in cards if card.attention]
    shown = narrowed(needing if asked["show"] == "attention" else cards, text=asked["q"], sort=asked["sort"])
    context = {
        "page": Paginator(shown, CARDS).get_page(request.GET.get("page")),
        "all_count": len(cards),
        "attention_count": len(needing),
        "is_filtered": bool(asked["q"] or asked["show"]),
        "sorts": SORT_NAMES,
        **asked,
    }
    return render(request, "ingestion/collections.html", context)


@policy(Access.OBJECT)
@require_safe
def collection(request: PageRequest, uid: str) -> HttpResponse:
    """What it holds and who may see it; its documents stand in the list of documents."""
    found = selectors.get_collection(request.principal, uid)
    (card,) = cards_for(request.principal, uid=str(found.uid))
    documents = selectors.documents_for(request.principal).filter(collection=found, is_faq=False)
    context = {
        "collection": found,
        "card": card,
        "page": Paginator(documents, ROWS).get_page(request.GET.get("page")),
        "may_manage": card.level is Permission.MANAGE,
        "may_contribute": card.level is not Permission.VIEW,
    }
    return render(request, "ingestion/collection.html", context)


@policy(Access.OBJECT)
@require_safe
def collection_activity(request: PageRequest, uid: str) -> HttpResponse:
    """The audit entries of the collection, and of those of its documents that the person manages."""
    found = selectors.get_collection(request.principal, uid)
    require(request.principal, Permission.MANAGE, found.scope_id)
    managed = selectors.documents_for(request.principal, at_least=Permission.MANAGE).filter(collection=found)
    entries = entries_about(
        {
            "collection": [str(found.uid)],
            "document": [str(uid) for uid in managed.values_list("uid", flat=True)],
        }
    )
    page = Paginator(entries, ENTRIES).get_page(request.GET.get("page"))
    return render(request, "ingestion/collection_activity.html", {"collection": found, "page": page})


@policy(Access.SIGNED_IN)
@get_or_post
def collection_new(request: PageRequest) -> HttpResponse:
    form = CollectionForm(request.POST or None)
    if form.is_valid():
        try:
            made = services.create_collection(actor=request.principal, **form.cleaned_data)
            messages.success(request, _("“%(name)s” is made. Choose who may see it.") % {"name": made.name})
            return redirect("collection_sharing", made.uid)
        except InvalidInput as error:
            show_refusal(form, error)
    context = {"title": _("New collection"), "action": _("Create collection"), "crumb": _("Collections")}
    return render(
        request, "ingestion/form.html", {**context, "form": form, "back_url": reverse("collections")}
    )


@policy(Access.OBJECT)
@get_or_post
def collection_edit(request: PageRequest, uid: str) -> HttpResponse:
    collection = selectors.get_collection(request.principal, uid)
    require(request.principal, Permission.MANAGE, collection.scope_id)
    initial = {name: getattr(collection, name) for name in ("name", "description", "language")}
    form = CollectionForm(request.POST or None, initial=initial)
    if form.is_valid():
        try:
            services.update_collection(actor=request.principal, collection=collection, **form.cleaned_data)
            messages.success(request, _("Saved."))
            return redirect("collection_edit", uid)
        except InvalidInput as error:
            show_refusal(form, error)
    context = {
        "collection": collection,
        "chunking": from_key(collection.chunking),
        "form": form,
        **_contents(request.principal, collection),
    }
    return render(request, "ingestion/collection_edit.html", context)


@policy(Access.OBJECT)
@get_or_post
def collection_delete(request: PageRequest, uid: str) -> HttpResponse:
    collection = selectors.get_collection(request.principal, uid)
    require(request.principal, Permission.MANAGE, collection.scope_id)
    contents = _contents(request.principal, collection)
    if contents["is_filled"]:
        return render(
            request,
            "ingestion/collection_filled.html",
            {"collection": collection, **contents},
            status=409 if request.method == "POST" else 200,
        )
    form = DeleteForm(request.POST or None, name=collection.name)
    if form.is_valid():
        try:
            services.delete_collection(actor=request.principal, collection=collection)
            messages.success(request, _("“%(name)s” is deleted.") % {"name": collection.name})
            return redirect("collections")
        except Conflict as error:
            show_refusal(form, error)
    context = {
        "title": _("Delete “%(name)s”?") % {"name": collection.name},
        "text": _(
            "The collection goes with its sharing list and what of it is in the trash. This cannot be undone."
        ),
        "action": _("Delete collection"),
        "crumb": _("Collections"),
        "back_url": reverse("collection_edit", args=[uid]),
    }
    return render(request, "confirm.html", {**context, "form": form})


def _contents(principal: Principal, collection: Collection) -> dict[str, Any]:
    """document_count: those the person can see, archived ones and questions too (faq_count). is_filled: whether anything keeps it from going."""
    visible = selectors.documents_for(principal).filter(collection=collection)
    return {
        "document_count": visible.count(),
        "faq_count": visible.filter(is_faq=True).count(),
        "is_filled": collection.documents.filter(trashed_from=None).exists(),
    }
