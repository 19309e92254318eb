"""A whole site of its own for a test: `manage.py up` in a temporary data folder, and the pids of its parts."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings

from kb_platform.embedded import paths

PROCESSES = {
    "web": "manage.py web",
    "parse": "parse@",
    "embed": "embed@",
    "postgres": "postgres -D",
    "valkey": "valkey-server",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RunningSite:
    """One `manage.py up`, its output collected by a thread."""

    def __init__(self, data_dir: Path, port: int, **environment: str) -> None:
        self.environment = {
            **os.environ,
            "KB_DATA_DIR": str(data_dir),
            "KB_PORT": str(port),
            "KB_SAMPLES": "0",
        }
        self.environment["DJANGO_SETTINGS_MODULE"] = "kb_platform.settings.production"
        self.environment |= environment
        self.address = f"http://127.0.0.1:{port}"
        self.process = self.command("up", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.lines: list[str] = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def command(self, *arguments: str, **popen: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.Popen(command, cwd=settings.BASE_DIR, env=self.environment, text=True, **popen)

    def _read(self) -> None:
        assert self.process.stdout
        self.lines.extend(iter(self.process.stdout.readline, ""))

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.address + path, timeout=5) as answer:
            return json.load(answer)

    def descendants(self) -> dict[int, str]:
        """Living processes below the supervisor, with their command lines."""
        parents = dict(_parents())
        below = (pid for pid in parents if self.process.pid in _ancestors(pid, parents))
        return {pid: line for pid in below if (line := _command_line(pid))}

    def pid_of(self, name: str) -> int:
        """The direct child of the supervisor that has this name in the output."""
        parents = dict(_parents())
        matching = [
            p
            for p, line in self.descendants().items()
            if PROCESSES[name] in line and parents[p] == self.process.pid
        ]
        return matching[0] if matching else 0

    def kill(self, name: str) -> None:
        """kill -9 the process of this name, which may just be starting again."""
        victim = 0

        def runs() -> bool:
            nonlocal victim
            victim = self.pid_of(name)
            return victim > 0

        assert becomes(runs), f"{name} does not run: {self.output}"
        os.kill(victim, signal.SIGKILL)

    def stop(self) -> None:
        """In order, as Ctrl-C does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(40)

    def is_well(self) -> bool:
        try:
            return self.get("/readyz")["parts"] == {"database": "ok", "cache": "ok", "storage": "ok"} and all(
                map(self.pid_of, PROCESSES)
            )
        except OSError:
            return False


def _parents() -> Iterator[tuple[int, int]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            yield int(folder.name), int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue


def _command_line(pid: int) -> str:
    """Empty once the process is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def _ancestors(pid: int, parents: dict[int, int]) -> set[int]:
    found: set[int] = set()
    while pid := parents.get(pid, 0):
        found.add(pid)
    return found


def becomes(is_true: Callable[[], bool], timeout_s: float = 90) -> bool:
    end = time.monotonic() + timeout_s
    while not is_true():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


@contextmanager
def sites(**environment: str) -> Iterator[Callable[[], RunningSite]]:
    """`start()`: starts the site of one data folder, below a closed folder, and waits for it."""
    home = Path(tempfile.mkdtemp())
    data_dir, port = home / "data", free_port()
    made: list[RunningSite] = []

    def start() -> RunningSite:
        running = RunningSite(data_dir, port, **environment)
        made.append(running)
        assert becomes(
            lambda: "Open http" in running.output or running.process.poll() is not None, timeout_s=240
        ), running.output
        assert running.process.poll() is None, running.output
        return running

    try:
        yield start
    finally:
        for running in made:
            running.stop()
        shutil.rmtree(paths.run_dir(data_dir), ignore_errors=True)
        shutil.rmtree(home)
