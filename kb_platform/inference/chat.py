"""Chat models behind any OpenAI-compatible server: `POST /chat/completions` with `stream`, read as it comes.

vLLM, Ollama, llama.cpp, DeepSeek, Qwen and OpenAI speak it. Through the one door, with a deadline for each wait: connection,
first sign of life, silence between two pieces, the whole. What counts as a sign is a piece of the answer (or of the model's
reasoning, which is left out), never a byte: a server that trickles is a silent one. Nothing is tried again here; who asks
may, as long as no piece has come. Closing the iterator closes the connection, and with it the work over there.
"""

import json
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext_lazy as _

from kb_platform.inference.reasoning import ReasoningFilter
from kb_platform.net.errors import (
    AnswerTooLarge,
    BadAnswer,
    BadStatus,
    Late,
    OutboundError,
    Unreachable,
)
from kb_platform.net.safe_http import Call, Door, joined
from kb_platform.net.safe_stream import OpenAnswer, open_stream

MOST_CHARACTERS = 200_000  # of one answer
MOST_LINE_BYTES = 1_000_000


class Stalled(OutboundError):
    """The answer began and then nothing more came in time."""

    code = "stalled"
    message = _("The model stopped in the middle of its answer.")


class BrokenOff(OutboundError):
    """The connection ended before the answer did."""

    code = "broken_off"
    message = _("The connection to the model broke in the middle of its answer.")


