"""A real HTTP server on a real socket in a thread, that answers as a test tells it: also late, byte by byte, or not at all."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A request as it came over the wire."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """wait_s: before the first byte. byte_pause_s: after each byte of the body.

    parts: the body as it comes, in place of `body`; it may wait between two, and ends the connection with its end.
    """

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    byte_pause_s: float = 0.0
    parts: Callable[[], Iterator[bytes]] | None = None

    @classmethod
    def json(cls, value: Any, **more: Any) -> "Reply":
        return cls(body=value if isinstance(value, bytes) else json.dumps(value).encode(), **more)


Answering = Callable[[Received], Reply]


@dataclass(slots=True)
class FakeServer:
    """url: without a slash at the end. `answering` may be replaced while it runs; `received` keeps what came."""

    url: str
    port: int
    answering: Answering
    received: list[Received] = field(default_factory=list)
    most_at_once: int = 0
    under_way: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def address(self) -> str:
        """As it stands in the list of allowed hosts."""
        return f"127.0.0.1:{self.port}"


@contextmanager
def http_server(answering: Answering | Reply) -> Iterator[FakeServer]:
    """A server that gives `answering(request)`, or always the same reply."""
    stopped = threading.Event()
    server: FakeServer

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_arguments: Any) -> None: ...

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            request = Received(
                method=self.command, path=self.path, headers=dict(self.headers), body=self.rfile.read(length)
            )
            with server.lock:
                server.received.append(request)
                server.under_way += 1
                server.most_at_once = max(server.most_at_once, server.under_way)
            try:
                _send(self, server.answering(request), stopped)
            except (BrokenPipeError, ConnectionResetError):
                pass
            finally:
                with server.lock:
                    server.under_way -= 1

        do_GET = do_POST = do_PUT = _answer

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    port = httpd.server_address[1]
    give = (lambda _request: answering) if isinstance(answering, Reply) else answering
    server = FakeServer(url=f"http://127.0.0.1:{port}", port=port, answering=give)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        stopped.set()
        httpd.shutdown()
        httpd.server_close()
        thread.join(timeout=5)


def _send(handler: BaseHTTPRequestHandler, reply: Reply, stopped: threading.Event) -> None:
    if stopped.wait(reply.wait_s):
        return
    handler.send_response(reply.status)
    headers = {"Content-Type": reply.content_type}
    if reply.parts is None:
        headers["Content-Length"] = str(len(reply.body))
    for name, value in {**headers, **reply.headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.close_connection = handler.close_connection or reply.parts is not None
    for part in _body(reply):
        handler.wfile.write(part)
        handler.wfile.flush()
        if reply.byte_pause_s and stopped.wait(reply.byte_pause_s):
            return


def _body(reply: Reply) -> Iterator[bytes]:
    if reply.parts is not None:
        return reply.parts()
    if reply.byte_pause_s:
        return (bytes([byte]) for byte in reply.body)
    return iter([reply.body])


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def trickling_headers(pause_s: float = 0.05) -> Iterator[int]:
    """A server that sends its header byte by byte and never ends; yields its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    stopped = threading.Event()

    def serve() -> None:
        try:
            client, _address = listener.accept()
        except OSError:
            return
        with client:
            while not stopped.is_set():
                try:
                    client.sendall(b"H" if not stopped.is_set() else b"")
                except OSError:
                    return
                time.sleep(pause_s)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        stopped.set()
        listener.close()
