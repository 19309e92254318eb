"""The numbered events of answers in the making, kept in Valkey: any web process can follow, resume and stop them.

Keys of an answer, below `answer:<uid>`: `:events` (a stream, ids from 1), `:alive` (its producer works), `:reader`
(somebody follows), `:stop` (a list that wakes the producer). All of them expire.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from django.conf import settings
from redis.asyncio import BlockingConnectionPool, Redis

ALIVE_S = 10  # a producer that was silent for so long is taken for dead
MOST_EVENTS = 20_000
SHARED_CONNECTIONS = 8
OPTIONS: dict[str, Any] = {
    "decode_responses": True,
    "protocol": 2,
}  # 3 has another shape for a stream's entries

_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, Redis]" = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """number: from 1, without gaps; data: JSON."""

    number: int
    name: str
    data: dict[str, Any]


def _shared() -> Redis:
    """One client for each event loop: its connections cannot move to another. Commands queue for its connections."""
    loop = asyncio.get_running_loop()
    if (client := _clients.get(loop)) is None:
        pool = BlockingConnectionPool.from_url(
            settings.VALKEY_URL, max_connections=SHARED_CONNECTIONS, timeout=5, **OPTIONS
        )
        client = _clients[loop] = Redis.from_pool(pool)
    return client


async def close_shared_client() -> None:
    """Give the running loop's connections back, before it ends."""
    if client := _clients.pop(asyncio.get_running_loop(), None):
        await client.aclose()


@asynccontextmanager
async def waiting_connection() -> AsyncIterator[Redis]:
    """A connection for commands that wait: one of its own, closed with its user, so that aborted streams leave none."""
    client: Redis = Redis.from_url(settings.VALKEY_URL, single_connection_client=True, **OPTIONS)
    try:
        yield client
    finally:
        await asyncio.shield(client.aclose())


class EventLog:
    """The events of one answer. Raises redis errors when Valkey does not answer.

    connection: the caller's own, so that what is done all the time does not queue for the shared ones.
    """

    def __init__(self, uid: str) -> None:
        self._events, self._alive, self._reader, self._stop = (
            f"answer:{uid}:{part}" for part in ("events", "alive", "reader", "stop")
        )

    async def open(self) -> None:
        """Before its first reader looks: a producer works, and a reader is on the way."""
        await self.stay_alive()
        await self.note_reader()

    async def append(self, event: Event) -> None:
        fields: Any = {"name": event.name, "data": json.dumps(event.data, ensure_ascii=False)}
        async with _shared().pipeline(transaction=True) as pipe:
            pipe.xadd(self._events, fields, id=f"{event.number}-0", maxlen=MOST_EVENTS, approximate=True)
            pipe.expire(self._events, settings.STREAM_KEEP_S)
            await pipe.execute()

    async def read(self, connection: Redis, *, after: int) -> list[Event]:
        """The events behind number `after`; waits for the first of them until it is time for a sign of life."""
        wait_s = min(settings.STREAM_WATCH_S, settings.STREAM_HEARTBEAT_S)
        wait_ms = max(1, int(wait_s * 1000))  # stays below the socket timeout of 5 s
        found: Any = await connection.xread({self._events: f"{after}-0"}, count=100, block=wait_ms)
        return [_event(number, fields) for _key, entries in found for number, fields in entries]

    async def stay_alive(self, connection: Redis | None = None) -> None:
        await (connection or _shared()).set(self._alive, 1, ex=ALIVE_S)

    async def is_alive(self, connection: Redis) -> bool:
        return bool(await connection.exists(self._alive))

    async def close(self) -> None:
        """After the last event: no producer is left."""
        await _shared().delete(self._alive, self._stop)

    async def note_reader(self, connection: Redis | None = None) -> None:
        """A sign of life that lasts ANSWER_NO_READER_S; a reader that crashed leaves no count behind."""
        await (connection or _shared()).set(self._reader, 1, px=int(settings.ANSWER_NO_READER_S * 1000))

    async def has_reader(self, connection: Redis) -> bool:
        return bool(await connection.exists(self._reader))

    async def ask_to_stop(self) -> None:
        async with _shared().pipeline(transaction=True) as pipe:
            pipe.rpush(self._stop, 1)
            pipe.expire(self._stop, settings.STREAM_KEEP_S)
            await pipe.execute()

    async def wait_for_stop(self, connection: Redis) -> bool:
        """Whether the answer was asked to stop within STREAM_WATCH_S; returns as soon as it is."""
        waiting: Any = connection.blpop([self._stop], timeout=settings.STREAM_WATCH_S)
        return await waiting is not None


def _event(number: str, fields: dict[str, str]) -> Event:
    return Event(number=int(number.partition("-")[0]), name=fields["name"], data=json.loads(fields["data"]))
