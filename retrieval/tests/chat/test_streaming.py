"""Producers and readers over a real Valkey. Times are those of the settings, made short."""

import asyncio
import json
import time
from contextlib import aclosing

import pytest
from asgiref.sync import async_to_sync

from kb_platform.errors import InvalidInput
from retrieval.chat import streaming
from retrieval.chat.event_log import EventLog, close_shared_client, waiting_connection

pytestmark = pytest.mark.usefixtures("services")


@pytest.fixture(autouse=True)
def _short_times(settings):
    settings.STREAM_WATCH_S = 0.05
    settings.ANSWER_NO_READER_S = 0.4
    settings.ANSWER_DEADLINE_S = 10.0
    settings.STREAM_HEARTBEAT_S = 10.0


@pytest.fixture
def uid(request) -> str:
    return f"{request.node.name}-{time.time_ns()}"


def run(scenario):
    """Run to the end; nothing may be left in the loop afterwards."""

    async def whole():
        try:
            await asyncio.wait_for(scenario(), 20)
        finally:
            await close_shared_client()
        for _ in range(100):
            if len(asyncio.all_tasks()) <= before:
                return
            await asyncio.sleep(0.01)
        pytest.fail(f"left over: {asyncio.all_tasks()}")

    before = 1
    async_to_sync(whole)()


class Answer:
    """A production that says `words`, then waits for `may_end`, and keeps what became of it."""

    def __init__(self, uid, words=("one", "two"), *, ends=True, failure=None):
        self.uid, self.words, self.ends, self.failure = uid, words, ends, failure
        self.given_up = []

    async def start(self):
        self.may_end = asyncio.Event()
        if self.ends:
            self.may_end.set()
        production = streaming.Production(
            uid=self.uid, work=self._work, given_up=self._give_up, language="en", trace_id="0" * 32
        )
        await streaming.start(production)

    async def _work(self, emit):
        for word in self.words:
            await emit("delta", text=word)
        await self.may_end.wait()
        if self.failure:
            raise self.failure
        await emit("done", answer="".join(self.words))

    async def _give_up(self, code):
        self.given_up.append(code)


class Reader:
    """Rights that can be taken away, and the events that came."""

    def __init__(self, uid, after=0):
        self.uid, self.after = uid, after
        self.final = ("error", {"code": "gone"})
        self.withdrawn = None
        self.events, self.comments = [], 0

    async def _final(self):
        return self.final

    async def _withdrawn(self):
        return self.withdrawn

    def follow(self):
        rights = streaming.Rights(final=self._final, withdrawn=self._withdrawn)
        return streaming.follow(self.uid, after=self.after, rights=rights)

    async def read(self, count=None):
        async with aclosing(self.follow()) as stream:
            async for raw in stream:
                if raw.startswith(b":"):
                    self.comments += 1
                else:
                    number, name, data = (
                        line.partition(": ")[2] for line in raw.decode().strip().split("\n")
                    )
                    self.events.append((int(number), name, json.loads(data)))
                if count is not None and len(self.events) + self.comments >= count:
                    break
        return self

    @property
    def numbers(self):
        return [number for number, _name, _data in self.events]

    @property
    def last(self):
        return self.events[-1][1:]


def test_events_come_numbered_and_in_order(uid):
    async def scenario():
        await Answer(uid).start()
        reader = await Reader(uid).read()
        assert reader.events == [
            (1, "delta", {"text": "one"}),
            (2, "delta", {"text": "two"}),
            (3, "done", {"answer": "onetwo"}),
        ]

    run(scenario)


def test_a_reader_that_lost_its_connection_resumes_behind_its_last_event(uid):
    async def scenario():
        answer = Answer(uid, ends=False)
        await answer.start()
        assert (await Reader(uid).read(count=1)).numbers == [1]
        answer.may_end.set()
        assert (await Reader(uid, after=1).read()).numbers == [2, 3]
        assert (await Reader(uid).read()).numbers == [1, 2, 3]  # any number of readers, also later

    run(scenario)


