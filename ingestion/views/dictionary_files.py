"""Entries of the dictionary that come from a file, and all of them in one."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_safe

from accounts.requests import PageRequest
from ingestion.dictionary import selectors, services
from ingestion.dictionary.entries import MAX_FILE, Kind, decode, read_lines, write_csv, write_text
from ingestion.dictionary.selectors import Places
from ingestion.forms import show_refusal
from ingestion.models import Collection
from ingestion.views.dictionary import HEADINGS, PlacedForm, asked_places, initial
from kb_platform.errors import Conflict, InvalidInput, NotFound
from kb_platform.policies import Access, policy

get_or_post = require_http_methods(["GET", "HEAD", "POST"])
SHOWN_PROBLEMS = 20


class ImportForm(PlacedForm):
    file = forms.FileField(label=gettext_lazy("File (CSV or text)"), required=False)
    content = forms.CharField(
        label=gettext_lazy("Or type the entries, one to a line"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 10}),
    )

    def __init__(self, *args: Any, kind: Kind, places: Places, **kwargs: Any) -> None:
        super().__init__(*args, kind=kind, places=places, **kwargs)
        if kind is Kind.SYNONYMS:
            self.fields["content"].help_text = _(
                "“travel = business trip = 差旅” both ways, “P1 => major incident” one way, a weight after a semicolon."
            )

    def text(self) -> str:
        """What the file or the field holds. Raises InvalidInput."""
        file = self.cleaned_data["file"]
        if file is None:
            return str(self.cleaned_data["content"])
        if file.size > MAX_FILE:
            raise InvalidInput(fields={"file": _("The file is too large: at most 2 MB.")})
        return decode(file.read())


@policy(Access.SIGNED_IN)
@get_or_post
def entries_import(request: PageRequest, kind: str) -> HttpResponse:
    """First what each line would do, then with `save` the lines that can be read are added."""
    what, places = Kind(kind), selectors.places_of(request.principal)
    form = ImportForm(
        request.POST or None, request.FILES or None, kind=what, places=places, initial=initial(request)
    )
    found: dict[str, Any] = {}
    if form.is_valid():
        try:
            content, collection = form.text(), form.collection()
            found = _look_at(what, collection, content)
            if "save" in request.POST and found["fresh"]:
                done = services.import_entries(
                    actor=request.principal, kind=what, collection=collection, entries=found["fresh"]
                )
                text = ngettext("%(n)s entry is added.", "%(n)s entries are added.", done.added)
                messages.success(request, text % {"n": f"{done.added:,}"})
                return redirect(f"dictionary_{what}")
            form = ImportForm(
                initial={"place": form.cleaned_data["place"], "content": content}, kind=what, places=places
            )
        except (InvalidInput, Conflict) as error:
            show_refusal(form, error)
    context = {"kind": what, "heading": HEADINGS[what], "form": form, "found": found}
    return render(
        request, "ingestion/dictionary_import.html", {**context, "back_url": reverse(f"dictionary_{what}")}
    )


def _look_at(kind: Kind, collection: Collection | None, content: str) -> dict[str, Any]:
    """Entries that are new, how many are known, and the lines that cannot be used, with the reason."""
    lines = list(read_lines(kind, content))
    if not lines:
        raise InvalidInput(fields={"content": _("There is no entry in it yet.")})
    fresh = services.new_entries(kind, collection, [line.entry for line in lines if line.entry])
    contradictions = services.contradictions(kind, collection, fresh)
    problems = [
        (line.number, line.text, reason)
        for line in lines
        if (reason := line.problem or (line.entry and contradictions.get(services.identity(line.entry))))
    ]
    usable = [entry for entry in fresh if services.identity(entry) not in contradictions]
    return {
        "fresh": usable,
        "known": len(lines) - len(usable) - len(problems),
        "problems": problems[:SHOWN_PROBLEMS],
        "problem_count": len(problems),
    }


@policy(Access.SIGNED_IN)
@require_safe
def entries_export(request: PageRequest, kind: str) -> HttpResponse:
    """All entries of a place, or of all that the person manages, as CSV or with `as=text` as text."""
    what, places = Kind(kind), selectors.places_of(request.principal)
    form = request.GET.get("as", "csv")
    if form not in ("csv", "text"):
        raise NotFound()
    rows = selectors.entries_in(what, asked_places(places, request.GET.get("in", ""))).order_by("id")
    own = [selectors.entry_of(row) for row in rows]
    content = "\ufeff" + write_csv(what, own) if form == "csv" else write_text(own)
    suffix, media_type = ("csv", "text/csv") if form == "csv" else ("txt", "text/plain")
    return HttpResponse(
        content,
        content_type=f"{media_type}; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{what}.{suffix}"'},
    )
