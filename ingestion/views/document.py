"""One document: its tabs (content, versions, log), and what can be done to it."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import FileResponse, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.permissions.visibility import require, scope_levels
from accounts.requests import PageRequest
from accounts.values import Permission
from ingestion import bulk, families, files, selectors, services
from ingestion.corrections import lost_in
from ingestion.facets import suggestions_for
from ingestion.forms import DeleteForm, DocumentForm, MoveForm, OwnerForm, show_refusal
from ingestion.inspection import Place, content_of, durations_of, log_of
from ingestion.models import Document
from ingestion.views.bulk import offer_undo
from kb_platform.errors import Conflict, InvalidInput, NotFound
from kb_platform.policies import Access, policy

get_or_post = require_http_methods(["GET", "HEAD", "POST"])
VERSIONS, RUNS = 25, 5
PLACE = {"page", "chunk", "q", "show"}


def frame(request: PageRequest, uid: str, tab: str) -> dict[str, Any]:
    """The document and what every tab of it shows. Raises NotFound."""
    found = selectors.get_document(request.principal, uid)
    levels = scope_levels(request.principal)
    level = levels.get(found.scope_id, Permission.VIEW)
    return {
        "document": found,
        "tab": tab,
        "version_count": selectors.versions_of(request.principal, found).count(),
        "may_edit": level in Permission.CONTRIBUTE.and_above,
        "may_manage": level is Permission.MANAGE,
        "contributable": {found.scope_id} if level in Permission.CONTRIBUTE.and_above else set(),
        "manageable": {found.scope_id} if level is Permission.MANAGE else set(),
        "follows_collection": found.scope_id == found.collection.scope_id,
        "was_polling": bool(request.htmx),
    }


@policy(Access.OBJECT)
@require_safe
def document(request: PageRequest, uid: str) -> HttpResponse:
    """What it is and how it was read. Its chunks are a page of their own, which older addresses mean."""
    if PLACE & request.GET.keys():
        return redirect(f"{reverse('document_chunks', args=[uid])}?{request.GET.urlencode()}")
    context = frame(request, uid, "about")
    content = content_of(context["document"], parse_place(request.GET), may_edit=context["may_edit"])
    durations = durations_of(content.version) if content else []
    return render(request, "ingestion/document.html", {**context, "content": content, "durations": durations})


def parse_place(query: QueryDict) -> Place:
    """The place of the address; a number that is none counts as not given."""

    def number(name: str) -> int | None:
        text = query.get(name, "")
        return int(text) if selectors.is_number(text) else None

    chunk = number("chunk")
    return Place(
        page=number("page"),
        chunk=chunk - 1 if chunk else None,
        text=query.get("q", "").replace("\x00", "").strip()[:200],
        everything=query.get("show") == "all",
        list_page=query.get("p", ""),
    )


@policy(Access.OBJECT)
@require_safe
def document_versions(request: PageRequest, uid: str) -> HttpResponse:
    context = frame(request, uid, "versions")
    versions = selectors.versions_of(request.principal, context["document"])
    page = Paginator(versions, VERSIONS).get_page(request.GET.get("page"))
    return render(request, "ingestion/document_versions.html", {**context, "page": page})


@policy(Access.OBJECT)
@require_safe
def document_log(request: PageRequest, uid: str) -> HttpResponse:
    """Each step of the newest versions with its times, counts and reasons."""
    context = frame(request, uid, "log")
    versions = selectors.versions_of(request.principal, context["document"]).prefetch_related("events")
    page = Paginator(versions, RUNS).get_page(request.GET.get("page"))
    runs = [(version, log_of(version.events.all()), lost_in(version).count()) for version in page]
    return render(request, "ingestion/document_log.html", {**context, "page": page, "runs": runs})


@policy(Access.OBJECT)
@require_safe
def version_file(request: PageRequest, uid: str, number: int) -> FileResponse:
    """The original of any version: what has been in force for readers, anything for those who contribute."""
    found = selectors.get_document(request.principal, uid)
    version = selectors.versions_of(request.principal, found).filter(number=min(number, 2**31 - 1)).first()
    if version is None:
        raise NotFound()
    return files.attachment(version)


@policy(Access.OBJECT)
@require_POST
def version_restore(request: PageRequest, uid: str, number: int) -> HttpResponse:
    found = selectors.get_document(request.principal, uid)
    upload = services.restore_version(actor=request.principal, document=found, number=min(number, 2**31 - 1))
    text = _("Version %(old)d is being read again as version %(n)d. What is searchable stays so meanwhile.")
    messages.success(request, text % {"old": number, "n": upload.version.number})
    return redirect("document_versions", uid)


def _form_page(
    request: PageRequest, found: Document, form: forms.Form, *, title: str, action: str, sub: str = ""
) -> HttpResponse:
    """A form about one document on a page of its own."""
    context = {
        "title": title,
        "action": action,
        "sub": sub,
        "crumb": found.title,
        "form": form,
        "back_url": reverse("document", args=[found.uid]),
    }
    return render(request, "ingestion/form.html", context)


@policy(Access.OBJECT)
@get_or_post
def document_edit(request: PageRequest, uid: str) -> HttpResponse:
    found = selectors.get_document(request.principal, uid)
    require(request.principal, Permission.CONTRIBUTE, found.scope_id)
    typed = request.POST if request.method == "POST" else None
    form = DocumentForm(typed, document=found, suggestions=suggestions_for(request.principal))
    if form.is_valid():
        try:
            services.update_document(actor=request.principal, document=found, attributes=form.attributes())
            messages.success(request, _("Saved."))
            return redirect("document", uid)
        except InvalidInput as error:
            show_refusal(form, error)
    return _form_page(request, found, form, title=_("Edit document"), action=_("Save document"))


@policy(Access.OBJECT)
@get_or_post
def document_owner(request: PageRequest, uid: str) -> HttpResponse:
    found = selectors.get_document(request.principal, uid)
    require(request.principal, Permission.MANAGE, found.scope_id)
    now = {"owner": found.owner.email} if found.owner else {}
    form = OwnerForm(request.POST or None, initial=now)
    if form.is_valid():
        try:
            services.give_document(
                actor=request.principal, document=found, owner_email=form.cleaned_data["owner"]
            )
            messages.success(request, _("Saved."))
            return redirect("document", uid)
        except InvalidInput as error:
            show_refusal(form, error)
    sub = _("The owner answers for what the document says. Owning it gives no access by itself.")
    return _form_page(request, found, form, title=_("Change owner"), action=_("Change owner"), sub=sub)


@policy(Access.OBJECT)
@get_or_post
def document_move(request: PageRequest, uid: str) -> HttpResponse:
    found = selectors.get_document(request.principal, uid)
    require(request.principal, Permission.MANAGE, found.scope_id)
    if above := families.above(found):  # it goes where that goes
        return redirect("document_move", above[0].uid)
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
    sub = _("It takes on the sharing of its new collection, unless it has a list of its own.")
    return _form_page(request, found, form, title=_("Move document"), action=_("Move document"), sub=sub)


@policy(Access.OBJECT)
@get_or_post
def document_delete(request: PageRequest, uid: str) -> HttpResponse:
    found = selectors.get_document(request.principal, uid)
    require(request.principal, Permission.MANAGE, found.scope_id)
    form = DeleteForm(request.POST or None, name=found.title)
    if form.is_valid():
        outcome = bulk.delete_documents(actor=request.principal, documents=_alone(found))
        offer_undo(request, outcome)
        return redirect("documents")
    context = {
        "title": _("Delete “%(name)s”?") % {"name": found.title},
        "text": _(
            "It leaves search, answers and lists at once, for everybody; answers that cited it are withdrawn. You can bring it back from the trash for 30 days; then it is removed for good."
        ),
        "action": _("Delete document"),
        "crumb": _("Documents"),
        "back_url": reverse("document", args=[uid]),
    }
    return render(request, "confirm.html", {**context, "form": form})


def _alone(found: Document) -> QuerySet[Document]:
    return Document.objects.filter(pk=found.pk)


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
    """Archive it, or with `restore` bring it back. Either can be undone."""
    found = selectors.get_document(request.principal, uid)
    require(request.principal, Permission.MANAGE, found.scope_id)
    verb = bulk.restore_documents if request.POST.get("restore") else bulk.archive_documents
    outcome = verb(actor=request.principal, documents=_alone(found))
    offer_undo(request, outcome)
    return redirect("document", uid)


@policy(Access.OBJECT)
@require_POST
def job_cancel(request: PageRequest, uid: str) -> HttpResponse:
    job = services.cancel_job(actor=request.principal, job=selectors.get_job(request.principal, uid))
    messages.success(request, _("Cancelled: %(name)s") % {"name": job.version.file_name})
    return _after_job(request)


@policy(Access.OBJECT)
@require_POST
def job_retry(request: PageRequest, uid: str) -> HttpResponse:
    job = services.retry_job(actor=request.principal, job=selectors.get_job(request.principal, uid))
    messages.success(request, _("Trying again: %(name)s") % {"name": job.version.file_name})
    return _after_job(request)


def _after_job(request: PageRequest) -> HttpResponse:
    """Back to the batch that the form stood on, else to the list."""
    if batch := request.POST.get("batch"):
        try:
            return redirect("upload_batch", selectors.parse_uid(batch))
        except NotFound:
            pass
    return redirect("documents")
