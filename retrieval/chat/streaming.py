"""Answers that outlive their connection: a detached producer writes numbered events, any number of readers follow.

The producer is a task of the web process with a context of its own. It ends by itself, when asked to stop, when nobody
has followed it for ANSWER_NO_READER_S, or at ANSWER_DEADLINE_S; each end is the last event. Readers attach and resume
by number, in any process.
"""

import asyncio
import contextvars
import itertools
import json
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection
from django.utils import translation
from django.utils.translation import gettext as _

from kb_platform import trace
from kb_platform.errors import KnowledgeBaseError
from kb_platform.outages import as_outage
from retrieval.chat.event_log import Event, EventLog, waiting_connection

log = logging.getLogger(__name__)
LAST = frozenset({"done", "error"})  # no event comes after one of these
TEXTS = frozenset({"delta", "block", "cites", "done"})  # events that carry words of documents
STOPPED, GONE = "stopped", "gone"

Emit = Callable[..., Awaitable[None]]
Result = TypeVar("Result")
# Together with the threads of requests they stay within the database's pool of 12 connections.
# No more than there are cores, for most of their work is Python: more would keep the event loop from its turns.
_threads = ThreadPoolExecutor(max_workers=max(2, min(4, os.cpu_count() or 1)), thread_name_prefix="answer")
_brief_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="answer-brief")
_producers: set[asyncio.Task[None]] = set()  # the event loop itself keeps weak references only


@dataclass(frozen=True, slots=True, kw_only=True)
class Production:
    """An answer to produce. `work(emit)` emits its events with `await emit(name, **data)`, a last one included.

    given_up: called with a code when the work ends without a last event; it may fail, which is logged.
    """

    uid: str
    work: Callable[[Emit], Awaitable[None]]
    given_up: Callable[[str], Awaitable[None]]
    language: str
    trace_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """What one reader may still see of an answer.

    final: (name, data) of the last event of an answer whose events are gone: what is stored stands for them.
    withdrawn: (name, data) of the event to end with when the answer is no longer open to the reader, else None.
    """

    final: Callable[[], Awaitable[tuple[str, dict[str, Any]]]]
    withdrawn: Callable[[], Awaitable[tuple[str, dict[str, Any]] | None]]


async def start(production: Production) -> None:
    """Begin to produce, on the running loop, apart from the request: its context ends with it."""
    await EventLog(production.uid).open()
    task = asyncio.get_running_loop().create_task(_produce(production), context=contextvars.Context())
    _producers.add(task)
    task.add_done_callback(_producers.discard)


async def stop(uid: str) -> None:
    """Ask the answer's producer to end, in whichever process it runs."""
    await EventLog(uid).ask_to_stop()


async def in_thread(work: Callable[[], Result], *, is_brief: bool = False) -> Result:
    """Run ORM work outside of a request: no request's end returns its connection, so that is done here.

    is_brief: a look or a mark, in threads that no search keeps busy. Cancelled, work that has not begun never begins.
    """

    language = translation.get_language()  # a thread does not see what another has activated

    def run() -> Result:
        try:
            with translation.override(language):
                return work()
        finally:
            connection.close()

    pool = _brief_threads if is_brief else _threads
    return await asyncio.get_running_loop().run_in_executor(pool, contextvars.copy_context().run, run)


class _Writer:
    """Numbers the events. Closed, it ends whoever still writes: redis-py may swallow a cancellation (Python 3.11)."""

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._numbers = itertools.count(1)
        self.is_closed = False

    async def emit(self, name: str, **data: Any) -> None:
        if self.is_closed:
            raise asyncio.CancelledError
        await self.append(name, data)

    async def append(self, name: str, data: dict[str, Any]) -> None:
        await self._events.append(Event(number=next(self._numbers), name=name, data=data))


