"""The retrieval debugger: a form, runs that have an address, two runs side by side, and evaluation cases made from them.

For administrators and whoever manages something; each sees their own runs. `why` is a reader's view of their own search.
"""

from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from accounts.requests import PageRequest
from accounts.values import Principal
from ingestion import selectors
from kb_platform.errors import InvalidInput, KnowledgeBaseError
from kb_platform.policies import Access, policy
from kb_platform.toasts import toast
from retrieval.debugger import cases
from retrieval.debugger.asking import (
    conditions_text,
    knobs_in,
    read_asked,
    readable_generations,
    require_debugging,
)
from retrieval.debugger.comparing import side
from retrieval.debugger.knobs import Knob, present, with_values
from retrieval.debugger.running import compare, run
from retrieval.debugger.shapes import Candidates, candidates, funnel, told_by_channels, weights
from retrieval.debugger.timeline import timeline, window_of
from retrieval.debugger.used import used_by
from retrieval.models import EvaluationCase, SearchTrace
from retrieval.search_settings import current
from retrieval.tracing import ShownTrace, visible_trace
from retrieval.values import Mode

MOST_PEOPLE, RECENT = 200, 8


@policy(Access.SIGNED_IN)
@require_http_methods(["GET", "HEAD", "POST"])
def debugger(request: PageRequest) -> HttpResponse:
    """An empty form; a POST runs it and leads to the trace, or with `try` only takes over what was typed elsewhere."""
    require_debugging(request.principal)
    if request.method == "POST":
        knobs = knobs_in(request.POST)
        if "try" in request.POST:
            return _form_page(request, _form(request, request.POST, knobs) | {"opens_settings": True})
        return _run(request, knobs)
    return _form_page(request, _form(request, request.GET, present(current())))


def _run(request: PageRequest, knobs: list[Knob]) -> HttpResponse:
    try:
        asked = read_asked(request.POST, principal=request.principal, knobs=knobs)
        if "compare" not in request.POST:
            return redirect("debugger_trace", run(asked, principal=request.principal))
        if not asked.changed:
            raise InvalidInput(
                fields={"compare": _("Change a setting first: without one both sides are the same.")}
            )
        before, after = compare(asked, principal=request.principal)
    except KnowledgeBaseError as error:
        if error.status in (403, 404):
            raise
        form = _form(request, request.POST, knobs)
        refused = {knob.setting.name for knob in knobs if knob.error}  # those are named with their labels
        form["problems"] = {name: str(reason) for name, reason in error.fields.items() if name not in refused}
        form["problem"] = str(error)
        return _form_page(request, form, status=error.status)
    return redirect(f"{reverse('debugger_trace', args=[before])}?vs={after}")


def _form(request: PageRequest, typed: QueryDict, knobs: list[Knob]) -> dict[str, Any]:
    chosen = typed.getlist("collection")
    return {
        "q": typed.get("q", ""),
        "as": typed.get("as", ""),
        "mode": typed.get("mode", ""),
        "generation": typed.get("generation", ""),
        "chosen": chosen,
        "conditions": typed.get("conditions", ""),
        **_choices(request.principal, knobs),
    }


def _form_of(principal: Principal, trace: SearchTrace) -> dict[str, Any]:
    """The form that would make this run again."""
    changed = {name: trace.settings[name] for name in trace.changed if name in trace.settings}
    active = next(iter(readable_generations()), None)
    return {
        "q": trace.query,
        "as": trace.as_user.email if trace.as_user else "",
        "mode": trace.mode,
        "generation": "" if active and active.number == trace.generation else str(trace.generation),
        "chosen": trace.filters.get("collections", []),
        "conditions": conditions_text(trace.filters),
        **_choices(principal, with_values(current(), changed)),
    }


def _choices(principal: Principal, knobs: list[Knob]) -> dict[str, Any]:
    people = (
        User.objects.filter(is_active=True).order_by("name", "email") if principal.is_administrator else ()
    )
    return {
        "knobs": knobs,
        "changed_count": sum(knob.is_changed for knob in knobs),
        "has_refused_knob": any(knob.error for knob in knobs),
        "may_act": principal.is_administrator,
        "people": people[:MOST_PEOPLE],
        "generations": readable_generations(),
        "collections": selectors.collections_for(principal),
        "modes": (
            (Mode.HYBRID, _("Words and meaning")),
            (Mode.DENSE, _("Meaning only")),
            (Mode.LEXICAL, _("Words only")),
        ),
    }


def _form_page(request: PageRequest, form: dict[str, Any], *, status: int = 200) -> HttpResponse:
    recent = SearchTrace.objects.filter(user_id=request.principal.user_id).order_by("-created_at")
    if not request.principal.is_administrator:
        recent = recent.filter(as_user=None)
    context = {"form": form, "recent": recent.select_related("as_user")[:RECENT]}
    return render(request, "retrieval/debugger.html", context, status=status)


