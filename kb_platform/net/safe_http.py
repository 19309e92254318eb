"""HTTP to other servers, and the checks that any other connection to them makes first.

A name is resolved once, all its addresses are checked, and the connection goes to a checked address: no second look-up
can lead elsewhere. Redirects are followed by hand and checked anew. Time is capped as a whole, to the last byte, and so is
the size. Answers are asked for uncompressed. No ORM: make a `Door` with `open_door` before threads begin.
"""

import json
import socket
import ssl
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpcore
import httpx
from django.utils.translation import gettext_lazy as _

from kb_platform.net.addresses import (
    FIRST_FREE_PORT,
    ORDINARY_PORTS,
    InternalHosts,
    is_forbidden,
    is_public,
    parsed,
    read_hosts,
)
from kb_platform.net.errors import (
    AddressRefused,
    AnswerTooLarge,
    BadAnswer,
    BadStatus,
    Late,
    OutboundError,
    Unreachable,
)
from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import INTERNAL_HOSTS

CONNECT_S = 5.0
MOST_URL_CHARACTERS = 2_000
_REPEATED = (307, 308)  # the same request again, elsewhere
_REDIRECTS = (301, 302, 303, *_REPEATED)
_resolvers = ThreadPoolExecutor(max_workers=8, thread_name_prefix="resolver")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """total_s: for everything from the name to the last byte. max_bytes: of the answer's body."""

    total_s: float = 10.0
    max_bytes: int = 2_000_000
    max_redirects: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """headers: dropped when a redirect leads to another origin, for they may hold a key."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    content_type: str
    body: bytes

    def json(self) -> Any:
        """The decoded body. Raises BadAnswer, also for NaN and infinity, which are no JSON."""
        try:
            return json.loads(self.body.decode(), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise BadAnswer() from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a connection goes: a name, its port, and an address that was checked."""

    host: str
    port: int
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """What may be reached: the open internet, and these hosts of the inner network."""

    internal: InternalHosts = field(default_factory=InternalHosts)

    def checked(self, host: str, port: int, *, timeout_s: float = CONNECT_S) -> Place:
        """The place to connect to. Raises AddressRefused, Unreachable or Late."""
        is_allowed = self.internal.permit(host, port)
        if not is_allowed and port < FIRST_FREE_PORT and port not in ORDINARY_PORTS:
            raise AddressRefused()
        addresses = _resolve(host, port, timeout_s)
        for text in addresses:
            address = _address(text)
            if is_forbidden(address) or not (is_allowed or is_public(address)):
                raise AddressRefused()
        return Place(host=host, port=port, address=addresses[0])

    def send(self, call: Call, limits: Limits) -> Answer:
        """The answer, of status 2xx. Raises OutboundError."""
        end = time.monotonic() + limits.total_s
        for _hop in range(limits.max_redirects + 1):
            answer, target = self._once(call, limits, end)
            if target is None:
                if not 200 <= answer.status < 300:
                    raise BadStatus(answer.status)
                return answer
            call = _redirected(call, answer.status, target)
        raise BadStatus(answer.status)

    def _once(self, call: Call, limits: Limits, end: float) -> tuple[Answer, str | None]:
        """One request; with the answer, where it leads to if it is a redirect."""
        url = checked_url(call.url)
        port = url.port or (443 if url.scheme == "https" else 80)
        place = self.checked(url.host, port, timeout_s=_left(end))
        backend = _PinnedBackend(place, end)
        try:
            with (
                httpcore.ConnectionPool(
                    ssl_context=tls_context(), network_backend=backend, http2=False, retries=0
                ) as pool,
                pool.stream(
                    call.method.encode(),
                    httpcore.URL(
                        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                    ),
                    headers=request_headers(call, url),
                    content=call.body,
                    extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), _left(end))},
                ) as response,
            ):
                headers = httpx.Headers(response.headers)
                target = _target(url, headers, response.status)
                body = b"" if target else _read(response.iter_stream(), headers, limits)
        except OutboundError:
            raise
        except (httpcore.TimeoutException, TimeoutError) as error:
            raise Late() from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError, OSError) as error:
            raise Unreachable() from error
        return (
            Answer(status=response.status, content_type=headers.get("content-type", ""), body=body),
            target,
        )


def open_door() -> Door:
    """A door by the settings in force now; the one place here that reads them."""
    return Door(internal=read_hosts(store.get(INTERNAL_HOSTS)))


