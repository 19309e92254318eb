"""Keep a set of services running: start them in order, restart what dies with back-off, stop them in reverse.

Knows nothing of what the services are. Children are started by the calling thread, which must live as long as they
do: the kernel stops them when it ends.
"""

import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from kb_platform.embedded.processes import Child, ServiceError, kill_group, stop

LONGEST_DELAY_S = 30.0
PROVEN_AFTER_S = 60.0  # a service that lived this long starts its back-off anew

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One process to keep running. `start` returns it once others may use it, or raises ServiceError.

    Services of one tier are stopped together, the highest tier first; stop_steps: signals, each with the seconds it
    is given, before the process and its descendants are killed.
    """

    name: str
    tier: int
    start: Callable[[], Child]
    stop_steps: Sequence[tuple[signal.Signals, float]]


@dataclass(slots=True, kw_only=True)
class _Watched:
    service: Service
    child: Child | None = None
    started_at: float = 0.0
    failures: int = 0
    retry_at: float = 0.0


def restart_delay_s(failures: int) -> float:
    """Seconds to wait before the next start after this many failures in a row: 1, 2, 4 … LONGEST_DELAY_S."""
    return min(2.0 ** (failures - 1), LONGEST_DELAY_S)


class Supervisor:
    """Call `start` for each tier as it may come up, then `tick` at least every second, then `stop`."""

    def __init__(self, say: Say) -> None:
        """say: told in one line what ended, what is started again, and what would not stop."""
        self._say = say
        self._watched: list[_Watched] = []

    def start(self, services: Iterable[Service]) -> None:
        """Start these in order and watch them from now on. Raises ServiceError if one does not start."""
        for service in services:
            watched = _Watched(service=service)
            self._watched.append(watched)
            self._launch(watched)

    def tick(self) -> None:
        """Notice what has ended, and start again what is due."""
        for watched in self._watched:
            if watched.child and watched.child.poll() is not None:
                self._note_end(watched, describe_end(watched.child.returncode))
            elif watched.child is None and time.monotonic() >= watched.retry_at:
                self._relaunch(watched)

    def stop(self) -> None:
        """Stop everything, tier by tier, within the sum of the tiers' longest stop_steps."""
        for tier in sorted({watched.service.tier for watched in self._watched}, reverse=True):
            children = [
                watched for watched in self._watched if watched.service.tier == tier and watched.child
            ]
            with ThreadPoolExecutor(max_workers=max(len(children), 1)) as together:
                list(together.map(self._stop_one, children))
        self._watched.clear()

    def kill(self) -> None:
        """Stop waiting: end every child at once. Safe to call while `stop` runs."""
        for watched in self._watched:
            if watched.child and watched.child.poll() is None:
                kill_group(watched.child)

    def _launch(self, watched: _Watched) -> None:
        watched.child = watched.service.start()
        watched.started_at = time.monotonic()

    def _relaunch(self, watched: _Watched) -> None:
        try:
            self._launch(watched)
        except ServiceError as error:
            self._note_end(watched, f"did not start: {error}")

    def _note_end(self, watched: _Watched, what: str) -> None:
        if watched.child:
            kill_group(watched.child)  # what a dead parent left of its own children must not work on
            if time.monotonic() - watched.started_at > PROVEN_AFTER_S:
                watched.failures = 0
        watched.child = None
        watched.failures += 1
        delay_s = restart_delay_s(watched.failures)
        watched.retry_at = time.monotonic() + delay_s
        self._say(f"{watched.service.name} {what}; starting it again in {delay_s:.0f} s")

    def _stop_one(self, watched: _Watched) -> None:
        if watched.child:
            code = stop(watched.child, watched.service.stop_steps)
            if code == -signal.SIGKILL:
                self._say(f"{watched.service.name} did not stop in time and was killed")


def describe_end(code: int) -> str:
    """'ended with code 1' or 'was ended by SIGKILL'."""
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def say_on_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
