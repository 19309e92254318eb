"""`manage.py up`, whole: a site comes up, heals, refuses a second owner, and leaves nothing behind."""

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from kb_platform.embedded import paths
from kb_platform.embedded.postgres import Postgres
from kb_platform.embedded.processes import is_alive, wait_until_gone
from kb_platform.testing.site import PROCESSES, RunningSite, becomes, free_port, sites

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


@pytest.fixture
def site() -> Iterator[Callable[[], RunningSite]]:
    """`site()`: starts the site of one data folder and waits for it."""
    with sites() as start:
        yield start


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
        running.kill(name)
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
