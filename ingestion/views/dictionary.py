"""The dictionary's pages: terms, synonyms and stop words, what a change would do, files in and out."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from accounts.requests import PageRequest
from ingestion.dictionary import recutting, selectors, services
from ingestion.dictionary.entries import (
    BOTH_WAYS,
    DEFAULT_WEIGHT,
    ONE_WAY,
    Entry,
    Group,
    Kind,
    Phrase,
    clean_group,
    clean_stop_word,
    clean_term,
    split_phrases,
)
from ingestion.dictionary.preview import preview_group, preview_stop_word, preview_term
from ingestion.dictionary.selectors import EVERYWHERE, Places
from ingestion.forms import show_refusal
from ingestion.models import Collection
from kb_platform.errors import Conflict, InvalidInput
from kb_platform.policies import Access, policy

get_or_post = require_http_methods(["GET", "HEAD", "POST"])
ROWS = 20
INPUT, SELECT = {"class": "in"}, {"class": "sel"}
ADDED = {
    Kind.TERMS: gettext_lazy(
        "“%(entry)s” is in the dictionary. It holds once the passages it concerns are cut anew."
    ),
    Kind.SYNONYMS: gettext_lazy("“%(entry)s” is in the dictionary. It holds from the next question on."),
    Kind.STOP_WORDS: gettext_lazy("“%(entry)s” is left out from the next question on."),
}
REMOVED = {
    Kind.TERMS: gettext_lazy(
        "“%(entry)s” is being removed. It holds until the passages it concerns are cut anew."
    ),
    Kind.SYNONYMS: gettext_lazy("“%(entry)s” is removed. It holds no more from the next question on."),
    Kind.STOP_WORDS: gettext_lazy("“%(entry)s” is removed. It counts again from the next question on."),
}
HEADINGS = {
    Kind.TERMS: gettext_lazy("Terms"),
    Kind.SYNONYMS: gettext_lazy("Synonyms"),
    Kind.STOP_WORDS: gettext_lazy("Stop words"),
}


class PlacedForm(forms.Form):
    """What is typed for one of the places that the person manages."""

    place = forms.ChoiceField(label=gettext_lazy("Applies to"), required=False, widget=forms.Select(SELECT))

    def __init__(self, *args: Any, kind: Kind, places: Places, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind, self.places = kind, places
        self.fields["place"].choices = place_choices(places)  # type: ignore[attr-defined]

    def collection(self) -> Collection | None:
        default = EVERYWHERE if self.places.everywhere else str(self.places.collections[0].uid)
        return selectors.find_place(self.places, self.cleaned_data["place"] or default)


class EntryForm(PlacedForm):
    """One entry as it is typed. What may be typed is decided by `entries`, so that nothing is cut off."""

    sample = forms.CharField(
        label=gettext_lazy("Try a sentence"),
        required=False,
        widget=forms.Textarea({**INPUT, "rows": 2, "form": "entry"}),
    )

    def __init__(self, *args: Any, kind: Kind, places: Places, **kwargs: Any) -> None:
        super().__init__(*args, kind=kind, places=places, **kwargs)
        if kind is Kind.SYNONYMS:
            label = _("Phrases, separated by commas")
            self.fields["phrases"] = forms.CharField(
                label=label, required=False, widget=forms.TextInput({**INPUT, "placeholder": label})
            )
            self.fields["direction"] = forms.ChoiceField(
                label=_("Direction"),
                required=False,
                widget=forms.Select(SELECT),
                choices=[(BOTH_WAYS, _("Both ways")), (ONE_WAY, _("One way: the first finds the others"))],
            )
            self.fields["weight"] = forms.CharField(
                label=_("Weight"),
                required=False,
                widget=forms.TextInput({"class": "in in-d", "inputmode": "decimal"}),
            )
            self.fields["sample"].label = _("Try a question")
        else:
            label = _("New term") if kind is Kind.TERMS else _("New stop word")
            if kind is Kind.STOP_WORDS:
                self.fields["sample"].label = _("Try a question")
            self.fields["text"] = forms.CharField(
                label=label, required=False, widget=forms.TextInput({**INPUT, "placeholder": label})
            )

    def entry(self) -> Entry:
        """Raises InvalidInput."""
        data = self.cleaned_data
        if self.kind is Kind.SYNONYMS:
            return clean_group(
                split_phrases(data["phrases"]), one_way=data["direction"] == ONE_WAY, weight=data["weight"]
            )
        clean = clean_term if self.kind is Kind.TERMS else clean_stop_word
        return clean(data["text"])


def place_choices(places: Places) -> list[tuple[str, Any]]:
    everywhere = [(EVERYWHERE, _("All collections"))] if places.everywhere else []
    return [*everywhere, *((str(collection.uid), collection.name) for collection in places.collections)]


@policy(Access.SIGNED_IN)
@get_or_post
def entries(request: PageRequest, kind: str) -> HttpResponse:
    """The list with a form; posted with `save` the entry is added, else what it would do is shown."""
    what, places = Kind(kind), selectors.places_of(request.principal)
    form = EntryForm(request.POST or None, kind=what, places=places, initial=initial(request))
    preview = None
    if form.is_valid():
        try:
            entry, collection = form.entry(), form.collection()
            if "save" in request.POST:
                row = services.add_entry(
                    actor=request.principal, kind=what, collection=collection, entry=entry
                )
                messages.success(request, ADDED[what] % {"entry": row})
                return redirect(_address(what, request))
            preview = _preview(request, what, collection, entry, sample=form.cleaned_data["sample"])
        except (InvalidInput, Conflict) as error:
            show_refusal(form, error)
    return render(request, "ingestion/dictionary.html", _context(request, what, places, form, preview))


def initial(request: PageRequest) -> dict[str, Any]:
    return {"place": request.GET.get("in", ""), "direction": BOTH_WAYS, "weight": f"{DEFAULT_WEIGHT:g}"}


def _context(
    request: PageRequest, kind: Kind, places: Places, form: EntryForm, preview: Any
) -> dict[str, Any]:
    asked, text = request.GET.get("in", ""), request.GET.get("q", "")[:200]
    rows = selectors.entries_in(kind, asked_places(places, asked), text)
    page = Paginator(rows, ROWS).get_page(request.GET.get("page"))
    return {
        "kind": kind,
        "heading": HEADINGS[kind],
        "import_url": reverse(f"dictionary_{kind}_import"),
        "export_url": reverse(f"dictionary_{kind}_export"),
        "edit_route": f"dictionary_{kind}_edit",
        "remove_route": f"dictionary_{kind}_remove",
        "tabs": _tabs(places, kind),
        "places": place_choices(places),
        "asked": asked,
        "text": text,
        "page": page,
        "rows": list(zip(page, _chunk_counts(request, kind, list(page)), strict=True)),
        "form": form,
        "preview": preview,
        "progress": recutting.progress(places.ids) if kind is Kind.TERMS else None,
        "was_polling": bool(request.htmx),
    }


def _tabs(places: Places, current: Kind) -> list[dict[str, Any]]:
    return [
        {
            "url": reverse(f"dictionary_{kind}"),
            "label": HEADINGS[kind],
            "count": selectors.entries_in(kind, places.ids).count(),
            "current": kind is current,
        }
        for kind in Kind
    ]


def asked_places(places: Places, asked: str) -> list[int | None]:
    """All that the person manages, or the one asked for; another names nothing."""
    if not asked:
        return places.ids
    collection = selectors.find_place(places, asked)
    return [collection.pk if collection else None]


def _chunk_counts(request: PageRequest, kind: Kind, rows: list[Any]) -> list[int]:
    """In how many chunks that the person may read each entry stands."""
    if kind is Kind.TERMS:
        counted = selectors.counts(request.principal, [row.key for row in rows])
        return [counted.get(row.key, 0) for row in rows]
    keys = [row.keys if kind is Kind.SYNONYMS else [row.key] for row in rows]
    return selectors.count_phrases(request.principal, [row.collection_id for row in rows], keys)


def _preview(
    request: PageRequest,
    kind: Kind,
    collection: Collection | None,
    entry: Entry,
    *,
    sample: str,
    former: Phrase | None = None,
) -> dict[str, Any]:
    """former: the term that the entry takes the place of."""
    who = request.principal
    if isinstance(entry, Group):
        group = preview_group(who, collection=collection, group=entry, question=sample)
        return {"group": entry, "result": group}
    if kind is Kind.STOP_WORDS:
        word = preview_stop_word(who, collection=collection, phrase=entry, question=sample)
        return {"phrase": entry, "result": word}
    shown = preview_term(who, collection=collection, phrase=entry, text=sample, without=former)
    return {"phrase": entry, "result": shown}


def _address(kind: Kind, request: PageRequest) -> str:
    """The list as it was being looked at."""
    kept = {name: request.GET[name] for name in ("in", "q") if request.GET.get(name)}
    return reverse(f"dictionary_{kind}") + (f"?{urlencode(kept)}" if kept else "")


@policy(Access.OBJECT)
@get_or_post
def entry_edit(request: PageRequest, kind: str, uid: str) -> HttpResponse:
    """Another entry in the place of one; what it would do is shown before it is saved."""
    what, row = Kind(kind), selectors.get_entry(request.principal, Kind(kind), uid)
    places = selectors.places_of(request.principal)
    form = EntryForm(request.POST or None, kind=what, places=places, initial=_as_typed(row))
    del form.fields["place"]
    preview = None
    if form.is_valid():
        try:
            entry = form.entry()
            if "save" in request.POST:
                services.change_entry(actor=request.principal, kind=what, row=row, entry=entry)
                messages.success(request, _("Saved."))
                return redirect(f"dictionary_{what}")
            former = selectors.entry_of(row)
            preview = _preview(
                request,
                what,
                row.collection,
                entry,
                sample=form.cleaned_data["sample"],
                former=former if isinstance(former, Phrase) else None,
            )
        except (InvalidInput, Conflict) as error:
            show_refusal(form, error)
    context = {"kind": what, "row": row, "form": form, "preview": preview, "back": HEADINGS[what]}
    return render(
        request, "ingestion/dictionary_edit.html", {**context, "back_url": reverse(f"dictionary_{what}")}
    )


def _as_typed(row: Any) -> dict[str, Any]:
    entry = selectors.entry_of(row)
    if isinstance(entry, Group):
        return {
            "phrases": ", ".join(phrase.text for phrase in entry.phrases),
            "direction": ONE_WAY if entry.one_way else BOTH_WAYS,
            "weight": f"{entry.weight:g}",
        }
    return {"text": entry.text}


@policy(Access.OBJECT)
@get_or_post
def entry_remove(request: PageRequest, kind: str, uid: str) -> HttpResponse:
    """What taking it away means, and when posted doing it."""
    what, row = Kind(kind), selectors.get_entry(request.principal, Kind(kind), uid)
    back = reverse(f"dictionary_{what}")
    if request.method == "POST":
        services.remove_entry(actor=request.principal, kind=what, row=row)
        messages.success(request, REMOVED[what] % {"entry": row})
        return redirect(back)
    context = {
        "title": _("Remove “%(entry)s”") % {"entry": row},
        "text": _consequence(request, what, row),
        "action": _("Remove “%(entry)s”") % {"entry": row},
        "back_url": back,
        "crumb": HEADINGS[what],
    }
    return render(request, "confirm.html", context)


def _consequence(request: PageRequest, kind: Kind, row: Any) -> str:
    if kind is not Kind.TERMS:
        return str(
            _("Questions no longer find one by the other.")
            if kind is Kind.SYNONYMS
            else _("Questions are searched for this word again.")
        )
    gone = Phrase(text=row.text, key=row.key)
    seen = preview_term(
        request.principal, collection=row.collection, phrase=None, text=row.text, without=gone
    ).concerned
    if seen is None:
        return _("The passages that hold it are cut anew in the background. Its parts stay searchable.")
    counted = {"n": f"{seen.chunks:,}", "documents": f"{seen.documents:,}"}
    return (
        ngettext(
            "%(n)s passage that you can read is cut anew in the background (documents: %(documents)s). Its parts stay searchable.",
            "%(n)s passages that you can read are cut anew in the background (documents: %(documents)s). Its parts stay searchable.",
            seen.chunks,
        )
        % counted
    )


@policy(Access.SIGNED_IN)
@require_POST
def retry(request: PageRequest) -> HttpResponse:
    """Go on with bringing terms into force after it was given up."""
    selectors.places_of(request.principal)
    recutting.retry()
    return redirect("dictionary_terms")
