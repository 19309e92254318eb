"""An answer from the first chat model that gives one: in the order an administrator set, each behind its own breaker.

A model is tried again, or the next one taken, only while nothing has been said: what was said stands, and its failure is told.
So many at once speak with one model; others wait in line and are told how many are before them.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from kb_platform.inference.chat import ChatEnd, ChatMessage, ChatServer, Usage, stream_chat
from kb_platform.net.breaker import Breaker
from kb_platform.net.errors import BadStatus, Busy, CircuitOpen, OutboundError

log = logging.getLogger(__name__)
TRIES = 2  # of one model, while nothing was said
PAUSE_S = 0.3
IN_LINE_S = 60.0  # longest wait for a place
NEWS_S = 1.0  # how often one who waits is told


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A configured chat model. uid names its breaker and its places. at_once: answers under way from this process."""

    uid: str
    name: str
    server: ChatServer
    context_tokens: int = 8192
    answer_tokens: int = 1200
    at_once: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class InLine:
    """Waiting for a place with `before` others ahead."""

    before: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    text: str


@dataclass(slots=True, kw_only=True)
class Spoken:
    """Which model answered and how it ended; filled in while it speaks. failures: why others did not, by name."""

    model: Model | None = None
    finish: str = ""
    usage: Usage = field(default_factory=Usage)
    failures: dict[str, str] = field(default_factory=dict)


class NoModelAnswers(OutboundError):
    """None of the models gave an answer; the last one's reason is the cause."""

    code = "no_model"


async def speak(
    models: Sequence[Model], messages: Sequence[ChatMessage], *, spoken: Spoken
) -> AsyncGenerator[InLine | Piece, None]:
    """The answer piece by piece, and before it the news of a line.

    Raises the last OutboundError when no model begins to answer, and the model's own when it fails after it has begun;
    then `spoken.model` is set.
    """
    problem: OutboundError = NoModelAnswers()
    for model in models:
        for attempt in range(1, TRIES + 1):
            try:
                async with aclosing(_from(model, messages, spoken)) as answer:
                    async for news in answer:
                        yield news
                return
            except OutboundError as error:
                if spoken.model is not None:
                    raise
                problem = error
                spoken.failures[model.name] = error.code
                if not error.is_retryable or attempt == TRIES:
                    break
            await asyncio.sleep(PAUSE_S)
    raise problem


async def _from(
    model: Model, messages: Sequence[ChatMessage], spoken: Spoken
) -> AsyncGenerator[InLine | Piece, None]:
    line = _line_of(model)
    breaker = _breakers.setdefault(model.uid, Breaker(f"chat:{model.uid}"))
    breaker.admit()
    settled = False
    end = ChatEnd()
    try:
        async with aclosing(line.wait()) as news:
            async for told in news:
                yield told
        try:
            stream = stream_chat(model.server, messages, most_tokens=model.answer_tokens, end=end)
            async with aclosing(stream) as pieces:
                async for text in pieces:
                    if not settled:
                        spoken.model, settled = model, True
                        breaker.succeeded()
                    yield Piece(text=text)
        finally:
            line.leave()
            spoken.finish, spoken.usage = end.finish, end.usage
    except OutboundError as error:
        if _is_to_blame(error):
            breaker.failed(error.code)
            settled = True
        raise
    finally:
        if not settled:
            breaker.released()


def _is_to_blame(error: OutboundError) -> bool:
    """Whether a failure speaks against the server, and not against what it was asked."""
    if isinstance(error, Busy | CircuitOpen):
        return False
    return not (isinstance(error, BadStatus) and error.http_status in (400, 413, 422))


class _Line:
    """Places at one model, given in order of arrival."""

    def __init__(self, places: int) -> None:
        self.free = places
        self.waiting: list[asyncio.Event] = []

    async def wait(self) -> AsyncGenerator[InLine, None]:
        """Ends when the place is one's own, which `leave` gives back. Raises Busy after IN_LINE_S."""
        if self.free and not self.waiting:
            self.free -= 1
            return
        turn = asyncio.Event()
        self.waiting.append(turn)
        took = False
        try:
            until = asyncio.get_running_loop().time() + IN_LINE_S
            while not turn.is_set():
                yield InLine(before=self.waiting.index(turn))
                left = until - asyncio.get_running_loop().time()
                if left <= 0:
                    raise Busy()
                try:
                    async with asyncio.timeout(min(NEWS_S, left)):
                        await turn.wait()
                except TimeoutError:
                    continue
            took = True
        finally:
            if not took:
                self._give_up(turn)

    def _give_up(self, turn: asyncio.Event) -> None:
        if turn in self.waiting:
            self.waiting.remove(turn)
        elif turn.is_set():  # called in the very moment of leaving
            self.leave()

    def leave(self) -> None:
        if self.waiting:
            self.waiting.pop(0).set()
        else:
            self.free += 1


_breakers: dict[str, Breaker] = {}
_lines: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, int], _Line]]" = WeakKeyDictionary()


def _line_of(model: Model) -> _Line:
    """Lines belong to an event loop; another number of places is another line."""
    lines = _lines.setdefault(asyncio.get_running_loop(), {})
    return lines.setdefault((model.uid, model.at_once), _Line(model.at_once))
