"""External sources, for administrators: list, add, change, try, switch off, remove."""

import time
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.forms import show
from accounts.principals import principal_on
from ingestion.forms import DeleteForm
from kb_platform.errors import InvalidInput, KnowledgeBaseError, NotFound
from kb_platform.net.guard import forget
from kb_platform.net.safe_http import open_door
from kb_platform.policies import Access, policy
from kb_platform.toasts import toast
from retrieval.channels.external.asking import ask_source
from retrieval.channels.external.values import SourceKind
from retrieval.sources import selectors, services
from retrieval.sources.forms import GroupRows, SourceForm
from retrieval.sources.models import ExternalSource
from retrieval.values import clean_question

GET_OR_POST = ["GET", "HEAD", "POST"]
TRIED = 5


@policy(Access.ADMINISTRATOR)
@require_safe
def external_sources(request: HttpRequest) -> HttpResponse:
    rows = [selectors.shown(source) for source in selectors.all_sources()]
    return render(request, "retrieval/sources.html", {"rows": rows})


@policy(Access.ADMINISTRATOR)
@sensitive_post_parameters("secret")
@require_http_methods(GET_OR_POST)
def external_source_new(request: HttpRequest) -> HttpResponse:
    """First the kind, then what it asks for."""
    chosen = request.GET.get("kind", "")
    if chosen not in list(SourceKind):
        return render(request, "retrieval/source_kind.html", {"kinds": selectors.kinds()})
    kind = SourceKind(chosen)
    form = SourceForm(request.POST or None, kind=kind)
    rows = GroupRows(request.POST or None, None)
    if form.is_valid():
        try:
            source = services.create_source(actor=principal_on(request), wanted=form.wanted(rows.access()))
        except InvalidInput as error:
            show(form, services.for_form(error))
        else:
            toast(request, _("The source is added. Try it with a question."))
            return redirect("external_source", source.uid)
    context = {"form": form, "groups": rows.rows, "kind": ExternalSource.Kind(kind.value).label}
    return render(request, "retrieval/source_edit.html", context, status=400 if form.errors else 200)


@policy(Access.ADMINISTRATOR)
@sensitive_post_parameters("secret")
@require_http_methods(GET_OR_POST)
def external_source(request: HttpRequest, uid: str) -> HttpResponse:
    source = selectors.find_source(uid)
    form = SourceForm(request.POST or None, kind=SourceKind(source.kind), source=source)
    rows = GroupRows(request.POST or None, source)
    if form.is_valid():
        try:
            services.update_source(
                actor=principal_on(request), source=source, wanted=form.wanted(rows.access())
            )
        except InvalidInput as error:
            show(form, services.for_form(error))
        else:
            toast(request, _("Saved."))
            return redirect("external_source", source.uid)
    return _page(request, source, form, rows)


def _page(
    request: HttpRequest,
    source: ExternalSource,
    form: SourceForm,
    rows: GroupRows,
    tried: dict[str, Any] | None = None,
) -> HttpResponse:
    context = {
        "form": form,
        "groups": rows.rows,
        "kind": source.get_kind_display(),
        "source": source,
        "shown": selectors.shown(source),
        **(tried or {}),
    }
    return render(request, "retrieval/source_edit.html", context, status=400 if form.errors else 200)


@policy(Access.ADMINISTRATOR)
@require_POST
def external_source_try(request: HttpRequest, uid: str) -> HttpResponse:
    """Ask the source as it is stored, and say plainly what came."""
    source = selectors.find_source(uid)
    rows = GroupRows(None, source)
    tried: dict[str, Any] = {
        "question": request.POST.get("question", ""),
        "as_group": request.POST.get("as", ""),
    }
    try:
        tried |= _asked(source, tried["question"], tried["as_group"])
    except KnowledgeBaseError as error:
        tried["problem"] = " ".join(map(str, error.fields.values())) or str(error)
    return _page(request, source, SourceForm(kind=SourceKind(source.kind), source=source), rows, tried)


def _asked(source: ExternalSource, question: str, group: str) -> dict[str, Any]:
    """What the source gives; for a group, what its members would get. Raises KnowledgeBaseError."""
    text = clean_question(question, field_name="question")
    config = selectors.config_of(source, allowed=selectors.values_of_group(source, group))
    forget(config.target)  # whoever tries by hand wants to know it now
    begun = time.perf_counter()
    hits = ask_source(config, text, limit=TRIED, door=open_door())
    return {"hits": hits, "milliseconds": (time.perf_counter() - begun) * 1000, "is_tried": True}


@policy(Access.ADMINISTRATOR)
@require_POST
def external_source_switch(request: HttpRequest, uid: str) -> HttpResponse:
    source = selectors.find_source(uid)
    wanted = request.POST.get("active", "")
    if wanted not in ("0", "1"):
        raise NotFound()
    services.switch_source(actor=principal_on(request), source=source, is_active=wanted == "1")
    said = _("“%(name)s” is asked again.") if wanted == "1" else _("“%(name)s” is not asked any more.")
    toast(request, said % {"name": source.name})
    return redirect("external_sources")


@policy(Access.ADMINISTRATOR)
@require_http_methods(GET_OR_POST)
def external_source_delete(request: HttpRequest, uid: str) -> HttpResponse:
    source = selectors.find_source(uid)
    form = DeleteForm(request.POST or None, name=source.name)
    if form.is_valid():
        services.delete_source(actor=principal_on(request), source=source)
        toast(request, _("The source is removed."))
        return redirect("external_sources")
    context = {
        "title": _("Remove “%(name)s”?") % {"name": source.name},
        "text": _(
            "It is not asked any more, and answers that cite it are withdrawn. Its settings and its key are gone for good; to pause it, switch it off instead."
        ),
        "action": _("Remove source"),
        "back_url": reverse("external_source", args=[source.uid]),
        "crumb": source.name,
    }
    return render(request, "confirm.html", {**context, "form": form})
