"""The site behind a real uvicorn on a socket, in a thread of the test process, on the test's own database."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.asgi import get_asgi_application

START_TIMEOUT_S = 20.0


class _Server(uvicorn.Server):
    loop: asyncio.AbstractEventLoop | None = None

    async def serve(self, sockets: Any = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().serve(sockets)


class AsgiSite:
    """url: where it listens, without a slash at the end."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        port = server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    def tasks(self) -> int:
        """How many asyncio tasks the server's loop has now."""
        assert self._server.loop
        counted = asyncio.run_coroutine_threadsafe(_count_tasks(), self._server.loop)
        return counted.result(timeout=5) - 1  # the one that counts


async def _count_tasks() -> int:
    return len(asyncio.all_tasks())


@contextmanager
def serve() -> Iterator[AsgiSite]:
    application = ASGIStaticFilesHandler(get_asgi_application())
    options: dict[str, Any] = {"port": 0, "lifespan": "off", "log_level": "warning", "access_log": False}
    server = _Server(uvicorn.Config(application, timeout_graceful_shutdown=2, **options))
    thread = threading.Thread(target=server.run, name="uvicorn", daemon=True)
    thread.start()
    end = time.monotonic() + START_TIMEOUT_S
    while not server.started:
        assert thread.is_alive(), "uvicorn did not start"
        assert time.monotonic() < end, "uvicorn did not start in time"
        time.sleep(0.01)
    yield AsgiSite(server)
    server.should_exit = True
    thread.join(timeout=10)
