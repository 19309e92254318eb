"""An answer as server-sent events: what they hold, and the responses that carry them. Needs ASGI.

stage {text}, delta {text} (together the answer's text), block {html} (a paragraph with its chips, in place of its
deltas), cites {citations}, done (the answer as the chat API gives it), error {code, text}.
"""

import time
from collections.abc import AsyncIterator, Callable, Collection
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync
from django.db import connection
from django.http import StreamingHttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.values import Principal
from kb_platform import trace
from kb_platform.errors import InvalidInput, NotFound
from retrieval.chat import service, streaming
from retrieval.chat.selectors import get_message, visible_message
from retrieval.chat.values import Progress, ShownMessage
from retrieval.filters import Filters
from retrieval.serializers import answer_json, citation_json
from retrieval.turns import block_of, paragraphs, sentences

CONTENT_TYPE = "text/event-stream"
LARGEST_NUMBER = 10**9
LONGEST_NUMBER = 10  # digits; int() refuses thousands of them
Content = tuple[str, dict[str, Any]]


def ask_and_follow(
    question: str,
    *,
    principal: Principal,
    conversation: str | None,
    filters: Filters | None,
    without: Collection[str] = (),
) -> StreamingHttpResponse:
    """Store the question, begin its answer apart from this request, and stream it.

    Raises InvalidInput and NotFound as `service.answer` does, before anything is stored or sent.
    """
    asked = service.ask(
        question, principal=principal, conversation=conversation, filters=filters, without=without
    )
    production = streaming.Production(
        uid=asked.message_uid,
        work=partial(_produce, asked),
        given_up=partial(_give_up, asked),
        language=translation.get_language() or "en",
        trace_id=trace.trace_id(),
    )
    try:
        async_to_sync(streaming.start)(production)
    except Exception:  # Valkey is down
        service.give_up(asked, is_stopped=False)
        raise
    rights = _rights(principal, asked.message_uid)
    events = streaming.follow(asked.message_uid, after=0, rights=rights, checked_at=time.monotonic())
    response = _response(events)
    response["X-Message"] = asked.message_uid
    response["X-Conversation"] = reverse("conversation", args=[asked.conversation_uid])
    return response


def resume(uid: str, *, principal: Principal, after: str) -> StreamingHttpResponse:
    """The events behind number `after` of an answer to one's own question. Raises NotFound for all others."""
    message = get_message(principal, uid)
    is_number = after.isascii() and after.isdigit() and len(after) <= LONGEST_NUMBER
    if not is_number or int(after) > LARGEST_NUMBER:
        raise InvalidInput(fields={"after": _("Give the number of the last event you have, or 0.")})
    uid = str(message.uid)
    return _response(streaming.follow(uid, after=int(after), rights=_rights(principal, uid)))


def stop(uid: str, *, principal: Principal) -> None:
    """End the answer to one's own question. Raises NotFound for all others; one that has ended stays as it is."""
    message = get_message(principal, uid)
    async_to_sync(streaming.stop)(str(message.uid))


def _response(events: AsyncIterator[bytes]) -> StreamingHttpResponse:
    if not connection.in_atomic_block:
        connection.close()  # else the request keeps it from the others for as long as the stream lasts
    response = StreamingHttpResponse(events, content_type=f"{CONTENT_TYPE}; charset=utf-8")
    response["Cache-Control"], response["X-Accel-Buffering"] = "no-store", "no"
    return response


async def _produce(asked: service.Asked, emit: streaming.Emit) -> None:
    ids = {"message": asked.message_uid, "conversation": asked.conversation_uid}
    await emit("stage", text=_("Searching…"), **ids)
    found = await streaming.in_thread(partial(service.find, asked))
    n = len(found.passages)
    said = ngettext("%(n)d passage found. Writing…", "%(n)d passages found. Writing…", n) % {"n": n}
    await emit("stage", text=said)
    for name, data in await streaming.in_thread(lambda: _contents(service.finish(asked, found))):
        await emit(name, **data)


async def _give_up(asked: service.Asked, code: str) -> None:
    mark = partial(service.give_up, asked, is_stopped=code == streaming.STOPPED)
    await streaming.in_thread(mark, is_brief=True)


def _contents(message: ShownMessage) -> list[Content]:
    """All events of a stored answer as it may be shown now."""
    contents: list[Content] = []
    for part in paragraphs(message.answer):
        contents += [("delta", {"text": text}) for text in sentences(part)]
        if not part.strip():
            continue
        html = render_to_string("retrieval/_answer_block.html", {"block": block_of(part, message)})
        contents.append(("block", {"html": html.strip()}))
    contents.append(("cites", {"citations": [citation_json(citation) for citation in message.citations]}))
    contents.append(("done", answer_json(message)))
    return contents


def _rights(principal: Principal, uid: str) -> streaming.Rights:
    language = translation.get_language() or "en"

    def in_language(read: Callable[[], Any]) -> Any:
        with translation.override(language):
            return read()

    def final() -> Content:
        try:
            message = visible_message(principal, get_message(principal, uid))
        except NotFound:
            return _error(streaming.GONE)
        if message.progress is Progress.COMPLETE:
            return "done", answer_json(message)
        return _error(streaming.GONE)

    def withdrawn() -> Content | None:
        try:
            message = visible_message(principal, get_message(principal, uid))
        except NotFound:  # deleted meanwhile
            return _error(streaming.GONE)
        return ("done", answer_json(message)) if message.withdrawn else None

    return streaming.Rights(
        final=partial(streaming.in_thread, partial(in_language, final), is_brief=True),
        withdrawn=partial(streaming.in_thread, partial(in_language, withdrawn), is_brief=True),
    )


def _error(code: str) -> Content:
    return "error", {"code": code, "text": streaming.ending_text(code)}
