"""The supervisor with real, tiny processes and a clock that the test turns."""

import signal
import subprocess
import sys
import time

import pytest

from kb_platform.embedded import supervisor as module
from kb_platform.embedded.processes import Child, ServiceError, wait_until_gone
from kb_platform.embedded.supervisor import Service, Supervisor, describe_end, restart_delay_s

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
DEAF = [
    sys.executable,
    "-c",
    "import signal,time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(60)",
]


def service(name: str, command: list[str], *, tier: int = 0, started: list[Child] | None = None) -> Service:
    def start() -> Child:
        child = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE)
        if command is DEAF:
            child.stdout.readline()
        if started is not None:
            started.append(child)
        return child

    return Service(name=name, tier=tier, start=start, stop_steps=((signal.SIGTERM, 0.5),))


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def supervisor(lines: list[str]):
    made = Supervisor(lines.append)
    yield made
    made.stop()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch):
    """`clock.advance(seconds)` moves what the supervisor takes for the time."""

    class Clock:
        offset = 0.0

        def advance(self, seconds: float) -> None:
            self.offset += seconds

        def monotonic(self) -> float:
            return time.monotonic() + self.offset

    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def end(child: Child) -> None:
    child.kill()
    child.wait()


@pytest.mark.parametrize(("failures", "delay_s"), [(1, 1), (2, 2), (3, 4), (5, 16), (6, 30), (400, 30)])
def test_delay_doubles_up_to_half_a_minute(failures: int, delay_s: float) -> None:
    assert restart_delay_s(failures) == delay_s


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0, "ended with code 0"),
        (3, "ended with code 3"),
        (-9, "was ended by SIGKILL"),
        (-99, "was ended by signal 99"),
    ],
)
def test_ends_are_described_in_words(code: int, text: str) -> None:
    assert describe_end(code) == text


def test_a_dead_service_is_started_again_after_its_delay(
    supervisor: Supervisor, lines: list[str], clock
) -> None:
    started: list[Child] = []
    supervisor.start([service("web", SLEEP, started=started)])
    end(started[0])
    supervisor.tick()
    assert lines == ["web was ended by SIGKILL; starting it again in 1 s"]
    supervisor.tick()
    assert len(started) == 1, "not before its delay"
    clock.advance(1.1)
    supervisor.tick()
    assert len(started) == 2
    assert started[1].poll() is None


def test_failures_add_up_until_a_service_has_lived_a_minute(
    supervisor: Supervisor, lines: list[str], clock
) -> None:
    started: list[Child] = []
    supervisor.start([service("web", SLEEP, started=started)])
    for lived_s in (0, 0, 61):
        clock.advance(lived_s)
        end(started[-1])
        supervisor.tick()
        clock.advance(31)
        supervisor.tick()
    assert [line.rpartition(" in ")[2] for line in lines] == ["1 s", "2 s", "1 s"]


def test_a_service_that_cannot_start_again_is_tried_later(
    supervisor: Supervisor, lines: list[str], clock
) -> None:
    answers = [subprocess.Popen(SLEEP, start_new_session=True), ServiceError("no room")]

    def start() -> Child:
        answer = answers.pop(0)
        if isinstance(answer, ServiceError):
            raise answer
        return answer

    first = answers[0]
    supervisor.start([Service(name="postgres", tier=0, start=start, stop_steps=())])
    end(first)
    supervisor.tick()
    clock.advance(1.1)
    supervisor.tick()
    assert lines[-1] == "postgres did not start: no room; starting it again in 2 s"


def test_what_a_dead_service_left_behind_is_ended_too(supervisor: Supervisor) -> None:
    parent = [
        sys.executable,
        "-c",
        "import subprocess as s; print(s.Popen(['sleep', '60']).pid, flush=True); s.time.sleep(60)",
    ]
    started: list[Child] = []
    supervisor.start([service("parse", parent, started=started)])
    orphan = int(started[0].stdout.readline())
    end(started[0])
    supervisor.tick()
    assert wait_until_gone([orphan], 5)


def test_tiers_stop_from_the_top_and_the_deaf_are_killed(
    lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[list[str]] = []
    real_stop = module.stop

    def noting_stop(child: Child, steps) -> int:
        order.append(child.args)
        return real_stop(child, steps)

    monkeypatch.setattr(module, "stop", noting_stop)
    supervisor = Supervisor(lines.append)
    supervisor.start([service("postgres", SLEEP, tier=0), service("web", DEAF, tier=4)])
    supervisor.stop()
    assert order == [DEAF, SLEEP]
    assert lines == ["web did not stop in time and was killed"]
