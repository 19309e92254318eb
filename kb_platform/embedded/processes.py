"""Child processes that never outlive their parent, and one way to stop them: ask, wait, then insist."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

LOG_LIMIT_BYTES = 10_000_000
ROOT = 0


class ServiceError(RuntimeError):
    """A service cannot run here; the text is one sentence for the person who started it."""


Child = subprocess.Popen[bytes]


def dying_with_parent(ask: signal.Signals) -> list[str]:
    """Command prefix by which the kernel sends `ask` to the child when its parent dies, even by kill -9."""
    return ["setpriv", "--pdeathsig", ask.name.removeprefix("SIG"), "--"] if shutil.which("setpriv") else []


def open_log(path: Path) -> IO[bytes]:
    """Opened for appending; a log above LOG_LIMIT_BYTES is first moved aside, replacing the one before it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.exists() and path.stat().st_size > LOG_LIMIT_BYTES:
        path.replace(path.with_name(path.name + ".1"))
    return path.open("ab")


def last_line(path: Path) -> str:
    """The last line of a log that says something, or "" if none does."""
    with path.open("rb") as log:
        log.seek(max(path.stat().st_size - 4000, 0))
        lines = log.read().decode("utf-8", errors="replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def stop(child: Child, steps: Sequence[tuple[signal.Signals, float]]) -> int:
    """Send each signal in turn, waiting its seconds, until the child has ended; at last kill its whole group.

    The child leads a session of its own, so that the group holds it and its descendants only.
    Returns its exit code (negative: the signal that ended it).
    """
    for number, wait_s in steps:
        if child.poll() is None:
            child.send_signal(number)
            try:
                child.wait(wait_s)
            except subprocess.TimeoutExpired:
                continue
    kill_group(child)
    return child.wait()


def kill_group(child: Child) -> None:
    """End what is left of the child's session at once; nothing left is fine."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        if child.poll() is None:
            child.kill()


def wait_until_gone(pids: Sequence[int], timeout_s: float) -> bool:
    """Whether all of these processes, which need not be children, have ended (zombies count as ended) in time."""
    end = time.monotonic() + timeout_s
    while any(is_alive(pid) for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def is_alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in "ZX"