@policy(Access.OBJECT)
@require_safe
def debugger_trace(request: PageRequest, trace_id: str) -> HttpResponse:
    """One run, or with `vs` two of them side by side."""
    shown = _own_run(request.principal, trace_id)
    found = candidates(shown, principal=request.principal)
    context: dict[str, Any] = {
        "form": _form_of(request.principal, shown.trace),
        "shown": shown,
        "found": found,
    }
    if other_id := request.GET.get("vs"):
        other = _own_run(request.principal, other_id)
        return render(
            request, "retrieval/debugger_compare.html", context | _compared(request, shown, found, other)
        )
    window = window_of(shown.trace.spans, "recall")
    zoom = window if request.GET.get("zoom") else None
    notes = {
        str(column): str(sum(column in entry for entry in shown.candidates))
        for column in ("lexical", "dense")
    }
    context |= {
        **_explained(shown, found, everything=bool(request.GET.get("all"))),
        "window": window,
        "is_zoomed": zoom is not None,
        "timeline": timeline(
            shown.trace.spans, total_ms=shown.trace.timings_ms.get("total", 0.0), zoom=zoom, notes=notes
        ),
        "used": used_by(shown),
    }
    return render(request, "retrieval/debugger_trace.html", context)


def _own_run(principal: Principal, trace_id: str) -> ShownTrace:
    """Hidden, missing and not one's business look the same here."""
    shown = visible_trace(principal, trace_id)
    require_debugging(principal)
    return shown


def _explained(shown: ShownTrace, found: Candidates, *, everything: bool) -> dict[str, Any]:
    return {
        "funnel": funnel(shown, found),
        "rows": found.rows if everything else found.best,
        "is_everything": everything,
        "weights": weights(shown),
        "channels": told_by_channels(shown),
    }


def _compared(
    request: PageRequest, shown: ShownTrace, found: Candidates, other: ShownTrace
) -> dict[str, Any]:
    theirs = candidates(other, principal=request.principal)
    sides = [
        {"letter": letter, "shown": one, "rows": side(rows.rows, others.rows), "used": used_by(one)}
        for letter, one, rows, others in (("A", shown, found, theirs), ("B", other, theirs, found))
    ]
    form = _form_of(request.principal, other.trace)
    return {
        "form": form,
        "sides": sides,
        "other": other,
        "is_same_question": shown.trace.query == other.trace.query,
    }


@policy(Access.OBJECT)
@require_http_methods(["GET", "HEAD", "POST"])
def debugger_case(request: PageRequest, trace_id: str) -> HttpResponse:
    """Keep the question of a run, with the passages that answer it, as an evaluation case."""
    shown = _own_run(request.principal, trace_id)
    found = candidates(shown, principal=request.principal)
    context: dict[str, Any] = {"shown": shown, "rows": [row for row in found.best if row.passage]}
    context |= {"kinds": EvaluationCase.Kind.choices, "typed": {}, "marked": ()}
    if request.method == "POST":
        marked = request.POST.getlist("relevant")
        note, kind = request.POST.get("note", "").replace("\x00", "").strip(), request.POST.get("kind", "")
        relevant = [row for row in context["rows"] if row.key in marked]
        try:
            cases.save_case(
                actor=request.principal, question=shown.trace.query, kind=kind, note=note, relevant=relevant
            )
        except InvalidInput as error:
            context |= {"problem": error, "typed": {"kind": kind, "note": note}, "marked": marked}
            return render(request, "retrieval/debugger_case.html", context, status=error.status)
        toast(request, _("Saved as a test case."))
        return redirect("evaluation_cases")
    return render(request, "retrieval/debugger_case.html", context)


@policy(Access.SIGNED_IN)
@require_safe
def evaluation_cases(request: PageRequest) -> HttpResponse:
    require_debugging(request.principal)
    return render(request, "retrieval/evaluation_cases.html", {"cases": cases.cases_for(request.principal)})


@policy(Access.SIGNED_IN)
@require_safe
def evaluation_cases_export(request: PageRequest) -> HttpResponse:
    """JSON lines for `evaluate_retrieval --queries`."""
    require_debugging(request.principal)
    response = HttpResponse(
        cases.export_lines(request.principal), content_type="application/jsonl; charset=utf-8"
    )
    response["Content-Disposition"] = 'attachment; filename="cases.jsonl"'
    return response


@policy(Access.OBJECT)
@require_POST
def evaluation_case_delete(request: PageRequest, uid: str) -> HttpResponse:
    cases.delete_case(uid, actor=request.principal)
    toast(request, _("The test case was deleted."))
    return redirect("evaluation_cases")


@policy(Access.OBJECT)
@require_safe
def why(request: PageRequest, trace_id: str) -> HttpResponse:
    """How one's own search or answer found what it found, without the workings."""
    shown = visible_trace(request.principal, trace_id)
    found = candidates(shown, principal=request.principal)
    context = {"shown": shown, "found": found}
    everything = bool(request.GET.get("all"))
    return render(request, "retrieval/why.html", context | _explained(shown, found, everything=everything))
