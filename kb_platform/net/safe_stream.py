"""HTTP to other servers by coroutines, the answer read as it comes. The rules are those of `safe_http`; redirects are refused.

Leaving the block closes the connection, whatever is still to come.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import httpcore
import httpx

from kb_platform.net.errors import BadAnswer, Late, Unreachable
from kb_platform.net.safe_http import Call, Door, Place, checked_url, request_headers, tls_context

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAnswer:
    """status and headers are there; the chunks of the body come one by one, never compressed."""

    status: int
    headers: httpx.Headers
    chunks: AsyncIterator[bytes]

    def header(self, name: str) -> str:
        return str(self.headers.get(name, ""))


@asynccontextmanager
async def open_stream(
    door: Door, call: Call, *, connect_s: float, until: Callable[[], float]
) -> AsyncIterator[OpenAnswer]:
    """until: asked before each wait, how long it may last, by `time.monotonic`.

    Raises AddressRefused, Late when a wait was too long, Unreachable when the connection fails, now or later.
    """
    url = checked_url(call.url)
    port = url.port or (443 if url.scheme == "https" else 80)
    place = await asyncio.to_thread(door.checked, url.host, port, timeout_s=connect_s)
    request = httpcore.Request(
        call.method,
        httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
        headers=request_headers(call, url),
        content=call.body,
    )
    async with httpcore.AsyncConnectionPool(
        ssl_context=tls_context(), network_backend=_PinnedBackend(place, connect_s), http2=False, retries=0
    ) as pool:
        response = await _within(until, pool.handle_async_request(request))
        try:
            headers = httpx.Headers(response.headers)
            if headers.get("content-encoding", "identity").lower() != "identity":
                raise BadAnswer()
            yield OpenAnswer(status=response.status, headers=headers, chunks=_chunks(response, until))
        finally:
            await response.aclose()


async def _chunks(response: httpcore.Response, until: Callable[[], float]) -> AsyncIterator[bytes]:
    stream = aiter(response.aiter_stream())
    while (chunk := await _within(until, anext(stream, None))) is not None:
        yield chunk


async def _within(until: Callable[[], float], work: Awaitable[T]) -> T:
    try:
        async with asyncio.timeout(max(until() - time.monotonic(), 0.0)):
            return await work
    except (TimeoutError, httpcore.TimeoutException) as error:
        raise Late() from error
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
        raise Unreachable() from error


class _PinnedBackend(httpcore.AsyncNetworkBackend):
    """Connects to the checked address, whatever it is asked for. TLS still checks the certificate by name."""

    def __init__(self, place: Place, connect_s: float) -> None:
        self._place, self._connect_s = place, connect_s
        self._real = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.AsyncNetworkStream:
        return await self._real.connect_tcp(self._place.address, self._place.port, timeout=self._connect_s)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
