"""The FAQ of a collection: its list, writing one pair, many at once, and taking over a CSV file."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.permissions.visibility import may, require
from accounts.requests import PageRequest
from accounts.values import Permission
from ingestion import bulk, selectors
from ingestion.bulk import BulkOutcome
from ingestion.faq import importing, services
from ingestion.faq.forms import ImportForm, PairForm
from ingestion.faq.importing import ACTION_WORDS, Action
from ingestion.faq.selectors import Narrowing, get_pair, page_of, pairs_for
from ingestion.forms import show_refusal
from ingestion.models import Collection, FaqPair
from ingestion.views.bulk import chosen_uids
from kb_platform.errors import Conflict, InvalidInput, NotFound
from kb_platform.policies import Access, policy
from kb_platform.toasts import Undo, toast

get_or_post = require_http_methods(["GET", "HEAD", "POST"])
LINES_SHOWN = 200
VERBS = {
    "archive": bulk.archive_documents,
    "restore": bulk.restore_documents,
    "delete": bulk.delete_documents,
}


@policy(Access.OBJECT)
@require_safe
def faq(request: PageRequest, uid: str) -> HttpResponse:
    """The pairs, narrowed by the query string; for readers to read, for contributors to change."""
    collection = selectors.get_collection(request.principal, uid)
    wanted = Narrowing(text=request.GET.get("q", "")[:300], state=request.GET.get("state", "")[:10])
    page = page_of(
        request.principal, pairs_for(request.principal, collection, wanted), request.GET.get("page")
    )
    context = {
        **_about(request, collection),
        "page": page,
        "q": wanted.text,
        "state": wanted.state,
        "is_filtered": bool(wanted.text or wanted.state),
        "states": (("", _("All")), ("valid", _("Valid")), ("invalid", _("Not valid"))),
    }
    return render(request, "ingestion/faq.html", context)


@policy(Access.OBJECT)
@get_or_post
def faq_new(request: PageRequest, uid: str) -> HttpResponse:
    collection = _writable(request, uid)
    form = PairForm(request.POST or None)
    if form.is_valid():
        try:
            services.add_pair(actor=request.principal, collection=collection, draft=form.draft())
            messages.success(request, _("The question is added. It is found as soon as it has been read in."))
            return redirect("faq", uid)
        except (InvalidInput, Conflict) as error:
            show_refusal(form, error)
    return render(request, "ingestion/faq_edit.html", {**_about(request, collection), "form": form})


@policy(Access.OBJECT)
@get_or_post
def faq_edit(request: PageRequest, uid: str, pair: str) -> HttpResponse:
    collection = _writable(request, uid)
    found = _pair(request, collection, pair)
    form = PairForm.changing(found, request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            services.change_pair(actor=request.principal, pair=found, draft=form.draft())
            messages.success(request, _("Saved. What was said before is no longer found."))
            return redirect("faq", uid)
        except (InvalidInput, Conflict) as error:
            show_refusal(form, error)
    return render(
        request, "ingestion/faq_edit.html", {**_about(request, collection), "form": form, "pair": found}
    )


@policy(Access.OBJECT)
@require_POST
def faq_bulk(request: PageRequest, uid: str) -> HttpResponse:
    """Do `action` to the pairs that the form names, or with `all` to all that its filters let through."""
    collection = selectors.get_collection(request.principal, uid)
    verb = VERBS.get(request.POST.get("action", ""))
    if verb is None:
        raise InvalidInput(_("Choose what to do with the questions."))
    wanted = Narrowing(text=request.POST.get("q", "")[:300], state=request.POST.get("state", "")[:10])
    pairs = pairs_for(request.principal, collection, wanted if request.POST.get("all") else None)
    if not request.POST.get("all"):
        pairs = pairs.filter(document__uid__in=chosen_uids(request.POST.getlist("ids")))
    documents = selectors.documents_for(request.principal).filter(pk__in=pairs.order_by().values("document"))
    if not documents.exists():
        messages.error(request, _("Select at least one question first."))
    else:
        _tell(request, request.POST["action"], verb(actor=request.principal, documents=documents))
    return redirect("faq", uid)


@policy(Access.OBJECT)
@get_or_post
def faq_import(request: PageRequest, uid: str) -> HttpResponse:
    """Choose a file; posted, it is read and looked at before anything is written."""
    collection = _writable(request, uid)
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        try:
            data = file.read(importing.MAX_BYTES + 1)
            kept = importing.read_file(
                actor=request.principal, collection=collection, name=file.name, data=data
            )
            return redirect("faq_import_check", uid, kept.uid)
        except InvalidInput as error:
            show_refusal(form, error)
    return render(request, "ingestion/faq_import.html", {**_about(request, collection), "form": form})


@policy(Access.OBJECT)
@get_or_post
def faq_import_check(request: PageRequest, uid: str, upload: str) -> HttpResponse:
    """What each line of a file would do; posted, what can be taken of it is written."""
    collection = _writable(request, uid)
    kept = importing.get_import(request.principal, upload)
    if kept.collection_id != collection.pk:
        raise NotFound()
    if request.method == "POST":
        _tell_taken(request, importing.take_over(actor=request.principal, kept=kept))
        return redirect("faq", uid)
    lines = importing.lines_of(kept)
    shown = sorted(lines, key=lambda line: line.action != Action.REFUSED)[:LINES_SHOWN]
    counts = [
        (action, ACTION_WORDS[action], sum(line.action == action for line in lines))
        for action in ACTION_WORDS
    ]
    context: dict[str, Any] = {
        "kept": kept,
        "lines": [(line, ACTION_WORDS[line.action]) for line in shown],
        "left_out": len(lines) - len(shown),
        "counts": counts,
        "takeable": sum(line.action in (Action.ADD, Action.CHANGE) for line in lines),
    }
    return render(request, "ingestion/faq_import.html", {**_about(request, collection), **context})


def _about(request: PageRequest, collection: Collection) -> dict[str, Any]:
    return {
        "collection": collection,
        "may_manage": may(request.principal, Permission.MANAGE, collection.scope_id),
        "may_contribute": may(request.principal, Permission.CONTRIBUTE, collection.scope_id),
    }


def _writable(request: PageRequest, uid: str) -> Collection:
    found = selectors.get_collection(request.principal, uid)
    require(request.principal, Permission.CONTRIBUTE, found.scope_id)
    return found


def _pair(request: PageRequest, collection: Collection, uid: str) -> FaqPair:
    found = get_pair(request.principal, uid)
    if found.document.collection_id != collection.pk:
        raise NotFound()
    require(request.principal, Permission.CONTRIBUTE, found.document.scope_id)
    return found


def _tell(request: PageRequest, action: str, outcome: BulkOutcome) -> None:
    count = outcome.changed
    sentences = {
        "archive": ngettext(
            "%(n)d question is no longer valid.", "%(n)d questions are no longer valid.", count
        ),
        "restore": ngettext("%(n)d question is valid again.", "%(n)d questions are valid again.", count),
        "delete": ngettext(
            "%(n)d question is deleted. It waits in the trash for 30 days.",
            "%(n)d questions are deleted. They wait in the trash for 30 days.",
            count,
        ),
    }
    if outcome.change:
        toast(
            request,
            sentences[action] % {"n": count},
            undo=Undo(url=reverse("change_undo", args=[outcome.change.uid])),
        )
    if outcome.refused:
        text = ngettext(
            "%(n)d question was left as it is: you may not change it.",
            "%(n)d questions were left as they are: you may not change them.",
            outcome.refused,
        )
        messages.warning(request, text % {"n": outcome.refused})
    if not outcome.change and not outcome.refused:
        messages.info(request, _("There was nothing to change."))


def _tell_taken(request: PageRequest, outcome: importing.Outcome) -> None:
    told = {"added": outcome.added, "changed": outcome.changed}
    messages.success(
        request,
        _("%(added)d added, %(changed)d changed. They are found as soon as they have been read in.") % told,
    )
    if outcome.refused:
        text = ngettext("%(n)d line could not be taken.", "%(n)d lines could not be taken.", outcome.refused)
        messages.warning(request, text % {"n": outcome.refused})
