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
from dataclasses import dataclass
from typing import TypeVar

from django.core.cache import cache

from kb_platform.net.breaker import FAILURES_TO_OPEN, Breaker, Circuit, CircuitState, cache_key
from kb_platform.net.errors import AddressRefused, Busy, Late, OutboundError

log = logging.getLogger(__name__)
T = TypeVar("T")
MOST_TRIES = 3
BACKOFF_S = 0.1
MOST_TARGETS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """try_s: of one try. total_s: of all tries with the waits between them, and the wait for a free place.

    concurrency: calls under way at once from this process.
    """

    try_s: float = 2.0
    total_s: float = 4.0
    tries: int = MOST_TRIES
    concurrency: int = 4


@dataclass(slots=True)
class _Target:
    breaker: Breaker
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


def _tried(breaker: Breaker, bounds: Bounds, attempt: Callable[[float], T], end: float) -> T:
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
            breaker = found.breaker if found else Breaker(key)
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
        published = cache.get(cache_key(key))
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
        cache.delete(cache_key(key))
    except Exception as error:  # the cache may be away
        log.debug("a circuit's state could not be removed", extra={"cause": repr(error)})
