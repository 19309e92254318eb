"""Evaluation cases: questions with the passages that answer them, kept from a run, listed and exported with rights obeyed.

A case is seen by its maker, and by those who may read every passage of it. Quotes are told only as far as they are open now.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Prefetch, Q, QuerySet
from django.utils.translation import gettext as _

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion import selectors
from ingestion.models import IN_FORCE, VersionState
from kb_platform import audit
from kb_platform.errors import InvalidInput, NotFound
from retrieval.debugger.shapes import Row
from retrieval.evidence import is_chinese
from retrieval.models import CasePassage, EvaluationCase

MOST_NOTE = 500
READABLE = (*IN_FORCE, VersionState.SUPERSEDED)  # what is or has been in force


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCase:
    """passages: those open to the viewer. closed: how many of their own case are not."""

    case: EvaluationCase
    passages: tuple[CasePassage, ...]
    closed: int
    is_own: bool


def save_case(
    *, actor: Principal, question: str, kind: str, note: str, relevant: Sequence[Row]
) -> EvaluationCase:
    """Keep a question with the rows that answer it. Raises InvalidInput when kind and rows do not go together."""
    problems = {}
    if kind not in EvaluationCase.Kind.values:
        problems["kind"] = _("Choose one of the values offered.")
    if kind == EvaluationCase.Kind.UNANSWERABLE and relevant:
        problems["kind"] = _("A question with passages that answer it has an answer.")
    if kind != EvaluationCase.Kind.UNANSWERABLE and not relevant:
        problems["relevant"] = _("Mark at least one passage, or say that the question has no answer.")
    if len(note) > MOST_NOTE:
        problems["note"] = _("At most %(most)d characters.") % {"most": MOST_NOTE}
    if problems:
        raise InvalidInput(fields=problems)
    language = "zh" if is_chinese(question) else "en"
    with transaction.atomic():
        case = EvaluationCase.objects.create(
            question=question, language=language, kind=kind, note=note, created_by_id=actor.user_id
        )
        passages = [row.passage for row in relevant if row.passage]
        CasePassage.objects.bulk_create(
            CasePassage(
                case=case,
                document_id=passage.document_id,
                version_id=passage.version_id,
                first_element=passage.first_element,
                last_element=passage.last_element,
                quote=passage.text,
            )
            for passage in passages
        )
        audit.record(actor, "case.created", case)
    return case


def cases_for(principal: Principal) -> list[ShownCase]:
    """The latest first."""
    scopes = frozenset(visible_scopes(principal))
    return [_shown(case, principal, scopes) for case in _visible(principal)]


def delete_case(uid: str, *, actor: Principal) -> None:
    """Remove one's own case; for an administrator any that they see. Raises NotFound for all others."""
    found = _visible(actor).filter(uid=selectors.parse_uid(uid))
    case = (found if actor.is_administrator else found.filter(created_by_id=actor.user_id)).first()
    if case is None:
        raise NotFound()
    with transaction.atomic():
        audit.record(actor, "case.deleted", case)
        case.delete()


def export_lines(principal: Principal) -> Iterable[str]:
    """JSON lines as `evaluate_retrieval --queries` reads them. A case of which a passage is closed or gone is left out."""
    for shown in cases_for(principal):
        case = shown.case
        if shown.closed or (not shown.passages and case.kind != EvaluationCase.Kind.UNANSWERABLE):
            continue
        files = [passage.version.file_name for passage in shown.passages]
        line = {
            "query_id": str(case.uid),
            "text": case.question,
            "lang": case.language,
            "kind": case.kind,
            "relevant": list(dict.fromkeys(files)),
            "passages": [_as_json(passage) for passage in shown.passages],
        }
        yield json.dumps(line, ensure_ascii=False) + "\n"


def _as_json(passage: CasePassage) -> dict[str, str | int]:
    return {
        "document": str(passage.document.uid),
        "version": passage.version.number,
        "first_element": passage.first_element,
        "last_element": passage.last_element,
        "quote": passage.quote,
    }


def _visible(principal: Principal) -> QuerySet[EvaluationCase]:
    """Own ones, and those with passages all of which are open."""
    scopes = visible_scopes(principal)
    passages = CasePassage.objects.select_related("document", "version")
    closed = CasePassage.objects.exclude(_is_open(scopes)).values("case_id")
    shared = Q(passages__isnull=False) & ~Q(pk__in=closed)
    return (
        EvaluationCase.objects.filter(Q(created_by_id=principal.user_id) | shared)
        .select_related("created_by")
        .prefetch_related(Prefetch("passages", queryset=passages))
        .distinct()
    )


def _is_open(scopes: Sequence[int]) -> Q:
    return Q(document__scope_id__in=scopes, document__archived_at=None, version__state__in=READABLE)


def _shown(case: EvaluationCase, principal: Principal, scopes: Collection[int]) -> ShownCase:
    everything = list(case.passages.all())
    opened = tuple(
        passage
        for passage in everything
        if passage.document.scope_id in scopes
        and passage.document.archived_at is None
        and passage.version.state in READABLE
    )
    return ShownCase(
        case=case,
        passages=opened,
        closed=len(everything) - len(opened),
        is_own=case.created_by_id == principal.user_id,
    )