def checked_url(text: str) -> httpx.URL:
    """A URL of the kinds that may be called, its host unresolved. Raises AddressRefused."""
    try:
        url = httpx.URL(text) if len(text) <= MOST_URL_CHARACTERS and text.isprintable() else None
        is_sound = (
            url is not None
            and url.scheme in ("http", "https")
            and bool(url.host)
            and not url.userinfo
            and not set(url.host) & set("%\\ /?#@")
            and (url.port is None or 0 < url.port < 65_536)
        )
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        raise AddressRefused() from error
    if url is None or not is_sound:
        raise AddressRefused()
    return url


def _resolve(host: str, port: int, timeout_s: float) -> list[str]:
    look_up = _resolvers.submit(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    try:
        found = look_up.result(timeout=max(timeout_s, 0.0))
    except LateError as error:
        look_up.cancel()
        raise Late() from error
    except (OSError, UnicodeError) as error:
        raise Unreachable() from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _address(text: str) -> Any:
    try:
        return parsed(text)
    except ValueError as error:  # with a zone: an address of the local link
        raise AddressRefused() from error


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise Late()
    return left


@cache
def tls_context() -> ssl.SSLContext:
    """SSL_CERT_FILE and SSL_CERT_DIR name an organisation's own authorities."""
    return httpx.create_ssl_context()


def request_headers(call: Call, url: httpx.URL) -> list[tuple[bytes, bytes]]:
    own = {
        "Host": url.netloc.decode("ascii"),
        "User-Agent": "zhiku",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }
    if call.body is not None:
        own["Content-Length"] = str(len(call.body))
    return [(name.encode("ascii"), _value(value)) for name, value in {**call.headers, **own}.items()]


def _value(text: str) -> bytes:
    if not (text.isascii() and text.isprintable()):
        raise OutboundError(_("The key has characters that cannot be sent."))
    return text.encode("ascii")


def _target(url: httpx.URL, headers: httpx.Headers, status: int) -> str | None:
    if status not in _REDIRECTS or "location" not in headers:
        return None
    try:
        return str(url.join(headers["location"]))
    except (httpx.InvalidURL, ValueError) as error:
        raise AddressRefused() from error


def _redirected(call: Call, status: int, target: str) -> Call:
    """The next request. A body is never turned into a GET, which would ask for something else."""
    if call.method not in ("GET", "HEAD") and status not in _REPEATED:
        raise BadStatus(status)
    old, new = httpx.URL(call.url), checked_url(target)
    same_origin = (old.scheme, old.host, old.port) == (new.scheme, new.host, new.port)
    kept = {name: value for name, value in call.headers.items() if same_origin or name in _HARMLESS}
    return Call(url=target, method=call.method, headers=kept, body=call.body)


_HARMLESS = ("Accept", "Content-Type")


def _read(stream: Iterable[bytes], headers: httpx.Headers, limits: Limits) -> bytes:
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise BadAnswer()  # it could unfold without end
    declared = headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > limits.max_bytes:
        raise AnswerTooLarge()
    parts, size = [], 0
    for part in stream:
        size += len(part)
        if size > limits.max_bytes:
            raise AnswerTooLarge()
        parts.append(part)
    return b"".join(parts)


class _PinnedBackend(httpcore.NetworkBackend):
    """Connects to the checked address, whatever it is asked for. TLS still checks the certificate by name."""

    def __init__(self, place: Place, end: float) -> None:
        self._place, self._end = place, end
        self._real = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.NetworkStream:
        stream = self._real.connect_tcp(
            self._place.address, self._place.port, timeout=min(CONNECT_S, _left(self._end))
        )
        return _TimedStream(stream, self._end)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class _TimedStream(httpcore.NetworkStream):
    """Every step has only what is left of the whole time: one byte a second gains nothing."""

    def __init__(self, stream: httpcore.NetworkStream, end: float) -> None:
        self._stream, self._end = stream, end

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, timeout=_left(self._end))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout=_left(self._end))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        secured = self._stream.start_tls(
            ssl_context, server_hostname=server_hostname, timeout=_left(self._end)
        )
        return _TimedStream(secured, self._end)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def post_json(url: str, value: Any, *, headers: Mapping[str, str] | None = None) -> Call:
    """A call that sends a JSON value and wants one back."""
    both = {"Accept": "application/json", "Content-Type": "application/json", **(headers or {})}
    return Call(url=url, method="POST", headers=both, body=json.dumps(value).encode())


def joined(base: str, path: str) -> str:
    """`base` with a path added to its own. Raises AddressRefused."""
    url = checked_url(base)
    return str(url.copy_with(path=f"{url.path.rstrip('/')}/{path}"))