async def _produce(production: Production) -> None:
    trace.set_trace_id(production.trace_id)
    translation.activate(production.language)
    events = EventLog(production.uid)
    writer = _Writer(events)
    work = asyncio.ensure_future(production.work(writer.emit))
    watch = asyncio.create_task(_watch(events))
    ending: tuple[str, str] | None = (GONE, ending_text(GONE))
    try:
        await asyncio.wait(
            {work, watch}, timeout=settings.ANSWER_DEADLINE_S, return_when=asyncio.FIRST_COMPLETED
        )
        ending = _ending(work, watch)
    finally:
        writer.is_closed = True
        work.cancel()
        watch.cancel()
        try:
            if ending:
                await _give_up(production, ending[0])
                await writer.append("error", {"code": ending[0], "text": ending[1]})
            await events.close()
        except Exception as error:  # readers notice the silence by themselves
            log.warning("the end of an answer could not be written", extra={"cause": repr(error)})
        await asyncio.wait({work, watch}, timeout=settings.STREAM_WATCH_S)


async def _give_up(production: Production, code: str) -> None:
    try:
        await production.given_up(code)
    except Exception as error:  # the reader is told all the same
        log.warning("an unfinished answer could not be marked", extra={"cause": repr(error)})


def _ending(work: asyncio.Future[None], watch: asyncio.Future[str]) -> tuple[str, str] | None:
    """(code, sentence) of an end that the work did not write itself; None when it is complete."""
    if work.done() and not work.cancelled():
        return _failure(work.exception())
    if not watch.done():
        return "late", ending_text("late")
    if error := watch.exception():
        return _failure(error)
    return watch.result(), ending_text(watch.result())


def _failure(error: BaseException | None) -> tuple[str, str] | None:
    if error is None:
        return None
    known = error if isinstance(error, KnowledgeBaseError) else as_outage(error)
    if known:
        return known.code, str(known)
    log.error("an answer failed", exc_info=error)
    return "failed", ending_text("failed")


def ending_text(code: str) -> str:
    """What a reader is told of an answer that ended early."""
    texts = {
        STOPPED: _("Stopped. The text above is incomplete; don't rely on it."),
        "no_reader": _("Nobody was reading, so the answer was not finished."),
        "late": _("The answer took too long and was not finished. Try again in a moment."),
        GONE: _("The answer was interrupted. Try again."),
    }
    return texts.get(code) or str(KnowledgeBaseError.message)


async def _watch(events: EventLog) -> str:
    """Why the producer has to end before its work does, as soon as there is a reason."""
    async with waiting_connection() as own:
        while not _is_cancelled():
            await events.stay_alive(own)
            if not await events.has_reader(own):
                return "no_reader"
            if await events.wait_for_stop(own):
                return STOPPED
    raise asyncio.CancelledError


def _is_cancelled() -> bool:
    """Python 3.11: redis-py may swallow the one CancelledError of a disconnect or a Stop."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def follow(
    uid: str, *, after: int, rights: Rights, checked_at: float | None = None
) -> AsyncIterator[bytes]:
    """The events behind number `after` as server-sent events, until the last one.

    checked_at: `time.monotonic()` of a look at the reader's rights just before; None: look before any text leaves.
    """
    events, last = EventLog(uid), after
    spoke = time.monotonic()
    async with waiting_connection() as own:
        while not _is_cancelled():
            await events.note_reader(own)
            is_alive = await events.is_alive(own)  # before reading: the last event comes before the end
            found = await events.read(own, after=last)
            for event in found:
                now = time.monotonic()
                if event.name in TEXTS and (
                    checked_at is None or now - checked_at > settings.STREAM_RECHECK_S
                ):
                    if withdrawn := await rights.withdrawn():
                        yield encode(event.number, *withdrawn)
                        return
                    checked_at = now
                yield encode(event.number, event.name, event.data)
                last, spoke = event.number, now
                if event.name in LAST:
                    return
            if not found and not is_alive:
                yield encode(last + 1, *await rights.final())
                return
            if time.monotonic() - spoke >= settings.STREAM_HEARTBEAT_S:
                yield b": keep-alive\n\n"
                spoke = time.monotonic()


def encode(number: int, name: str, data: dict[str, Any]) -> bytes:
    """One server-sent event. JSON has no raw line breaks, so the data is one line."""
    return f"id: {number}\nevent: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
