"""Pages of collections: the list, making, changing and deleting one."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.permissions.visibility import require, visible_scopes
from accounts.requests import PageRequest
from accounts.values import Permission
from ingestion import selectors, services
from ingestion.forms import CollectionForm, DeleteForm, show_refusal
from kb_platform.errors import Conflict, InvalidInput
from kb_platform.policies import Access, policy

get_or_post = require_http_methods(["GET", "HEAD", "POST"])


@policy(Access.SIGNED_IN)
@require_safe
def collections(request: PageRequest) -> HttpResponse:
    rights = {
        "contributable": set(visible_scopes(request.principal, at_least=Permission.CONTRIBUTE)),
        "manageable": set(visible_scopes(request.principal, at_least=Permission.MANAGE)),
    }
    rows = selectors.collections_for(request.principal)
    return render(request, "ingestion/collections.html", {"collections": rows, **rights})


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
    initial = {"name": collection.name, "description": collection.description}
    form = CollectionForm(request.POST or None, initial=initial)
    if form.is_valid():
        try:
            services.update_collection(actor=request.principal, collection=collection, **form.cleaned_data)
            messages.success(request, _("Saved."))
            return redirect("collections")
        except InvalidInput as error:
            show_refusal(form, error)
    context = {"collection": collection, "form": form, "document_count": collection.documents.count()}
    return render(request, "ingestion/collection_edit.html", context)


@policy(Access.OBJECT)
@get_or_post
def collection_delete(request: PageRequest, uid: str) -> HttpResponse:
    collection = selectors.get_collection(request.principal, uid)
    require(request.principal, Permission.MANAGE, collection.scope_id)
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
        "text": _("The collection and its sharing list are removed. This cannot be undone."),
        "action": _("Delete collection"),
        "crumb": _("Collections"),
        "back_url": reverse("collections"),
    }
    return render(request, "confirm.html", {**context, "form": form})
