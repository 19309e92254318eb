"""One trace id from the HTTP request to the last log line, and where the request came from: context variables."""

import re
import secrets
from contextvars import ContextVar

HEADER = "X-Trace-Id"
_current: ContextVar[str] = ContextVar("trace_id", default="")
_origin: ContextVar[str] = ContextVar("origin", default="")
_ACCEPTABLE = re.compile(r"[0-9a-f]{32}")


def new_trace_id() -> str:
    """32 hexadecimal digits, the shape of a W3C trace id."""
    return secrets.token_hex(16)


def trace_id() -> str:
    """The id of the work in hand, or an empty string outside of any."""
    return _current.get()


def set_trace_id(value: str | None = None) -> str:
    """Adopt a well-formed id from outside, or begin a new one; returns the id in force."""
    chosen = value if value and _ACCEPTABLE.fullmatch(value) else new_trace_id()
    _current.set(chosen)
    return chosen


def origin() -> str:
    """The address of the connection behind the work in hand; empty for the system's own."""
    return _origin.get()


def set_origin(address: str) -> None:
    _origin.set(address[:64])
