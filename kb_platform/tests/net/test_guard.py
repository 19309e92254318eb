import threading
import time

import pytest

from kb_platform.net import breaker, guard
from kb_platform.net.errors import AddressRefused, BadAnswer, Busy, CircuitOpen, Late, Unreachable
from kb_platform.net.guard import Bounds, CircuitState, forget, guarded, state_of

pytestmark = pytest.mark.usefixtures("services")
FAST = Bounds(try_s=0.2, total_s=0.5)
KEY = "test:target"


@pytest.fixture(autouse=True)
def _anew():
    forget(KEY)
    yield
    forget(KEY)


def failing(error, times=99):
    calls = []

    def attempt(seconds):
        calls.append(seconds)
        if len(calls) <= times:
            raise error
        return "answer"

    attempt.calls = calls
    return attempt


def test_what_may_help_is_tried_again_at_most_three_times():
    assert guarded(KEY, FAST, failing(Unreachable(), times=2)) == "answer"
    forget(KEY)
    attempt = failing(Unreachable())
    with pytest.raises(Unreachable):
        guarded(KEY, Bounds(tries=10, total_s=5), attempt)
    assert len(attempt.calls) == 3


def test_what_cannot_help_is_tried_once():
    attempt = failing(BadAnswer())
    with pytest.raises(BadAnswer):
        guarded(KEY, FAST, attempt)
    assert len(attempt.calls) == 1


def test_all_tries_share_one_total_time():
    def slow(seconds):
        time.sleep(seconds)
        raise Late()

    begun = time.monotonic()
    with pytest.raises(Late):
        guarded(KEY, Bounds(try_s=0.15, total_s=0.3), slow)
    assert time.monotonic() - begun < 0.5


def test_after_failures_in_a_row_nothing_is_called_until_a_probe_succeeds(monkeypatch):
    monkeypatch.setattr(breaker, "OPEN_S", 0.1)
    with pytest.raises(Unreachable):
        guarded(KEY, FAST, failing(Unreachable()))
    assert state_of(KEY).state is CircuitState.OPEN
    attempt = failing(Unreachable(), times=0)
    with pytest.raises(CircuitOpen):
        guarded(KEY, FAST, attempt)
    assert attempt.calls == []
    guard._targets[KEY].breaker.open_s = 0.0
    assert state_of(KEY).state is CircuitState.HALF_OPEN
    assert guarded(KEY, FAST, attempt) == "answer"
    assert state_of(KEY).state is CircuitState.CLOSED


def test_a_probe_is_one_try_and_its_failure_opens_for_longer():
    with pytest.raises(Unreachable):
        guarded(KEY, FAST, failing(Unreachable()))
    breaker = guard._targets[KEY].breaker
    before, breaker.opened_at = breaker.open_s, -1e9
    attempt = failing(Unreachable())
    with pytest.raises(Unreachable):
        guarded(KEY, FAST, attempt)
    assert len(attempt.calls) == 1
    assert breaker.open_s == 2 * before


def test_only_one_probe_is_under_way():
    with pytest.raises(Unreachable):
        guarded(KEY, FAST, failing(Unreachable()))
    guard._targets[KEY].breaker.opened_at = -1e9
    begun, go = threading.Event(), threading.Event()

    def probe(_seconds):
        begun.set()
        go.wait(2)
        return "answer"

    thread = threading.Thread(target=guarded, args=(KEY, FAST, probe))
    thread.start()
    begun.wait(2)
    with pytest.raises(CircuitOpen):
        guarded(KEY, FAST, failing(Unreachable(), times=0))
    go.set()
    thread.join()
    assert state_of(KEY).state is CircuitState.CLOSED


def test_no_more_calls_at_once_than_allowed_and_waiting_ends():
    go = threading.Event()
    one = Bounds(total_s=0.1, concurrency=1)
    thread = threading.Thread(target=guarded, args=(KEY, one, lambda _s: go.wait(2)))
    thread.start()
    time.sleep(0.02)
    with pytest.raises(Busy):
        guarded(KEY, one, lambda _s: "never")
    go.set()
    thread.join()
    assert guarded(KEY, one, lambda _s: "free") == "free"


def test_a_refused_address_says_nothing_about_the_server():
    for _ in range(5):
        with pytest.raises(AddressRefused):
            guarded(KEY, FAST, failing(AddressRefused()))
    assert state_of(KEY).failures == 0


def test_a_circuit_that_another_process_opened_is_shown():
    with pytest.raises(Unreachable):
        guarded(KEY, FAST, failing(Unreachable()))
    guard._targets.pop(KEY)
    assert state_of(KEY).state is CircuitState.OPEN
    assert state_of(KEY).reason == "unreachable"
