"""`manage.py up`, whole: a site comes up, heals, refuses a second owner, and leaves nothing behind."""

import json
import os
import re
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
from pathlib import Path
from urllib.parse import quote

import pytest
from django.conf import settings

from kb_platform.embedded import paths
from kb_platform.embedded.postgres import Postgres
from kb_platform.embedded.processes import is_alive, wait_until_gone

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
PROCESSES = {
    "web": "uvicorn",
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

    def command(self, *arguments: str, **popen: object) -> subprocess.Popen[str]:
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.Popen(command, cwd=settings.BASE_DIR, env=self.environment, text=True, **popen)

    def _read(self) -> None:
        self.lines.extend(iter(self.process.stdout.readline, ""))

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def get(self, path: str) -> dict:
        with urllib.request.urlopen(self.address + path, timeout=5) as answer:
            return json.load(answer)

    def descendants(self) -> dict[int, str]:
        """Living processes below the supervisor, with their command lines."""
        parents = dict(_parents())
        return {
            pid: Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            for pid in parents
            if self.process.pid in _ancestors(pid, parents)
        }

    def pid_of(self, name: str) -> int:
        """The direct child of the supervisor that has this name in the output."""
        parents = dict(_parents())
        matching = [
            p
            for p, line in self.descendants().items()
            if PROCESSES[name] in line and parents[p] == self.process.pid
        ]
        return matching[0] if matching else 0

    def is_well(self) -> bool:
        try:
            return self.get("/readyz")["parts"] == {"database": "ok", "cache": "ok"} and all(
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


@pytest.fixture
def site() -> Iterator[Callable[[], RunningSite]]:
    """`site()`: starts the site of one data folder, below a closed folder, and waits for it."""
    home = Path(tempfile.mkdtemp())
    data_dir, port = home / "data", free_port()
    made: list[RunningSite] = []

    def start() -> RunningSite:
        running = RunningSite(data_dir, port)
        made.append(running)
        assert becomes(lambda: "Open http" in running.output or running.process.poll() is not None)
        assert running.process.poll() is None, running.output
        return running

    yield start
    for running in made:
        if running.process.poll() is None:
            running.process.send_signal(signal.SIGINT)
            running.process.wait(40)
    shutil.rmtree(paths.run_dir(data_dir), ignore_errors=True)
    shutil.rmtree(home)


def refusal(command: subprocess.Popen[str]) -> str:
    said = command.communicate(timeout=60)[1]
    assert command.returncode == 1
    assert "Traceback" not in said
    return said


def test_a_site_heals_and_stops_without_a_trace(site: Callable[[], RunningSite]) -> None:
    running = site()
    assert running.get("/healthz") == {"status": "ok"}
    assert re.search(rf"first-start/\S+\nOpen {running.address}\n*$", running.output), (
        "the link is what one sees last"
    )

    second = refusal(running.command("up", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
    assert f"in use by process {running.process.pid} (manage.py up)" in second

    running.environment["KB_DATA_DIR"] += "-other"
    third = refusal(running.command("up", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
    assert f"Port {running.environment['KB_PORT']} " in third

    for name in PROCESSES:
        os.kill(running.pid_of(name), signal.SIGKILL)
    assert becomes(lambda: running.output.count("starting it again") >= len(PROCESSES)), running.output
    assert becomes(running.is_well), running.output

    everyone = list(running.descendants())
    started = time.monotonic()
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(40) == 0, running.output
    assert time.monotonic() - started < 27
    assert [pid for pid in everyone if is_alive(pid)] == []


def test_a_killed_supervisor_takes_its_children_along_and_the_next_start_works(
    site: Callable[[], RunningSite],
) -> None:
    first = site()
    everyone = list(first.descendants())
    first.process.kill()
    second = site()
    assert second.is_well()
    assert wait_until_gone(everyone, 30)
    link = re.compile(r"first-start/")
    assert link.search(second.output), "without an administrator there is a link again"


@pytest.fixture
def server_of_ones_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Postgres, str]]:
    """A PostgreSQL that stands for an external one, and the URL of a database on it that lacks the extension."""
    folder = tmp_path_factory.mktemp("external")
    server = Postgres(folder, options={"shared_buffers": "16MB"})
    server.start_provisioned()
    server.psql("CREATE DATABASE bare OWNER zhiku TEMPLATE template0")
    yield server, f"postgresql://zhiku@{quote(str(paths.run_dir(folder)), safe='')}/bare"
    server.stop()
    shutil.rmtree(paths.run_dir(folder))


def test_external_servers_are_checked_before_anything_starts(
    server_of_ones_own: tuple[Postgres, str], tmp_path: Path
) -> None:
    server, url = server_of_ones_own

    def start(**environment: str) -> str:
        running = RunningSite(tmp_path, free_port(), **environment)
        assert running.process.wait(60) == 1
        running.reader.join()
        assert "Traceback" not in running.output
        return running.output

    assert "in it as a superuser: CREATE EXTENSION vector;" in start(DATABASE_URL=url)
    version = "UPDATE pg_extension SET extversion = '{}' WHERE extname = 'vector'"
    server.psql("CREATE EXTENSION vector;" + version.format("0.7.4"), database="bare")
    assert re.search(r"pgvector 0\.7\.4, but 0\.8 .*ALTER EXTENSION vector UPDATE;", start(DATABASE_URL=url))
    server.psql(version.format("0.8.0"), database="bare")
    said = start(DATABASE_URL=url, REDIS_URL="redis://:secret@127.0.0.1:1/0")
    assert "redis://:…@127.0.0.1:1/0 (REDIS_URL) cannot be used" in said
    server.stop()
    assert "(DATABASE_URL) cannot be used" in start(DATABASE_URL=url)
