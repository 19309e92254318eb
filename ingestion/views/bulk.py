"""Changes of many documents at once, their undo, and the trash.

A form names documents by their ids, or by the filters of the list for all that match. What can be taken back is done
at once; what costs or removes is confirmed on a page of its own, which posts the same form again.
"""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from accounts.requests import PageRequest
from accounts.values import Permission, Principal
from ingestion import bulk, selectors
from ingestion.bulk import BulkOutcome
from ingestion.facets import suggestions_for
from ingestion.fields import fields_by_key
from ingestion.forms import BulkMetadataForm, MoveForm, NumberForm, show_refusal
from ingestion.listing import ListQuery, matching_documents
from ingestion.models import Document
from ingestion.selectors import documents_for, parse_uid
from ingestion.templatetags.documents import change_text
from kb_platform.errors import InvalidInput, NotFound
from kb_platform.policies import Access, policy
from kb_platform.toasts import Undo, toast

Verb = Callable[..., BulkOutcome]
TRASH_ROWS = 50
AT_ONCE: dict[str, Verb] = {"archive": bulk.archive_documents, "restore": bulk.restore_documents}


@policy(Access.SIGNED_IN)
@require_POST
def document_bulk(request: PageRequest) -> HttpResponse:
    """Do `action` to the documents that the form names."""
    documents = chosen(request.principal, request.POST)
    action = request.POST.get("action", "")
    if not documents.exists():
        messages.error(request, _("Select at least one document first."))
        return redirect(back(request))
    if action in AT_ONCE:
        return _done(request, AT_ONCE[action](actor=request.principal, documents=documents))
    if action not in OTHERS:
        raise InvalidInput(_("Choose what to do with the documents."))
    return OTHERS[action](request, documents)


def chosen(principal: Principal, form: QueryDict) -> QuerySet[Document]:
    """The documents of a form as the principal sees them; an id that names nothing visible counts for nothing."""
    if form.get("all"):
        query = ListQuery.parse(QueryDict(form.get("query", "")[:4000]), principal)
        return matching_documents(principal, query)
    return documents_for(principal).filter(uid__in=chosen_uids(form.getlist("ids")))


def chosen_uids(texts: Sequence[str]) -> list[UUID]:
    uids = []
    for text in texts[: bulk.MOST]:
        try:
            uids.append(parse_uid(text))
        except NotFound:
            continue
    return uids


def back(request: PageRequest) -> str:
    """Where the form came from: the list with its filters, or a page of this site that it names."""
    if wanted := _own_page(request):
        return wanted
    query = ListQuery.parse(QueryDict(request.POST.get("query", "")[:4000]), request.principal)
    return f"{reverse('documents')}?{query.address}"


def _own_page(request: PageRequest) -> str:
    """The page of this site that the form names, as a path; nothing for whatever else it says."""
    wanted = request.POST.get("next", "")
    is_own = wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, {request.get_host()})
    return wanted if is_own else ""


def _done(request: PageRequest, outcome: BulkOutcome, text: str = "") -> HttpResponse:
    """Back to the list: with the offer to undo, or a sentence; and what was left alone, without saying which."""
    if outcome.refused:
        text_refused = ngettext(
            "%(n)d document was left as it is: you may not change it.",
            "%(n)d documents were left as they are: you may not change them.",
            outcome.refused,
        )
        messages.warning(request, text_refused % {"n": outcome.refused})
    if outcome.skipped:
        text_skipped = ngettext(
            "%(n)d document needed no change, or its place is taken.",
            "%(n)d documents needed no change, or their place is taken.",
            outcome.skipped,
        )
        messages.info(request, text_skipped % {"n": outcome.skipped})
    if text and outcome.changed:
        messages.success(request, text)
    offer_undo(request, outcome)
    return redirect(back(request))


def offer_undo(request: PageRequest, outcome: BulkOutcome) -> None:
    """Tell what was done, with the way back, on the page that is drawn next."""
    if outcome.change:
        undo = Undo(url=reverse("change_undo", args=[outcome.change.uid]))
        toast(request, change_text(outcome.change), undo=undo)


