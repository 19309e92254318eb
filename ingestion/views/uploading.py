"""Uploading: the form, a batch with its page, and the files that a script sends into it one by one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile as Incoming
from django.core.paginator import Paginator
from django.http import HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from accounts.permissions.visibility import require, scope_levels, visible_scopes
from accounts.requests import PageRequest
from accounts.selectors import group_name, groups
from accounts.values import GrantRequest, Holder, Permission, Principal
from ingestion import selectors, uploads
from ingestion.facets import suggestions_for
from ingestion.forms import Suggestions, UploadMetadataForm
from ingestion.models import Collection, MetadataField, UploadBatch, UploadedFile, Verdict
from ingestion.parsing.formats import ARCHIVES, MEDIA, NOT_READ, supported_labels
from ingestion.reasons import outcome_text
from ingestion.values import MAX_NAME
from kb_platform.errors import InvalidInput, KnowledgeBaseError, TooMany, Unavailable
from kb_platform.policies import Access, policy
from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import LARGEST_FILE

FILES = 50
BADLY_READ = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Where somebody may upload to. manageable: scopes; fields: own fields of the targets, among others."""

    targets: Sequence[Collection]
    manageable: set[int]
    fields: Iterable[MetadataField]
    suggestions: Suggestions

    def metadata_form(self, typed: QueryDict | None = None) -> UploadMetadataForm:
        return UploadMetadataForm(
            typed, targets=self.targets, fields=self.fields, suggestions=self.suggestions
        )


def upload_context(offer: Offer, chosen: str, typed: QueryDict | None = None) -> dict[str, Any]:
    """What the upload form needs. typed: a form that was refused, to be shown as it was."""
    return {
        "targets": offer.targets,
        "own_list_offered": any(row.scope_id in offer.manageable for row in offer.targets),
        "chosen_target": chosen,
        "metadata_form": offer.metadata_form(typed),
        "typed": typed or {},
        "max_upload_mb": store.get(LARGEST_FILE),
        "max_upload_bytes": store.get(LARGEST_FILE) * 1_000_000,
        "max_name": MAX_NAME,
        "supported": supported_labels(),
        "unsupported": " ".join(sorted(NOT_READ)),
        "media": " ".join(sorted(MEDIA)),
        "archives": " ".join(sorted(ARCHIVES)),
    }


def _offer(principal: Principal) -> Offer:
    levels = scope_levels(principal)
    open_to = [scope for scope, level in levels.items() if level in Permission.CONTRIBUTE.and_above]
    targets = list(Collection.objects.filter(scope_id__in=open_to).order_by("name"))
    return Offer(
        targets=targets,
        manageable={scope for scope, level in levels.items() if level is Permission.MANAGE},
        fields=MetadataField.objects.filter(collection__in=targets, removed_at=None),
        suggestions=suggestions_for(principal) if targets else {},
    )


@policy(Access.SIGNED_IN)
@require_http_methods(["GET", "HEAD", "POST"])
def document_upload(request: PageRequest) -> HttpResponse:
    """The form by itself; posted with files by a plain form, or without any by the script that sends them after."""
    if request.method == "POST":
        return _open(request)
    context = upload_context(_offer(request.principal), request.GET.get("collection", ""))
    return render(request, "ingestion/upload.html", context)


def _open(request: PageRequest) -> HttpResponse:
    scripted = request.headers.get("Accept", "").startswith("application/json")
    files = request.FILES.getlist("files")
    collection = selectors.get_collection(request.principal, request.POST.get("collection", ""))
    require(request.principal, Permission.CONTRIBUTE, collection.scope_id)
    offer = _offer(request.principal)
    try:
        if not files and not scripted:
            raise InvalidInput(_("Choose at least one file."))
        if request.POST.get("access") == "own":  # before anybody is looked up
            require(request.principal, Permission.MANAGE, collection.scope_id)
        batch = uploads.open_batch(
            actor=request.principal,
            collection=collection,
            grants=_wished_list(request.POST),
            change=offer.metadata_form(request.POST).change_for(collection),
        )
    except InvalidInput as error:
        if scripted:
            return JsonResponse({"problem": _in_words(error)}, status=error.status)
        context = upload_context(offer, str(collection.uid), request.POST)
        context["problem"] = _in_words(error)
        return render(request, "ingestion/upload.html", context, status=error.status)
    page = reverse("upload_batch", args=[batch.uid])
    if scripted:
        return JsonResponse({"page": page, "files": reverse("upload_file", args=[batch.uid])}, status=201)
    _add_files(request, batch, files)
    return redirect(page)


