"""Ending processes, and making sure that they end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kb_platform.embedded import processes
from kb_platform.embedded.processes import (
    dying_with_parent,
    is_alive,
    last_line,
    open_log,
    stop,
    wait_until_gone,
)


def test_a_process_that_obeys_is_not_killed() -> None:
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    assert stop(child, [(signal.SIGTERM, 5)]) == -signal.SIGTERM


def test_a_process_that_does_not_is() -> None:
    deaf = "import signal,time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", deaf], start_new_session=True, stdout=subprocess.PIPE)
    assert child.stdout
    child.stdout.readline()
    assert stop(child, [(signal.SIGTERM, 0.2)]) == -signal.SIGKILL


def test_a_child_dies_with_a_parent_that_is_killed() -> None:
    parent = f"import subprocess,time; print(subprocess.Popen({[*dying_with_parent(signal.SIGTERM), 'sleep', '60']}).pid, flush=True); time.sleep(60)"
    killed = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE)
    assert killed.stdout
    child = int(killed.stdout.readline())
    _wait_for_exec(child, "sleep")
    killed.kill()
    killed.wait()
    assert wait_until_gone([child], 5)


def _wait_for_exec(pid: int, name: str) -> None:
    while Path(f"/proc/{pid}/comm").read_text().strip() != name:
        pass


def test_a_zombie_is_not_alive() -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(child.pid)
    child.wait()


def test_a_long_log_is_moved_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LOG_LIMIT_BYTES", 3)
    for text in (b"old!", b"new"):
        with open_log(tmp_path / "logs" / "web.log") as log:
            log.write(text)
    assert (tmp_path / "logs" / "web.log").read_bytes() == b"new"
    assert (tmp_path / "logs" / "web.log.1").read_bytes() == b"old!"


@pytest.mark.parametrize(("text", "last"), [("", ""), ("one\ntwo\n\n", "two"), ("x" * 5000 + "\nend", "end")])
def test_the_last_line_of_a_log_is_the_last_that_says_something(tmp_path: Path, text: str, last: str) -> None:
    log = tmp_path / "log"
    log.write_text(text)
    assert last_line(log) == last