def _move(request: PageRequest, documents: QuerySet[Document]) -> HttpResponse:
    targets = selectors.collections_for(request.principal, at_least=Permission.CONTRIBUTE)
    typed = request.POST if "collection" in request.POST else None
    form = MoveForm(typed, collections=list(targets))
    if form.is_valid():
        target = selectors.get_collection(request.principal, form.cleaned_data["collection"])
        outcome = bulk.move_documents(actor=request.principal, documents=documents, collection=target)
        return _done(request, outcome)
    count = documents.count()
    title = ngettext("Move %(n)s document", "Move %(n)s documents", count) % {"n": f"{count:,}"}
    text = _(
        "They take on the sharing of the new collection, unless they have a list of their own. You can undo it."
    )
    return _confirm(request, "move", form, title=title, text=text, action_label=title)


def _reread(request: PageRequest, documents: QuerySet[Document]) -> HttpResponse:
    count = documents.count()
    if request.POST.get("confirmed") or count == 1:
        outcome = bulk.reread_documents(actor=request.principal, documents=documents)
        text = ngettext(
            "%(n)d document is being read again. What is searchable stays so meanwhile.",
            "%(n)d documents are being read again. What is searchable stays so meanwhile.",
            outcome.changed,
        )
        return _done(request, outcome, text % {"n": outcome.changed})
    title = ngettext("Read %(n)s document again", "Read %(n)s documents again", count) % {"n": f"{count:,}"}
    text = _(
        "Each file is read, split and embedded anew, behind the files that wait already. What is searchable stays so until its new version is ready."
    )
    return _confirm(request, "reread", None, title=title, text=text, action_label=title)


def _metadata(request: PageRequest, documents: QuerySet[Document]) -> HttpResponse:
    """The form, then how many documents it would change, then the change."""
    held = documents.order_by().values_list("collection", flat=True).distinct()
    fields = list(fields_by_key(held).values())
    typed = request.POST if "confirmed" in request.POST else None
    form = BulkMetadataForm(typed, fields=fields, suggestions=suggestions_for(request.principal))
    trial = None
    if form.is_valid():
        is_trial = "apply" not in request.POST
        try:
            outcome = bulk.change_metadata(
                actor=request.principal, documents=documents, change=form.change(), is_trial=is_trial
            )
        except InvalidInput as error:
            show_refusal(form, error)
        else:
            if not is_trial:
                return _done(request, outcome)
            trial = outcome
    count = documents.count()
    title = ngettext("Edit metadata of %(n)s document", "Edit metadata of %(n)s documents", count)
    context = {
        "title": title % {"n": f"{count:,}"},
        "form": form,
        "trial": trial,
        "kept": _kept(request),
        "back_url": back(request),
    }
    return render(request, "ingestion/bulk_metadata.html", context)


def _retry(request: PageRequest, documents: QuerySet[Document]) -> HttpResponse:
    outcome = bulk.retry_documents(actor=request.principal, documents=documents)
    text = ngettext("Trying %(n)d file again.", "Trying %(n)d files again.", outcome.changed)
    return _done(request, outcome, text % {"n": outcome.changed})


def _cancel(request: PageRequest, documents: QuerySet[Document]) -> HttpResponse:
    outcome = bulk.cancel_documents(actor=request.principal, documents=documents)
    text = ngettext("%(n)d file is cancelled.", "%(n)d files are cancelled.", outcome.changed)
    return _done(request, outcome, text % {"n": outcome.changed})


def _delete(request: PageRequest, documents: QuerySet[Document]) -> HttpResponse:
    count = documents.count()
    form = NumberForm(request.POST if "typed" in request.POST else None, number=count)
    if form.is_valid():
        return _done(request, bulk.delete_documents(actor=request.principal, documents=documents))
    title = ngettext("Delete %(n)s document", "Delete %(n)s documents", count) % {"n": f"{count:,}"}
    text = _(
        "They leave search, answers and lists at once, for everybody. You can bring them back from the trash for 30 days; then they are removed for good."
    )
    return _confirm(request, "delete", form, title=title, text=text, action_label=title)


