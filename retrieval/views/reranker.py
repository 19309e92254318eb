"""Trying the reranker that is set: a question, some passages, and what the model makes of them."""

import time
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from kb_platform.errors import KnowledgeBaseError
from kb_platform.policies import Access, policy
from kb_platform.runtime_config import declarations as declared
from kb_platform.runtime_config import store
from retrieval.reranking.configured import reranker
from retrieval.values import MAX_QUERY_CHARACTERS, clean_question

MOST_PASSAGES, MOST_CHARACTERS = 20, 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    score: float
    passage: str


@policy(Access.ADMINISTRATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def reranker_try(request: HttpRequest) -> HttpResponse:
    question = request.POST.get("question", "")[: MAX_QUERY_CHARACTERS + 1]
    typed = request.POST.get("passages", "")[: MOST_PASSAGES * MOST_CHARACTERS]
    context: dict[str, object] = {
        "kind": declared.RERANKER.shown(store.get(declared.RERANKER)),
        "question": question or _("How often must the pump be checked?"),
        "passages": typed or "\n".join(_examples()),
    }
    if request.method == "POST":
        try:
            context |= _judge(question, typed)
        except KnowledgeBaseError as error:
            context["problem"] = " ".join(map(str, error.fields.values())) or str(error)
    return render(request, "retrieval/reranker_try.html", context)


def _examples() -> tuple[str, ...]:
    return (
        _("The pump is inspected every two weeks, and after each standstill."),
        _("The canteen serves two dishes at noon."),
        _("Pumps are ordered from the purchasing department."),
    )


def _judge(question: str, typed: str) -> dict[str, object]:
    """What the page shows. Raises KnowledgeBaseError with the sentence that says why there is nothing."""
    asked = clean_question(question, field_name="question")
    passages = [line.strip() for line in typed.replace("\x00", "").splitlines() if line.strip()]
    model = reranker()
    if model is None:
        return {"problem": _("No reranker is chosen. Choose one under Settings, Models.")}
    if not passages:
        return {"problem": _("Give at least one passage, each on a line of its own.")}
    begun = time.perf_counter()
    scores = model.scores(asked, passages[:MOST_PASSAGES])
    judged = [Judged(score=score, passage=text) for text, score in zip(passages, scores, strict=False)]
    return {
        "judged": sorted(judged, key=lambda one: -one.score),
        "milliseconds": (time.perf_counter() - begun) * 1000,
    }
