"""The chunks of a document: beside its pages or text, with what people corrected, and the forms that correct them."""

from itertools import pairwise

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.permissions.visibility import require
from accounts.requests import PageRequest
from accounts.values import Permission
from ingestion import corrections, rechunking, selectors
from ingestion.embedding.registry import get_embedder
from ingestion.forms import show_refusal
from ingestion.inspection import content_of
from ingestion.models import Chunk, Correction, Document, Rechunking
from ingestion.views.document import frame, parse_place
from kb_platform.errors import Conflict, InvalidInput
from kb_platform.policies import Access, policy
from kb_platform.toasts import Undo, toast

get_or_post = require_http_methods(["GET", "HEAD", "POST"])
HISTORY = 10


class TextForm(forms.Form):
    text = forms.CharField(
        label=gettext_lazy("Text of the passage"),
        max_length=corrections.LONGEST_TEXT,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 14}),
    )


@policy(Access.OBJECT)
@require_safe
def document_chunks(request: PageRequest, uid: str) -> HttpResponse:
    """Chunks and where they come from, side by side."""
    context = frame(request, uid, "chunks")
    found = context["document"]
    content = content_of(found, parse_place(request.GET), may_edit=context["may_edit"])
    history = Paginator(corrections.history_of(found), HISTORY).get_page(request.GET.get("h"))
    is_current = content is not None and content.version.pk == found.active_version_id
    context |= {
        "content": content,
        "may_correct": context["may_edit"] and is_current,
        "history": history if context["may_edit"] else None,
        "lost": set(corrections.lost_in(content.version).values_list("pk", flat=True)) if content else set(),
        "rechunking": Rechunking.objects.filter(document=found).first(),
    }
    return render(request, "ingestion/chunks.html", context)


def _correctable(request: PageRequest, uid: str) -> Document:
    found = selectors.get_document(request.principal, uid)
    require(request.principal, Permission.CONTRIBUTE, found.scope_id)
    return found


def _chunk(found: Document, number: int) -> Chunk | None:
    """None for one that has been made anew since the page was drawn."""
    try:
        return corrections.get_chunk(found, number)
    except Conflict:
        return None


def _changed(request: PageRequest, found: Document, error: Conflict | None = None) -> HttpResponse:
    text = str(error) if error else _("The passages of this document have been made anew. Look at it again.")
    messages.warning(request, text)
    return redirect("document_chunks", found.uid)


def _back(found: Document, order: int) -> HttpResponse:
    return redirect(f"{reverse('document_chunks', args=[found.uid])}?chunk={order + 1}#c{order + 1}")


def _told(request: PageRequest, found: Document, correction: Correction, text: str) -> None:
    toast(request, text, undo=Undo(url=reverse("correction_undo", args=[found.uid, correction.uid])))


@policy(Access.OBJECT)
@get_or_post
def chunk_edit(request: PageRequest, uid: str, number: int) -> HttpResponse:
    """Correct the text of a chunk."""
    found = _correctable(request, uid)
    chunk = _chunk(found, number)
    if chunk is None and request.method != "POST":
        return _changed(request, found)
    form = TextForm(request.POST or None, initial={"text": corrections.own_text(chunk) if chunk else ""})
    if form.is_valid():
        try:
            correction = corrections.correct_text(
                actor=request.principal,
                document=found,
                chunk=number,
                text=form.cleaned_data["text"],
                counter=get_embedder(),
            )
            _told(request, found, correction, _("Corrected. Search uses the new text in a moment."))
            return _back(found, chunk.order if chunk else 0)
        except (InvalidInput, Conflict) as error:
            show_refusal(form, error)
    repeated = chunk.text[: chunk.own_from] if chunk else ""
    context = {"document": found, "chunk": chunk, "form": form, "repeated": repeated}
    return render(request, "ingestion/chunk_edit.html", context)


@policy(Access.OBJECT)
@get_or_post
def chunk_split(request: PageRequest, uid: str, number: int) -> HttpResponse:
    """Choose where to split a chunk: between two of its sentences, items or rows."""
    found = _correctable(request, uid)
    chunk = _chunk(found, number)
    if chunk is None:
        return _changed(request, found)
    problem = ""
    if request.method == "POST":
        at = request.POST.get("at", "")
        try:
            correction = corrections.split(
                actor=request.principal,
                document=found,
                chunk=chunk.pk,
                at=int(at) if selectors.is_number(at) else 0,
            )
            _told(request, found, correction, _("Split into two. Search uses them in a moment."))
            return _back(found, chunk.order)
        except InvalidInput as error:
            problem = str(error.fields.get("at", error))
        except Conflict as error:
            problem = str(error)
    context = {"document": found, "chunk": chunk, "pieces": _pieces(chunk), "problem": problem}
    return render(request, "ingestion/chunk_split.html", context, status=400 if problem else 200)


def _pieces(chunk: Chunk) -> list[tuple[str, int]]:
    """The chunk's own text in pieces, each with the place behind it; 0 behind the last."""
    text = corrections.own_text(chunk)
    places = corrections.split_places(chunk)
    bounds = [0, *places, len(text)]
    return [(text[start:end].strip(), end if end < len(text) else 0) for start, end in pairwise(bounds)]


@policy(Access.OBJECT)
@require_POST
def chunk_exclude(request: PageRequest, uid: str, number: int) -> HttpResponse:
    found = _correctable(request, uid)
    chunk = _chunk(found, number)
    try:
        correction = corrections.exclude(actor=request.principal, document=found, chunk=number)
    except Conflict as error:
        return _changed(request, found, error)
    _told(request, found, correction, _("Left out: no search finds this passage any more."))
    return redirect(
        f"{reverse('document_chunks', args=[found.uid])}?chunk={max(1, chunk.order if chunk else 1)}"
    )


@policy(Access.OBJECT)
@require_POST
def chunk_merge(request: PageRequest, uid: str, number: int) -> HttpResponse:
    found = _correctable(request, uid)
    chunk = _chunk(found, number)
    try:
        correction = corrections.merge(
            actor=request.principal, document=found, chunk=number, counter=get_embedder()
        )
    except Conflict as error:
        return _changed(request, found, error)
    _told(request, found, correction, _("Joined with the next. Search uses it in a moment."))
    return _back(found, chunk.order if chunk else 0)


@policy(Access.OBJECT)
@require_POST
def correction_undo(request: PageRequest, uid: str, correction: str) -> HttpResponse:
    found = _correctable(request, uid)
    try:
        corrections.undo(actor=request.principal, document=found, uid=correction)
    except Conflict as error:
        return _changed(request, found, error)
    toast(request, _("Undone. The passage is as the file has it in a moment."))
    return redirect("document_chunks", uid)


@policy(Access.OBJECT)
@require_POST
def rechunk_retry(request: PageRequest, uid: str) -> HttpResponse:
    """Try again to cut a document anew that was given up."""
    found = _correctable(request, uid)
    rechunking.retry_failed(Document.objects.filter(pk=found.pk))
    return redirect("document_chunks", uid)
