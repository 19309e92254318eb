"""Pages of documents: the list with its upload form and processing tray, the detail page, and actions on one document."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.permissions.grants import grants_of
from accounts.permissions.visibility import require, visible_scopes
from accounts.requests import PageRequest
from accounts.values import Permission
from ingestion import selectors, services
from ingestion.forms import DeleteForm, DocumentForm, MoveForm, show_refusal
from ingestion.tray import tray_for
from ingestion.uploads import receive
from ingestion.views.sharing import sharing_rows
from kb_platform.errors import Conflict, InvalidInput
from kb_platform.policies import Access, policy
from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import LARGEST_FILE

get_or_post = require_http_methods(["GET", "HEAD", "POST"])
ROWS, CHUNKS = 25, 20
STATES = (
    ("live", gettext_lazy("Searchable")),
    ("partly_live", gettext_lazy("Partly searchable")),
    ("processing", gettext_lazy("Processing")),
    ("rejected", gettext_lazy("Rejected")),
    ("quarantined", gettext_lazy("Set aside")),
    ("archived", gettext_lazy("Archived")),
)


def _rights(request: PageRequest) -> dict[str, set[int]]:
    """The scopes the reader may contribute to and manage, for the actions each row offers."""
    return {
        "contributable": set(visible_scopes(request.principal, at_least=Permission.CONTRIBUTE)),
        "manageable": set(visible_scopes(request.principal, at_least=Permission.MANAGE)),
    }


@policy(Access.SIGNED_IN)
@require_safe
def documents(request: PageRequest) -> HttpResponse:
    """The list, filtered by the query string. htmx takes the parts it needs out of the same page."""
    filters = {name: request.GET.get(name, "") for name in ("collection", "state", "q")}
    visible = selectors.documents_for(request.principal)
    rows = selectors.filter_documents(
        visible, collection=filters["collection"], state=filters["state"], text=filters["q"]
    )
    context = {
        "page": Paginator(rows, ROWS).get_page(request.GET.get("page")),
        "visible_count": visible.count(),
        "collections": selectors.collections_for(request.principal),
        "targets": selectors.collections_for(request.principal, at_least=Permission.CONTRIBUTE),
        "tray": tray_for(request.principal),
    }
    shown = {"filters": filters, "filtered": any(filters.values()), "states": STATES}
    upload = {
        "chosen_target": filters["collection"],
        "max_upload_mb": store.get(LARGEST_FILE),
    }
    return render(request, "ingestion/documents.html", {**context, **shown, **upload, **_rights(request)})


@policy(Access.SIGNED_IN)
@require_safe
def processing_tray(request: PageRequest) -> HttpResponse:
    """The tray alone, polled. Tells the list to reload when something changed since `seen`."""
    tray = tray_for(request.principal)
    response = render(request, "ingestion/_tray.html", {"tray": tray})
    if request.GET.get("seen") != tray.fingerprint:
        response["HX-Trigger"] = "documents-changed"
    return response


@policy(Access.SIGNED_IN)
@require_POST
def document_upload(request: PageRequest) -> HttpResponse:
    collection = selectors.get_collection(request.principal, request.POST.get("collection", ""))
    received = receive(request.principal, collection, request.FILES.getlist("files"))
    for problem in received.problems:
        messages.error(request, problem)
    if received.accepted:
        text = ngettext("%(n)d file received.", "%(n)d files received.", received.accepted)
        messages.success(request, text % {"n": received.accepted})
    if received.unchanged:
        text = ngettext(
            "%(n)d file is the same as before and was left as it is.",
            "%(n)d files are the same as before and were left as they are.",
            received.unchanged,
        )
        messages.info(request, text % {"n": received.unchanged})
    return redirect(f"{reverse('documents')}?collection={collection.uid}")


@policy(Access.OBJECT)
@require_safe
def document(request: PageRequest, uid: str) -> HttpResponse:
    found = selectors.get_document(request.principal, uid)
    rights = _rights(request)
    may_manage = found.scope_id in rights["manageable"]
    context = {
        "document": found,
        "page": Paginator(selectors.chunks_of(found), CHUNKS).get_page(request.GET.get("page")),
        "versions": selectors.versions_of(found),
        "grants": sharing_rows(request.principal, grants_of(found.scope)) if may_manage else (),
        "follows_collection": found.scope_id == found.collection.scope_id,
        "may_edit": found.scope_id in rights["contributable"],
        "may_manage": may_manage,
        "was_polling": bool(request.htmx),
    }
    return render(request, "ingestion/document.html", {**context, **rights})


@policy(Access.OBJECT)
@get_or_post
def document_edit(request: PageRequest, uid: str) -> HttpResponse:
    found = selectors.get_document(request.principal, uid)
    require(request.principal, Permission.CONTRIBUTE, found.scope_id)
    form = DocumentForm(request.POST) if request.method == "POST" else DocumentForm.showing(found)
    if form.is_valid():
        try:
            services.update_document(actor=request.principal, document=found, attributes=form.attributes())
            messages.success(request, _("Saved."))
            return redirect("document", uid)
        except InvalidInput as error:
            show_refusal(form, error)
    context = {"title": _("Edit document"), "action": _("Save document"), "crumb": found.title}
    return render(
        request,
        "ingestion/form.html",
        {**context, "form": form, "back_url": reverse("document", args=[uid])},
    )


@policy(Access.OBJECT)
@get_or_post
def document_move(request: PageRequest, uid: str) -> HttpResponse:
    found = selectors.get_document(request.principal, uid)
    require(request.principal, Permission.MANAGE, found.scope_id)
    targets = selectors.collections_for(request.principal, at_least=Permission.CONTRIBUTE)
    form = MoveForm(request.POST or None, collections=list(targets.exclude(pk=found.collection_id)))
    if form.is_valid():
        target = selectors.get_collection(request.principal, form.cleaned_data["collection"])
        try:
            services.move_document(actor=request.principal, document=found, collection=target)
            messages.success(request, _("Moved. Who may see it changes with the next search."))
            return redirect("document", uid)
        except Conflict as error:
            show_refusal(form, error)
    context = {
        "title": _("Move document"),
        "action": _("Move document"),
        "crumb": found.title,
        "sub": _("It takes on the sharing of its new collection, unless it has a list of its own."),
    }
    return render(
        request,
        "ingestion/form.html",
        {**context, "form": form, "back_url": reverse("document", args=[uid])},
    )


@policy(Access.OBJECT)
@get_or_post
def document_delete(request: PageRequest, uid: str) -> HttpResponse:
    found = selectors.get_document(request.principal, uid)
    require(request.principal, Permission.MANAGE, found.scope_id)
    form = DeleteForm(request.POST or None, name=found.title)
    if form.is_valid():
        services.delete_document(actor=request.principal, document=found)
        messages.success(request, _("“%(name)s” is deleted.") % {"name": found.title})
        return redirect("documents")
    context = {
        "title": _("Delete “%(name)s”?") % {"name": found.title},
        "text": _(
            "The document, all its versions and its passages are removed from search and answers at once. "
            "Answers that cited it are withdrawn. This cannot be undone."
        ),
        "action": _("Delete document"),
        "crumb": _("Documents"),
        "back_url": reverse("document", args=[uid]),
    }
    return render(request, "confirm.html", {**context, "form": form})


@policy(Access.OBJECT)
@require_POST
def document_reparse(request: PageRequest, uid: str) -> HttpResponse:
    found = selectors.get_document(request.principal, uid)
    services.reparse_document(actor=request.principal, document=found)
    messages.success(request, _("The file is being read again. What is searchable stays so meanwhile."))
    return redirect("document", uid)


@policy(Access.OBJECT)
@require_POST
def document_archive(request: PageRequest, uid: str) -> HttpResponse:
    found = selectors.get_document(request.principal, uid)
    services.archive_document(actor=request.principal, document=found)
    messages.success(request, _("Archived. It is no longer searchable; “Read again” brings it back."))
    return redirect("document", uid)


@policy(Access.OBJECT)
@require_POST
def job_cancel(request: PageRequest, uid: str) -> HttpResponse:
    job = services.cancel_job(actor=request.principal, job=selectors.get_job(request.principal, uid))
    messages.success(request, _("Cancelled: %(name)s") % {"name": job.version.file_name})
    return redirect("documents")


@policy(Access.OBJECT)
@require_POST
def job_retry(request: PageRequest, uid: str) -> HttpResponse:
    job = services.retry_job(actor=request.principal, job=selectors.get_job(request.principal, uid))
    messages.success(request, _("Trying again: %(name)s") % {"name": job.version.file_name})
    return redirect("documents")
