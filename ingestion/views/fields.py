"""A collection's own metadata fields: the page that lists them, and what can be done with each."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.permissions.visibility import require
from accounts.requests import PageRequest
from accounts.values import Permission
from ingestion import fields, selectors
from ingestion.forms import FieldForm, show_refusal
from ingestion.models import Collection, MetadataField
from kb_platform.errors import Conflict, InvalidInput
from kb_platform.policies import Access, policy

get_or_post = require_http_methods(["GET", "HEAD", "POST"])


def _managed(request: PageRequest, uid: str) -> Collection:
    found = selectors.get_collection(request.principal, uid)
    require(request.principal, Permission.MANAGE, found.scope_id)
    return found


def _uses(request: PageRequest, field: MetadataField) -> int:
    """How many of the documents that the person can see have a value."""
    return fields.count_values(selectors.documents_for(request.principal), field)


@policy(Access.OBJECT)
@get_or_post
def collection_fields(request: PageRequest, uid: str) -> HttpResponse:
    """The fields in use and those removed; posted, another one."""
    collection = _managed(request, uid)
    form = FieldForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            made = fields.define_field(
                actor=request.principal,
                collection=collection,
                label=form.cleaned_data["label"],
                kind=form.cleaned_data["kind"],
                choices=form.lines(),
            )
            messages.success(request, _("The field “%(name)s” is added.") % {"name": made.label})
            return redirect("collection_fields", uid)
        except (InvalidInput, Conflict) as error:
            show_refusal(form, error)
    context = {
        "collection": collection,
        "form": form,
        "rows": [(field, _uses(request, field)) for field in fields.fields_of(collection)],
        "removed": [(field, _uses(request, field)) for field in fields.removed_fields(collection)],
    }
    return render(request, "ingestion/collection_fields.html", context)


@policy(Access.OBJECT)
@get_or_post
def field_edit(request: PageRequest, uid: str, key: str) -> HttpResponse:
    """Another name, or other choices."""
    collection = _managed(request, uid)
    field = fields.get_field(collection, key)
    form = FieldForm.changing(field, request.POST if request.method == "POST" else None)
    if form.is_valid():
        choices = form.lines() if "choices" in form.fields else None
        try:
            fields.change_field(
                actor=request.principal, field=field, label=form.cleaned_data["label"], choices=choices
            )
            messages.success(request, _("Saved."))
            return redirect("collection_fields", uid)
        except (InvalidInput, Conflict) as error:
            show_refusal(form, error)
    context: dict[str, Any] = {"collection": collection, "field": field, "form": form}
    return render(request, "ingestion/field_edit.html", {**context, "uses": _uses(request, field)})


@policy(Access.OBJECT)
@require_POST
def field_remove(request: PageRequest, uid: str, key: str) -> HttpResponse:
    """Take the field out of use, or with `restore` bring it back. The values stay where they are."""
    collection = _managed(request, uid)
    field = fields.get_field(collection, key)
    if request.POST.get("restore"):
        try:
            fields.restore_field(actor=request.principal, field=field)
            messages.success(request, _("The field “%(name)s” is back.") % {"name": field.label})
        except Conflict as error:
            messages.error(request, str(error))
    else:
        fields.remove_field(actor=request.principal, field=field)
        text = _("The field “%(name)s” is removed. Documents keep their values; you can bring it back.")
        messages.success(request, text % {"name": field.label})
    return redirect("collection_fields", uid)
