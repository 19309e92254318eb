"""The ask page: one form, answers with numbered sources. Without scripts a question is a POST that redirects.

The script posts the same form to the same address, accepts text/event-stream, and takes the finished turn from `message`.
"""

from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.requests import PageRequest
from accounts.values import Principal
from ingestion import selectors
from kb_platform.errors import InvalidInput, KnowledgeBaseError
from kb_platform.policies import Access, policy
from retrieval import answer_stream
from retrieval.chat.selectors import get_conversation, get_message, messages_of, visible_message
from retrieval.chat.service import answer, give_feedback
from retrieval.examples import example_questions
from retrieval.filters import parse_filters
from retrieval.query.shown import taken_back
from retrieval.turns import REASONS, turns_of

get_or_post = require_http_methods(["GET", "HEAD", "POST"])


@policy(Access.SIGNED_IN)
@get_or_post
def ask(request: PageRequest) -> HttpResponseBase:
    """An empty page with a few questions to begin with; a POST asks in a new conversation."""
    if request.method == "POST":
        return _answered(request, conversation=None)
    return _page(request, examples=example_questions(request.principal))


@policy(Access.OBJECT)
@get_or_post
def conversation(request: PageRequest, uid: str) -> HttpResponseBase:
    current = get_conversation(request.principal, uid)
    if request.method == "POST":
        return _answered(request, conversation=uid)
    turns = turns_of(request.principal, messages_of(request.principal, current))
    return _page(request, conversation=current, turns=turns)


def _answered(request: PageRequest, conversation: str | None) -> HttpResponseBase:
    try:
        collections = _collections(request, conversation)
        asked: dict[str, Any] = {
            "question": request.POST.get("question", ""),
            "principal": request.principal,
            "conversation": conversation,
            "filters": parse_filters({}, collections=collections or None),
            "without": taken_back(request.POST.getlist("without")),
        }
        if _wants_stream(request):
            return answer_stream.ask_and_follow(**asked)
        answered = answer(**asked)
    except KnowledgeBaseError as error:
        return _refused(request, error, conversation)
    address = reverse("conversation", args=[answered.conversation_uid])
    return redirect(f"{address}#m-{answered.uid}")


def _collections(request: PageRequest, conversation: str | None) -> list[str]:
    """Where to look: as the form says, else where the conversation last looked."""
    if conversation and "collection" not in request.POST:
        return list(get_conversation(request.principal, conversation).collections)
    return [uid for uid in request.POST.getlist("collection") if uid]


def _wants_stream(request: PageRequest) -> bool:
    return request.headers.get("Accept", "").startswith(answer_stream.CONTENT_TYPE)


def _refused(request: PageRequest, error: KnowledgeBaseError, conversation: str | None) -> HttpResponse:
    """The question is kept, and a sentence says what to do about it."""
    named = isinstance(error, InvalidInput) and error.fields
    problem = " ".join(str(reason) for reason in error.fields.values()) if named else str(error)
    if _wants_stream(request):
        return render(request, "retrieval/_problem.html", {"problem": problem}, status=error.status)
    current = get_conversation(request.principal, conversation) if conversation else None
    turns = turns_of(request.principal, messages_of(request.principal, current)) if current else []
    return _page(request, conversation=current, turns=turns, problem=problem, status=error.status)


def _page(request: PageRequest, *, status: int = 200, **context: Any) -> HttpResponse:
    asked = request.POST or request.GET
    collections = selectors.collections_for(request.principal)
    document_count = _document_count(request.principal)
    kept = context["conversation"].collections if context.get("conversation") else []
    shown = {
        "question": asked.get("question", asked.get("q", "")),
        "chosen_collection": asked.get("collection", next(iter(kept), "")),
        "collections": collections,
        "document_count": document_count,
        "may_begin": request.principal.is_administrator and not document_count,
    }
    return render(request, "retrieval/ask.html", {**shown, **context}, status=status)


def _document_count(principal: Principal) -> int:
    """What the list of documents counts: a question of the FAQ is no document."""
    searchable = selectors.documents_for(principal).filter(
        active_version__isnull=False, archived_at=None, is_faq=False
    )
    return searchable.count()


@policy(Access.OBJECT)
@require_safe
def message(request: PageRequest, uid: str) -> HttpResponse:
    """One turn as it may be shown now, for the script: it stands where the streamed text stood."""
    shown = visible_message(request.principal, get_message(request.principal, uid))
    return render(request, "retrieval/_turn.html", {"turn": turns_of(request.principal, [shown])[0]})


@policy(Access.OBJECT)
@require_POST
def message_feedback(request: PageRequest, uid: str) -> HttpResponse:
    rated = get_message(request.principal, uid)
    vote, reason = request.POST.get("vote", ""), request.POST.get("reason", "")
    reason = reason if reason in REASONS else ""
    give_feedback(rated, principal=request.principal, vote=vote, reason=reason)
    address = reverse("conversation", args=[rated.conversation.uid])
    if request.htmx:
        context = {"uid": uid, "vote": vote, "reason": reason, "is_new": True}
        return render(request, "retrieval/_votes.html", context)
    return redirect(f"{address}#m-{uid}")