def _add_files(request: PageRequest, batch: UploadBatch, files: "Sequence[Incoming[Any]]") -> None:
    """The files of a plain form; what is left when there is no place for more is told."""
    for place, file in enumerate(files):
        try:
            uploads.add_file(actor=request.principal, batch=batch, file=file)
        except (TooMany, Unavailable) as later:
            if not place:
                raise
            left = len(files) - place
            text = ngettext("%(n)d file was not taken.", "%(n)d files were not taken.", left) % {"n": left}
            messages.error(request, f"{text} {later}")
            return


def _wished_list(form: QueryDict) -> list[GrantRequest] | None:
    """The list of their own that the new documents get: its readers by e-mail address or group name."""
    if form.get("access") != "own":
        return None
    typed = form.get("viewers", "").replace("\x00", "").replace("，", ",").replace("、", ",").split(",")
    names = dict.fromkeys(name.strip() for name in typed if name.strip())
    if len(names) > 50:
        raise InvalidInput(_("At most 50 people and groups here. Share with more once the files are in."))
    known = {group_name(group).casefold(): Holder.group(group.pk) for group in groups()}
    people = User.objects.filter(email__in=[name.lower() for name in names], is_active=True)
    known |= {user.email.casefold(): Holder.user(user.pk) for user in people}
    for name in names:
        if name.casefold() not in known:
            raise InvalidInput(
                _("Nobody is called “%(name)s”. Type an e-mail address or the name of a group.")
                % {"name": name}
            )
    holders = dict.fromkeys(known[name.casefold()] for name in names)
    return [GrantRequest(holder=holder, permission=Permission.VIEW) for holder in holders]


def _in_words(error: KnowledgeBaseError) -> str:
    return " ".join(str(reason) for reason in error.fields.values()) or str(error)


@policy(Access.OBJECT)
@require_POST
def upload_file(request: PageRequest, uid: str) -> HttpResponse:
    """One file into a batch, as a script sends them; says in JSON what became of it."""
    batch = uploads.get_batch(request.principal, uid)
    file = request.FILES.get("file")
    if file is None:
        return JsonResponse(
            {"outcome": "refused", "text": _("The file did not arrive. Try again.")}, status=400
        )
    path = request.POST.get("path", "").replace("\x00", "")
    try:
        entry = uploads.add_file(actor=request.principal, batch=batch, file=file, path=path)
    except (TooMany, Unavailable) as later:
        answer = JsonResponse({"outcome": "later", "text": str(later)}, status=later.status)
        answer["Retry-After"] = str(later.retry_after)
        return answer
    status = 422 if entry.outcome == UploadedFile.Outcome.REFUSED else 201
    text = outcome_text(entry, visible_scopes(request.principal))
    return JsonResponse({"outcome": entry.outcome, "text": text}, status=status)


@policy(Access.OBJECT)
@require_safe
def upload_batch(request: PageRequest, uid: str) -> HttpResponse:
    """What became of the files of a batch; polled while some are unfinished."""
    batch = uploads.get_batch(request.principal, uid)
    files = uploads.files_of(request.principal, batch)
    counts = uploads.count_files(files, batch)
    problems_only = request.GET.get("show") == "problems"
    shown = uploads.with_problems(files) if problems_only else files
    badly = files.filter(version__verdict__in=[Verdict.BADLY, Verdict.PARTLY])
    context = {
        "batch": batch,
        "counts": counts,
        "page": Paginator(uploads.unfinished_first(shown), FILES).get_page(request.GET.get("page")),
        "problems_only": problems_only,
        "badly_read": badly[:BADLY_READ],
        "not_taken": uploads.unfinished_first(uploads.not_taken(files))[:BADLY_READ],
        "copies": files.filter(same_as__isnull=False, same_as__scope_id__in=scope_levels(request.principal)),
        "was_polling": bool(request.htmx),
    }
    return render(request, "ingestion/batch.html", context)


@policy(Access.OBJECT)
@require_POST
def upload_retry(request: PageRequest, uid: str) -> HttpResponse:
    batch = uploads.get_batch(request.principal, uid)
    count = uploads.retry_failed(actor=request.principal, batch=batch)
    text = ngettext("Trying %(n)d file again.", "Trying %(n)d files again.", count) % {"n": count}
    return _back(request, batch, count, text)


@policy(Access.OBJECT)
@require_POST
def upload_cancel(request: PageRequest, uid: str) -> HttpResponse:
    batch = uploads.get_batch(request.principal, uid)
    count = uploads.cancel_unfinished(actor=request.principal, batch=batch)
    text = ngettext("%(n)d file is cancelled.", "%(n)d files are cancelled.", count) % {"n": count}
    return _back(request, batch, count, text)


def _back(request: PageRequest, batch: UploadBatch, count: int, text: str) -> HttpResponse:
    if count:
        messages.success(request, text)
    else:
        messages.info(request, _("There was nothing to do any more."))
    return redirect("upload_batch", batch.uid)
