"""How a collection's documents are cut: choosing it, trying it on one of them, and how far they have followed."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from accounts.permissions.visibility import require
from accounts.requests import PageRequest
from accounts.values import Permission
from ingestion import collection_chunking, rechunking, selectors
from ingestion.chunking.choices import SHAPE_NAMES, SHAPE_NOTES, Chunking, chosen, from_key, usual
from ingestion.embedding.registry import get_embedder
from ingestion.forms import show_refusal
from ingestion.models import Collection, Document
from kb_platform.errors import InvalidInput, NotFound
from kb_platform.policies import Access, policy

get_or_post = require_http_methods(["GET", "HEAD", "POST"])
OFFERED = 200  # documents to try it on
SIZES = ("target", "largest", "overlap")


class ChunkingForm(forms.Form):
    shape = forms.ChoiceField(label=gettext_lazy("Kind of documents"), choices=list(SHAPE_NAMES.items()))
    target = forms.IntegerField(label=gettext_lazy("Wished size"), required=False)
    largest = forms.IntegerField(label=gettext_lazy("Largest size"), required=False)
    overlap = forms.IntegerField(label=gettext_lazy("Overlap"), required=False)
    document = forms.ChoiceField(label=gettext_lazy("Try it on"), required=False)

    def __init__(self, *args: Any, documents: list[Document], most_tokens: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.most_tokens = most_tokens
        self.fields["document"].choices = [(str(row.uid), row.title) for row in documents]  # type: ignore[attr-defined]
        helps = {
            "target": _("In tokens; empty: the usual of the profile."),
            "largest": _("At most %(most)d: the embedding model in use reads no more.")
            % {"most": most_tokens},
            "overlap": _("Said again where a text had to be cut."),
        }
        for name, text in helps.items():
            self.fields[name].help_text = text

    def choice(self) -> Chunking:
        """Raises InvalidInput."""
        data = self.cleaned_data
        return chosen(
            shape=data["shape"], most_tokens=self.most_tokens, **{name: data[name] for name in SIZES}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedShape:
    value: str
    name: Any
    note: Any
    is_chosen: bool


@policy(Access.OBJECT)
@get_or_post
def collection_chunking_page(request: PageRequest, uid: str) -> HttpResponse:
    """The form; with `preview` what a document would look like, with `apply` the change."""
    collection = selectors.get_collection(request.principal, uid)
    require(request.principal, Permission.MANAGE, collection.scope_id)
    now = from_key(collection.chunking)
    form = ChunkingForm(
        request.POST or None,
        initial=_initial(now, request.GET.get("document", "")),
        documents=_offered(request, collection),
        most_tokens=get_embedder().max_tokens,
    )
    preview = None
    if form.is_valid():
        try:
            choice = form.choice()
            if "apply" in request.POST:
                return _applied(request, collection, choice)
            preview = _preview(request, collection, form.cleaned_data["document"], choice)
        except InvalidInput as error:
            show_refusal(form, error)
    chosen_shape = form["shape"].value()
    context = {
        "collection": collection,
        "form": form,
        "now": now,
        "shapes": [
            OfferedShape(value=shape, name=name, note=SHAPE_NOTES[shape], is_chosen=shape == chosen_shape)
            for shape, name in SHAPE_NAMES.items()
        ],
        "preview": preview,
        "progress": rechunking.progress_of(request.principal, collection),
        "was_polling": bool(request.htmx),
    }
    return render(request, "ingestion/collection_chunking.html", context)


def _initial(now: Chunking, document: str) -> dict[str, Any]:
    """The sizes are shown where they are not the usual ones."""
    sizes = {name: getattr(now, name) for name in SIZES}
    offered = usual(now.shape)
    changed = {name: size for name, size in sizes.items() if size != getattr(offered, name)}
    return {"shape": str(now.shape), "document": document, **changed}


def _offered(request: PageRequest, collection: Collection) -> list[Document]:
    """The documents changed last, and the one that the address or the form names."""
    rows = collection_chunking.previewable(request.principal, collection).order_by("-updated_at", "-id")
    offered = list(rows[:OFFERED])
    named = request.POST.get("document") or request.GET.get("document")
    if named and named not in {str(row.uid) for row in offered}:
        try:
            offered += rows.filter(uid=selectors.parse_uid(named))
        except NotFound:
            return offered
    return offered


def _preview(
    request: PageRequest, collection: Collection, document: str, choice: Chunking
) -> collection_chunking.Preview:
    if not document:
        raise InvalidInput(fields={"document": _("There is no document to try it on yet.")})
    return collection_chunking.preview(
        request.principal, collection, document, choice, embedder=get_embedder()
    )


def _applied(request: PageRequest, collection: Collection, choice: Chunking) -> HttpResponse:
    count = collection_chunking.change_chunking(actor=request.principal, collection=collection, choice=choice)
    text = ngettext(
        "Saved. %(n)s document is being cut anew.", "Saved. %(n)s documents are being cut anew.", count
    )
    messages.success(request, text % {"n": f"{count:,}"} if count else _("Saved."))
    return redirect("collection_chunking", collection.uid)


@policy(Access.OBJECT)
@require_POST
def chunking_retry(request: PageRequest, uid: str) -> HttpResponse:
    """Try again to cut the documents anew that were given up."""
    collection = selectors.get_collection(request.principal, uid)
    require(request.principal, Permission.MANAGE, collection.scope_id)
    rechunking.retry_failed(Document.objects.filter(collection=collection))
    return redirect("collection_chunking", uid)
