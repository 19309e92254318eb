"""The retrieval API: search, chat, feedback, conversations, traces. Parse, call one function, render."""

from typing import Any, TypeVar

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from accounts.values import Principal
from kb_platform.api import Pages
from kb_platform.policies import Access, policy
from retrieval import answer_stream
from retrieval.chat.selectors import conversations_for, get_conversation, get_message, messages_of
from retrieval.chat.service import answer, delete_conversation, give_feedback
from retrieval.pipeline import search
from retrieval.serializers import (
    ChatInput,
    FeedbackInput,
    SearchInput,
    answer_json,
    conversation_json,
    message_json,
    search_json,
    trace_json,
)
from retrieval.tracing import visible_trace


def _principal(request: Request) -> Principal:
    principal: Principal = request._request.principal  # type: ignore[attr-defined]
    return principal


class AnyAccept(DefaultContentNegotiation):
    """Errors are JSON whatever the client accepts: a stream is asked for in the body, or by the address."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> tuple[Any, str]:
        return renderers[0], renderers[0].media_type


Input = TypeVar("Input", bound=Serializer[Any])


def _checked(serializer: Input) -> Input:
    serializer.is_valid(raise_exception=True)
    return serializer


@policy(Access.SIGNED_IN, scope="search")
class SearchView(APIView):
    @extend_schema(request=SearchInput, responses=OpenApiTypes.OBJECT)
    def post(self, request: Request) -> Response:
        """The passages that fit a question best, of those open to you."""
        body = _checked(SearchInput(data=request.data))
        result = search(body.request(), principal=_principal(request))
        return Response(
            search_json(
                result,
                explain=body.validated_data["explain"],
                compress_to=body.validated_data.get("compress"),
            )
        )


@policy(Access.SIGNED_IN, scope="ask")
class ChatView(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(
        request=ChatInput,
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            (200, answer_stream.CONTENT_TYPE): str,
        },
    )
    def post(self, request: Request) -> HttpResponseBase:
        """An answer with numbered sources, or a refusal when the documents open to you hold none.

        With `stream` the answer comes as server-sent events: `stage`, `delta`, `block`, `cites`, and `done` with what
        a plain answer holds, or `error`. The header X-Message names the message, for taking the stream up again.
        """
        body = _checked(ChatInput(data=request.data))
        asked: dict[str, Any] = {
            "question": body.validated_data["question"],
            "principal": _principal(request),
            "conversation": body.validated_data.get("conversation"),
            "filters": body.conditions(),
            "without": body.taken_back(),
        }
        if body.validated_data["stream"]:
            return answer_stream.ask_and_follow(**asked)
        return Response(answer_json(answer(**asked)))


@policy(Access.OBJECT, scope="ask")
class MessageStreamView(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(
        parameters=[OpenApiParameter("after", int, description="The number of the last event you have")],
        responses={(200, answer_stream.CONTENT_TYPE): str},
    )
    def get(self, request: Request, uid: str) -> HttpResponseBase:
        """The events of an answer to your own question, behind `after` or the header Last-Event-ID."""
        after = request.query_params.get("after") or request.headers.get("Last-Event-ID") or "0"
        return answer_stream.resume(uid, principal=_principal(request), after=after)


@policy(Access.OBJECT, scope="ask")
class MessageStopView(APIView):
    @extend_schema(request=None, responses={202: None})
    def post(self, request: Request, uid: str) -> Response:
        """End the answer to your own question; its stream ends with an error `stopped`."""
        answer_stream.stop(uid, principal=_principal(request))
        return Response(status=202)


@policy(Access.OBJECT, scope="ask")
class FeedbackView(APIView):
    @extend_schema(request=FeedbackInput, responses=OpenApiTypes.OBJECT)
    def post(self, request: Request, uid: str) -> Response:
        """Say whether an answer to your own question helped."""
        message = get_message(_principal(request), uid)
        said = _checked(FeedbackInput(data=request.data)).validated_data
        feedback = give_feedback(message, principal=_principal(request), **said)
        return Response(
            {"message": uid, "vote": feedback.vote, "reason": feedback.reason, "comment": feedback.comment}
        )


@policy(Access.SIGNED_IN, scope="ask")
class ConversationsView(APIView):
    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request) -> Response:
        """Your own conversations, the latest first."""
        pages = Pages()
        page = pages.paginate_queryset(conversations_for(_principal(request)), request, view=self)
        return pages.get_paginated_response([conversation_json(conversation) for conversation in page or []])


@policy(Access.OBJECT, scope="ask")
class ConversationView(APIView):
    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, uid: str) -> Response:
        """One of your conversations with its messages; answers that cite what is no longer open are withdrawn."""
        conversation = get_conversation(_principal(request), uid)
        messages = messages_of(_principal(request), conversation)
        return Response(
            {**conversation_json(conversation), "messages": [message_json(message) for message in messages]}
        )

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: str) -> Response:
        """Remove one of your conversations."""
        principal = _principal(request)
        delete_conversation(get_conversation(principal, uid), principal=principal)
        return Response(status=204)


@policy(Access.OBJECT, scope="search")
class TraceView(APIView):
    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, trace_id: str) -> Response:
        """How one of your own searches went."""
        return Response(trace_json(visible_trace(_principal(request), trace_id)))