OTHERS: dict[str, Callable[[PageRequest, QuerySet[Document]], HttpResponse]] = {
    "move": _move,
    "reread": _reread,
    "metadata": _metadata,
    "retry": _retry,
    "cancel": _cancel,
    "delete": _delete,
}


def _kept(request: PageRequest) -> list[tuple[str, str]]:
    """What names the documents, to be sent again by the page of a confirmation."""
    names = ("ids", "all", "query", "next")
    return [(name, value) for name in names for value in request.POST.getlist(name)]


def _confirm(request: PageRequest, action: str, form: Any, **words: str) -> HttpResponse:
    context = {
        "action": action,
        "form": form,
        "kept": _kept(request),
        "back_url": back(request),
        "danger": action == "delete",
        **words,
    }
    return render(request, "ingestion/bulk_confirm.html", context)


@policy(Access.OBJECT)
@require_POST
def change_undo(request: PageRequest, uid: str) -> HttpResponse:
    change = bulk.get_change(request.principal, uid)
    outcome = bulk.undo(actor=request.principal, change=change)
    text = ngettext("Undone for %(n)d document.", "Undone for %(n)d documents.", outcome.changed)
    toast(request, text % {"n": outcome.changed})
    return redirect(_own_page(request) or "documents")


@policy(Access.SIGNED_IN)
@require_safe
def trash(request: PageRequest) -> HttpResponse:
    """What was deleted within 30 days of what the reader manages now, whoever deleted it."""
    page = Paginator(bulk.trash_of(request.principal), TRASH_ROWS).get_page(request.GET.get("page"))
    return render(request, "ingestion/trash.html", {"page": page, "days": bulk.KEPT.days})


@policy(Access.SIGNED_IN)
@require_POST
def trash_change(request: PageRequest) -> HttpResponse:
    """Bring back, or after a confirmation remove for good, what the form chose of the trash."""
    documents = _chosen_trash(request)
    count = documents.count()
    if not count:
        messages.error(request, _("Select at least one document first."))
    elif "restore" in request.POST:
        outcome = bulk.undelete_documents(actor=request.principal, documents=documents)
        text = ngettext("%(n)d document brought back.", "%(n)d documents brought back.", outcome.changed)
        messages.success(request, text % {"n": outcome.changed})
    elif not request.POST.get("confirmed"):
        return _confirm_purge(request, count)
    else:
        outcome = bulk.purge_documents(actor=request.principal, documents=documents)
        text = ngettext(
            "%(n)d document removed for good.", "%(n)d documents removed for good.", outcome.changed
        )
        messages.success(request, text % {"n": outcome.changed})
    return redirect("document_trash")


def _chosen_trash(request: PageRequest) -> QuerySet[Document]:
    """The row whose own button was pressed, else the boxes; ids that name nothing open count for nothing."""
    trashed = bulk.trash_of(request.principal)
    one = request.POST.get("restore") or request.POST.get("purge")
    if request.POST.get("all") and not one:
        return trashed
    return trashed.filter(uid__in=chosen_uids([one] if one else request.POST.getlist("ids")))


def _confirm_purge(request: PageRequest, count: int) -> HttpResponse:
    one = request.POST.get("purge", "")
    kept = [(name, value) for name in ("ids", "all") for value in request.POST.getlist(name) if not one]
    title = ngettext("Remove %(n)d document for good?", "Remove %(n)d documents for good?", count)
    context = {
        "title": title % {"n": count},
        "text": _("It cannot be brought back after this: not from the trash, nor by anybody else."),
        "action": _("Remove for good"),
        "kept": [*kept, ("purge", one)],
        "back_url": reverse("document_trash"),
        "crumb": _("Trash"),
    }
    return render(request, "ingestion/purge_confirm.html", context)