class EmptyAnswer(OutboundError):
    code, is_retryable = "empty_answer", True
    message = _("The model gave an empty answer.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Seconds. connect_s: until the connection stands. first_s: from the request to the first sign of life.

    stall_s: between two of them. total_s: for everything.
    """

    connect_s: float = 5.0
    first_s: float = 30.0
    stall_s: float = 20.0
    total_s: float = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatServer:
    """url: of the API, such as https://api.example.com/v1. key: in clear; it is sent as a bearer token."""

    url: str
    model: str
    door: Door
    key: str = field(default="", repr=False)
    deadlines: Deadlines = field(default_factory=Deadlines)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """role: system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the server counted them; None where it did not say."""

    prompt: int | None = None
    answer: int | None = None


@dataclass(slots=True, kw_only=True)
class ChatEnd:
    """How an answer ended: filled in while it is read. finish: "stop", "length", … or "" where the server did not say."""

    finish: str = ""
    usage: Usage = field(default_factory=Usage)


async def stream_chat(
    server: ChatServer,
    messages: Sequence[ChatMessage],
    *,
    most_tokens: int,
    temperature: float = 0.0,
    end: ChatEnd | None = None,
) -> AsyncGenerator[str, None]:
    """The pieces of the answer's text, none of them empty.

    Raises OutboundError: before the first piece nothing was said, after it what was said stands. Tool calls are not
    offered, and those that come all the same are left out.
    """
    end = end if end is not None else ChatEnd()
    clock = _Clock(server.deadlines)
    body = json.dumps(
        {
            "model": server.model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": most_tokens,
            "temperature": temperature,
        }
    ).encode()
    said = 0
    reasoning = ReasoningFilter()
    async for delta in _deltas(server, body, clock, end):
        if piece := reasoning.feed(delta):
            said += len(piece)
            if said > MOST_CHARACTERS:
                raise AnswerTooLarge()
            yield piece
    if rest := reasoning.rest():
        said += len(rest)
        yield rest
    if not said:
        raise EmptyAnswer()


@dataclass(slots=True)
class _Clock:
    """How long the next wait may last. sign: when the model last showed that it is at work."""

    deadlines: Deadlines
    begun: float = field(default_factory=time.monotonic)
    sign: float | None = None

    def alive(self) -> None:
        self.sign = time.monotonic()

    def until(self) -> float:
        """Until when the next wait may last, by `time.monotonic`."""
        limit = self.begun + self.deadlines.total_s
        if self.sign is None:
            return min(limit, self.begun + self.deadlines.first_s)
        return min(limit, self.sign + self.deadlines.stall_s)


async def _deltas(server: ChatServer, body: bytes, clock: _Clock, end: ChatEnd) -> AsyncGenerator[str, None]:
    headers = {"Accept": "text/event-stream", "Content-Type": "application/json"}
    if server.key:
        headers["Authorization"] = f"Bearer {server.key}"
    call = Call(url=joined(server.url, "chat/completions"), method="POST", headers=headers, body=body)
    try:
        async with open_stream(
            server.door, call, connect_s=server.deadlines.connect_s, until=clock.until
        ) as answer:
            async for delta in _read(answer, clock, end):
                yield delta
    except Late as error:
        raise (error if clock.sign is None else Stalled()) from error
    except Unreachable as error:
        raise (error if clock.sign is None else BrokenOff()) from error


async def _read(answer: OpenAnswer, clock: _Clock, end: ChatEnd) -> AsyncGenerator[str, None]:
    if not 200 <= answer.status < 300:
        raise BadStatus(answer.status, retry_after_s=_retry_after(answer.header("retry-after")))
    kind = answer.header("content-type").partition(";")[0].strip().lower()
    if kind == "application/json":  # a server that does not stream
        yield _whole(await _body(answer), end)
        return
    if kind != "text/event-stream":
        raise BadAnswer()
    has_ended = False
    async for line in _lines(answer):
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if not data:
            continue
        if data == "[DONE]":
            has_ended = True
            break
        if delta := _delta(data, clock, end):
            yield delta
    if not (has_ended or end.finish):
        raise BrokenOff() if clock.sign is not None else BadAnswer()


async def _lines(answer: OpenAnswer) -> AsyncGenerator[str, None]:
    buffer = b""
    async for chunk in answer.chunks:
        buffer += chunk
        *whole, buffer = buffer.split(b"\n")
        if len(buffer) > MOST_LINE_BYTES:
            raise AnswerTooLarge()
        for line in whole:
            yield line.decode("utf-8", "replace").rstrip("\r")
    if buffer:
        yield buffer.decode("utf-8", "replace")


async def _body(answer: OpenAnswer) -> bytes:
    parts, size = [], 0
    async for chunk in answer.chunks:
        size += len(chunk)
        if size > MOST_LINE_BYTES:
            raise AnswerTooLarge()
        parts.append(chunk)
    return b"".join(parts)


def _delta(data: str, clock: _Clock, end: ChatEnd) -> str:
    """The text of one event; "" where it holds none. Raises BadAnswer, also for an error told in the middle."""
    event = _object(data)
    if "error" in event:
        raise BadAnswer()
    _note_usage(event.get("usage"), end)
    text = ""
    for choice in _objects(event.get("choices")):
        delta = choice.get("delta")
        if isinstance(delta, dict):
            if any(delta.get(name) for name in ("content", "reasoning_content", "reasoning")):
                clock.alive()
            content = delta.get("content")
            text += content if isinstance(content, str) else ""
        end.finish = str(choice.get("finish_reason") or end.finish)
        break  # one answer was asked for
    return text


def _whole(body: bytes, end: ChatEnd) -> str:
    answer = _object(body.decode("utf-8", "replace"))
    _note_usage(answer.get("usage"), end)
    for choice in _objects(answer.get("choices")):
        message = choice.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        end.finish = str(choice.get("finish_reason") or "stop")
        if isinstance(content, str):
            return content
    raise BadAnswer()


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadAnswer() from error
    if not isinstance(value, dict):
        raise BadAnswer()
    return value


def _objects(value: Any) -> Iterable[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _note_usage(value: Any, end: ChatEnd) -> None:
    if isinstance(value, dict):
        prompt, answer = (value.get(name) for name in ("prompt_tokens", "completion_tokens"))
        end.usage = Usage(
            prompt=prompt if isinstance(prompt, int) else None,
            answer=answer if isinstance(answer, int) else None,
        )


def _retry_after(text: str) -> float | None:
    return min(float(text), 3600.0) if text.isascii() and text.isdecimal() else None
