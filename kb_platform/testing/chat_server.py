"""A server that speaks `/chat/completions` as OpenAI, vLLM and llama.cpp do, well or as badly as a test wants."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kb_platform.testing.http_server import Received, Reply

STREAM = "text/event-stream; charset=utf-8"


def event(delta: dict[str, Any] | None = None, *, finish: str | None = None, **more: Any) -> bytes:
    """One event of a stream."""
    choices = (
        []
        if delta is None and finish is None
        else [{"index": 0, "delta": delta or {}, "finish_reason": finish}]
    )
    return (
        b"data: "
        + json.dumps({"object": "chat.completion.chunk", "choices": choices, **more}).encode()
        + b"\n\n"
    )


DONE = b"data: [DONE]\n\n"


def streamed(pieces: Sequence[str]) -> list[bytes]:
    """A whole answer: a role, the pieces, a reason, the counts, the end."""
    said = [event({"content": piece}) for piece in pieces]
    counts = {"prompt_tokens": 11, "completion_tokens": len(pieces)}
    return [
        event({"role": "assistant", "content": ""}),
        *said,
        event(finish="stop"),
        event(usage=counts),
        DONE,
    ]


def answering_with(parts: Sequence[bytes] | Callable[[], Iterator[bytes]]) -> Callable[[Received], Reply]:
    """Always the same stream, after the request was checked to be one."""

    def answer(request: Received) -> Reply:
        if request.method != "POST" or not request.path.endswith("/chat/completions"):
            return Reply.json({"error": {"message": "no such address"}}, status=404)
        body = request.json()
        if not body.get("model") or not body.get("messages"):
            return Reply.json({"error": {"message": "model and messages are needed"}}, status=400)
        return Reply(content_type=STREAM, parts=parts if callable(parts) else lambda: iter(parts))

    return answer
