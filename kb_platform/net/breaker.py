"""A circuit breaker: who has failed several times in a row is left alone for a while, then asked once to see.

What is kept of a target lives in this process; that its circuit is open is also told to the others, for showing.
"""

import logging
import threading
import time
from dataclasses import dataclass, field
from enum import StrEnum

from django.core.cache import cache

from kb_platform.net.errors import CircuitOpen

log = logging.getLogger(__name__)
FAILURES_TO_OPEN = 3  # tries in a row
OPEN_S, LONGEST_OPEN_S = 20.0, 300.0


class CircuitState(StrEnum):
    CLOSED = "closed"  # calls are made
    OPEN = "open"  # calls are refused at once
    HALF_OPEN = "half_open"  # one call is made, to see whether it works again


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """A breaker as it is shown. failures: tries that failed in a row. retry_in_s: until the next probe, when open."""

    state: CircuitState = CircuitState.CLOSED
    failures: int = 0
    retry_in_s: float = 0.0
    reason: str = ""


@dataclass(slots=True)
class Breaker:
    key: str
    failures: int = 0
    opened_at: float | None = None
    open_s: float = OPEN_S
    probing: bool = False
    reason: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def admit(self) -> None:
        """Raises CircuitOpen unless a call may be made; after the pause only one, as a probe."""
        with self.lock:
            if self.opened_at is None:
                return
            if self.probing or time.monotonic() < self.opened_at + self.open_s:
                raise CircuitOpen()
            self.probing = True

    def succeeded(self) -> None:
        with self.lock:
            was_open = self.opened_at is not None
            self.failures, self.opened_at, self.open_s, self.probing = 0, None, OPEN_S, False
        if was_open:
            log.info("a circuit is closed again", extra={"target": self.key})
            self._publish()

    def failed(self, code: str) -> None:
        with self.lock:
            self.failures += 1
            self.reason = code
            opens = self.probing or (self.opened_at is None and self.failures >= FAILURES_TO_OPEN)
            if opens:
                self.open_s = min(self.open_s * 2, LONGEST_OPEN_S) if self.probing else OPEN_S
                self.opened_at, self.probing = time.monotonic(), False
        if opens:
            log.warning("a circuit opened", extra={"target": self.key, "cause": code})
            self._publish()

    def released(self) -> None:
        """A call that was neither: it never left."""
        with self.lock:
            self.probing = False

    def shown(self) -> Circuit:
        with self.lock:
            if self.opened_at is None:
                return Circuit(failures=self.failures, reason=self.reason if self.failures else "")
            left = self.opened_at + self.open_s - time.monotonic()
            state = CircuitState.OPEN if left > 0 else CircuitState.HALF_OPEN
            return Circuit(state=state, failures=self.failures, retry_in_s=max(left, 0.0), reason=self.reason)

    def _publish(self) -> None:
        shown = self.shown()
        try:
            if shown.state is CircuitState.CLOSED:
                cache.delete(cache_key(self.key))
            else:
                cache.set(cache_key(self.key), (time.time() + shown.retry_in_s, shown.reason), LONGEST_OPEN_S)
        except Exception as error:  # showing it elsewhere is not worth a call
            log.debug("a circuit's state could not be published", extra={"cause": repr(error)})


def cache_key(key: str) -> str:
    return f"circuit:{key}"