def test_stop_ends_the_answer_at_once_and_tells_its_readers(uid, settings):
    settings.STREAM_WATCH_S = 3.0  # Stop does not wait for the next look

    async def scenario():
        answer = Answer(uid, ends=False)
        await answer.start()
        reading = asyncio.create_task(Reader(uid).read())
        begun = time.monotonic()
        await streaming.stop(uid)
        reader = await reading
        assert time.monotonic() - begun < 1.5
        assert (reader.last[0], reader.last[1]["code"]) == ("error", "stopped")
        assert "incomplete" in reader.last[1]["text"]
        assert answer.given_up == ["stopped"]

    run(scenario)


def test_an_answer_that_nobody_follows_is_given_up(uid):
    async def scenario():
        answer = Answer(uid, ends=False)
        await answer.start()
        for _ in range(200):
            if answer.given_up:
                break
            await asyncio.sleep(0.02)
        assert answer.given_up == ["no_reader"]
        assert (await Reader(uid).read()).last[1]["code"] == "no_reader"

    run(scenario)


def test_an_answer_that_is_followed_goes_on_as_long_as_it_needs(uid, settings):
    settings.STREAM_HEARTBEAT_S = 0.1

    async def scenario():
        answer = Answer(uid, ends=False)
        await answer.start()
        reading = asyncio.create_task(Reader(uid).read())
        await asyncio.sleep(0.8)  # twice the time without a reader
        answer.may_end.set()
        reader = await reading
        assert (reader.last[0], answer.given_up) == ("done", [])
        assert reader.comments >= 2

    run(scenario)


def test_the_whole_answer_has_a_deadline(uid, settings):
    settings.ANSWER_DEADLINE_S = 0.2

    async def scenario():
        answer = Answer(uid, ends=False)
        await answer.start()
        assert (await Reader(uid).read()).last[1]["code"] == "late"
        assert answer.given_up == ["late"]

    run(scenario)


@pytest.mark.parametrize(
    ("failure", "code"), [(RuntimeError("secret"), "failed"), (InvalidInput("Say more."), "invalid")]
)
def test_a_failure_is_the_last_event_and_tells_no_secrets(uid, failure, code):
    async def scenario():
        await Answer(uid, failure=failure).start()
        name, data = (await Reader(uid).read()).last
        assert (name, data["code"]) == ("error", code)
        assert "secret" not in data["text"]

    run(scenario)


def test_what_is_stored_stands_for_events_that_are_gone(uid):
    async def scenario():
        reader = await Reader(uid, after=7).read()
        assert reader.events == [(8, "error", {"code": "gone"})]
        reader = Reader(uid, after=7)
        reader.final = ("done", {"answer": "stored"})
        assert (await reader.read()).events == [(8, "done", {"answer": "stored"})]

    run(scenario)


def test_a_producer_that_died_is_noticed(uid):
    async def scenario():
        events = EventLog(uid)
        await events.open()
        reading = asyncio.create_task(Reader(uid).read())
        await asyncio.sleep(0.1)
        assert not reading.done()
        await events.close()  # as its sign of life runs out
        assert (await reading).last == ("error", {"code": "gone"})

    run(scenario)


def test_no_words_leave_after_a_right_was_revoked(uid, settings):
    settings.STREAM_RECHECK_S = 0.0

    async def scenario():
        answer = Answer(uid, words=("one",), ends=False)
        await answer.start()
        reader = Reader(uid)
        reading = asyncio.create_task(reader.read())
        while not reader.events:
            await asyncio.sleep(0.01)
        reader.withdrawn = ("done", {"answer": "withdrawn"})
        answer.may_end.set()
        await reading
        assert reader.events[1:] == [(2, "done", {"answer": "withdrawn"})]

    run(scenario)


def test_aborted_readers_leave_no_tasks_and_no_connections(uid):
    async def scenario():
        answer = Answer(uid, ends=False)
        await answer.start()
        readings = [asyncio.create_task(Reader(uid).read()) for _ in range(10)]
        await _until_readers_wait(10)
        for reading in readings:
            reading.cancel()
        await asyncio.gather(*readings, return_exceptions=True)
        await _until_readers_wait(0)
        answer.may_end.set()
        assert (await Reader(uid).read()).last[0] == "done"

    run(scenario)


async def _until_readers_wait(count: int) -> None:
    """The scenario's own deadline ends what never comes."""
    async with waiting_connection() as own:
        while sum(client["cmd"] == "xread" for client in await own.client_list()) != count:
            await asyncio.sleep(0.02)
