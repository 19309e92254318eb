"""Calls to another server within bounds: at most three tries inside a total time, so many at once, and a circuit breaker.

A target is known by its key; what is kept of it lives in this process. `state_of` is for showing: it also knows, through the
cache, of a circuit that another process opened.
"""

import logging
import random
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from django.core.cache import cache

from kb_platform.net.errors import AddressRefused, Busy, CircuitOpen, Late, OutboundError

log = logging.getLogger(__name__)
T = TypeVar("T")
MOST_TRIES = 3
FAILURES_TO_OPEN = 3  # tries in a row
OPEN_S, LONGEST_OPEN_S = 20.0, 300.0
BACKOFF_S = 0.1
MOST_TARGETS = 512


class CircuitState(StrEnum):
    CLOSED = "closed"  # calls are made
    OPEN = "open"  # calls are refused at once
    HALF_OPEN = "half_open"  # one call is made, to see whether it works again


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """try_s: of one try. total_s: of all tries with the waits between them, and the wait for a free place.

    concurrency: calls under way at once from this process.
    """

    try_s: float = 2.0
    total_s: float = 4.0
    tries: int = MOST_TRIES
    concurrency: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """A breaker as it is shown. failures: tries that failed in a row. retry_in_s: until the next probe, when open."""

    state: CircuitState = CircuitState.CLOSED
    failures: int = 0
    retry_in_s: float = 0.0
    reason: str = ""


@dataclass(slots=True)
class _Breaker:
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
                cache.delete(_cache_key(self.key))
            else:
                cache.set(
                    _cache_key(self.key), (time.time() + shown.retry_in_s, shown.reason), LONGEST_OPEN_S
                )
        except Exception as error:  # showing it elsewhere is not worth a call
            log.debug("a circuit's state could not be published", extra={"cause": repr(error)})


@dataclass(slots=True)
class _Target:
    breaker: _Breaker
    places: threading.BoundedSemaphore
    concurrency: int


_targets: OrderedDict[str, _Target] = OrderedDict()
_lock = threading.Lock()


def guarded(key: str, bounds: Bounds, attempt: Callable[[float], T]) -> T:
    """What `attempt(seconds it may take)` returns, tried again where that may help.

    Raises CircuitOpen, Busy, or the last try's OutboundError. Every OutboundError counts against the target, except that an
    address is refused.
    """
    target = _target(key, bounds.concurrency)
    end = time.monotonic() + bounds.total_s
    target.breaker.admit()
    if not target.places.acquire(timeout=max(bounds.total_s / 2, 0.0)):
        target.breaker.released()
        raise Busy()
    try:
        return _tried(target.breaker, bounds, attempt, end)
    finally:
        target.places.release()


def _tried(breaker: _Breaker, bounds: Bounds, attempt: Callable[[float], T], end: float) -> T:
    problem: OutboundError = Late()
    for number in range(1, min(bounds.tries, MOST_TRIES) + 1):
        left = end - time.monotonic()
        if left <= 0:
            break
        try:
            result = attempt(min(bounds.try_s, left))
        except AddressRefused:
            breaker.released()
            raise
        except OutboundError as error:
            problem = error
            breaker.failed(error.code)
            if not error.is_retryable or breaker.shown().state is not CircuitState.CLOSED:
                break
        except BaseException:
            breaker.released()
            raise
        else:
            breaker.succeeded()
            return result
        pause = BACKOFF_S * 2 ** (number - 1) * (0.5 + random.random())  # noqa: S311 - spreads, keeps no secret
        if number == bounds.tries or time.monotonic() + pause >= end:
            break
        time.sleep(pause)
    raise problem


def _target(key: str, concurrency: int) -> _Target:
    with _lock:
        found = _targets.get(key)
        if found is None or found.concurrency != concurrency:
            breaker = found.breaker if found else _Breaker(key)
            found = _Target(breaker, threading.BoundedSemaphore(concurrency), concurrency)
            _targets[key] = found
        _targets.move_to_end(key)
        if len(_targets) > MOST_TARGETS:
            _targets.popitem(last=False)
        return found


def state_of(key: str) -> Circuit:
    """How the circuit of a target stands, in this process or, if it is closed here, in another."""
    with _lock:
        found = _targets.get(key)
    shown = found.breaker.shown() if found else Circuit()
    if shown.state is not CircuitState.CLOSED:
        return shown
    try:
        published = cache.get(_cache_key(key))
    except Exception:  # the cache may be away
        published = None
    if published is None:
        return shown
    until, reason = published
    left = until - time.time()
    state = CircuitState.OPEN if left > 0 else CircuitState.HALF_OPEN
    return Circuit(state=state, failures=FAILURES_TO_OPEN, retry_in_s=max(left, 0.0), reason=reason)


def forget(key: str) -> None:
    """Begin anew with a target, whose settings changed or which an administrator tries by hand."""
    with _lock:
        _targets.pop(key, None)
    try:
        cache.delete(_cache_key(key))
    except Exception as error:  # the cache may be away
        log.debug("a circuit's state could not be removed", extra={"cause": repr(error)})


def _cache_key(key: str) -> str:
    return f"circuit:{key}"
