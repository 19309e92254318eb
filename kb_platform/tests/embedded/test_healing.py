"""Servers of the wheels, killed in every way, find their data again."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from kb_platform.embedded import paths
from kb_platform.embedded.postgres import Postgres, RunAs, choose_user, make_run_dir
from kb_platform.embedded.processes import ROOT, ServiceError, wait_until_gone
from kb_platform.embedded.valkey import Valkey, answers

pytestmark = pytest.mark.integration
QUICK = {"shared_buffers": "16MB"}


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """Below a closed folder, as a home folder of root is."""
    home = Path(tempfile.mkdtemp())
    folder = home / "data"
    folder.mkdir()
    yield folder
    shutil.rmtree(paths.run_dir(folder), ignore_errors=True)
    shutil.rmtree(home)


@pytest.fixture
def postgres(data_dir: Path) -> Iterator[Callable[..., Postgres]]:
    """`postgres()`: a started server of the one data folder; each is stopped in the end."""
    made: list[Postgres] = []

    def start(**options: object) -> Postgres:
        made.append(Postgres(data_dir, options=QUICK, **options))
        made[-1].start_provisioned()
        return made[-1]

    yield start
    for server in made:
        server.stop()


@pytest.fixture
def valkey(data_dir: Path) -> Iterator[Callable[[], Valkey]]:
    made: list[Valkey] = []

    def start() -> Valkey:
        made.append(Valkey(data_dir))
        made[-1].start()
        return made[-1]

    yield start
    for server in made:
        server.stop()


def note(server: Postgres, text: str) -> None:
    server.psql(
        f"CREATE TABLE IF NOT EXISTS note (t text); INSERT INTO note VALUES ('{text}')", database="zhiku"
    )


def notes(server: Postgres) -> str:
    return server.psql("SELECT string_agg(t, ',') FROM note", database="zhiku")


def client(data_dir: Path) -> redis.Redis:
    return redis.Redis(unix_socket_path=str(paths.valkey_socket(data_dir)), decode_responses=True)


def test_the_role_of_the_application_is_bound_by_row_level_security(
    postgres: Callable[..., Postgres],
) -> None:
    server = postgres()
    rights = "SELECT rolsuper, rolbypassrls, rolcreatedb FROM pg_roles WHERE rolname = 'zhiku'"
    assert server.psql(rights) == "f|f|t"
    assert (
        server.psql("SELECT extversion >= '0.8' FROM pg_extension WHERE extname = 'vector'", database="zhiku")
        == "t"
    )
    assert server.psql("SHOW listen_addresses") == ""


def test_postgres_killed_twice_keeps_what_was_committed(postgres: Callable[..., Postgres]) -> None:
    server = postgres()
    for text in ("one", "two"):
        note(server, text)
        assert server.process
        server.process.kill()
        server.process.wait()
        server.start()
    assert notes(server) == "one,two"


def test_an_orphan_of_a_killed_supervisor_is_replaced(postgres: Callable[..., Postgres]) -> None:
    orphan = postgres()  # never stopped by whoever started it
    note(orphan, "kept")
    server = postgres()
    assert orphan.process
    assert orphan.process.wait(1) is not None
    assert notes(server) == "kept"


def test_a_note_of_a_dead_server_whose_number_lives_on_elsewhere_is_ignored(
    postgres: Callable[..., Postgres], data_dir: Path
) -> None:
    server = postgres()
    pid_file = data_dir / "postgres" / "postmaster.pid"
    left = pid_file.read_text().splitlines()
    server.stop()
    bystander = subprocess.Popen(["sleep", "60"])
    pid_file.write_text("\n".join([str(bystander.pid), *left[1:]]) + "\n")
    server.start()
    assert server.psql("SELECT 1") == "1"
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_a_first_start_that_was_killed_half_way_is_begun_anew(
    postgres: Callable[..., Postgres], data_dir: Path
) -> None:
    (data_dir / "postgres" / "base").mkdir(parents=True)
    (data_dir / "postgres" / "PG_VERSION").write_text("18\n")
    assert postgres().psql("SELECT 1") == "1"


def test_a_moved_data_folder_serves_as_before(postgres: Callable[..., Postgres], data_dir: Path) -> None:
    server = postgres()
    note(server, "kept")
    server.stop()
    moved = data_dir.rename(data_dir.with_name("elsewhere"))
    again = Postgres(moved, options=QUICK)
    again.start()
    assert notes(again) == "kept"
    again.stop()
    shutil.rmtree(paths.run_dir(moved))


@pytest.mark.skipif(os.geteuid() != ROOT, reason="only root has another user to drop to")
def test_without_namespaces_root_drops_to_nobody_who_cannot_enter_a_closed_home(
    postgres: Callable[..., Postgres], data_dir: Path
) -> None:
    server = postgres(run_as=choose_user(namespaces_allowed=False))
    note(server, "kept")
    assert server.process
    assert Path(f"/proc/{server.process.pid}").stat().st_uid != ROOT
    server.process.kill()
    server.process.wait()
    server.start()
    assert notes(server) == "kept"
    server.stop()
    shutil.rmtree((data_dir / "postgres.path").read_text())


def test_valkey_killed_or_orphaned_keeps_its_keys(valkey: Callable[[], Valkey], data_dir: Path) -> None:
    server = valkey()
    client(data_dir).set("bell", "rung")
    assert server.process
    server.process.kill()
    server.process.wait()
    server.start()
    assert client(data_dir).get("bell") == "rung"
    valkey()  # the one before it is an orphan now
    assert server.process.wait(1) == 0
    assert client(data_dir).get("bell") == "rung"


def test_valkey_listens_on_its_socket_only(valkey: Callable[[], Valkey], data_dir: Path) -> None:
    valkey()
    configured = client(data_dir).config_get("port", "appendonly", "maxmemory-policy")
    assert configured == {"port": "0", "appendonly": "yes", "maxmemory-policy": "noeviction"}
    assert stat.S_IMODE(paths.run_dir(data_dir).stat().st_mode) == 0o700


def test_a_folder_of_sockets_that_is_a_link_is_refused(data_dir: Path, tmp_path: Path) -> None:
    paths.run_dir(data_dir).symlink_to(tmp_path)
    with pytest.raises(ServiceError, match="belongs to someone else"):
        make_run_dir(data_dir, RunAs())
    paths.run_dir(data_dir).unlink()


def test_a_path_too_long_for_a_socket_is_refused(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_RUN_DIR", "/tmp/" + "x" * 110)
    with pytest.raises(ServiceError, match="KB_RUN_DIR"):
        make_run_dir(data_dir, RunAs())


def test_both_stop_when_their_supervisor_is_killed(data_dir: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from kb_platform.embedded.postgres import Postgres;"
        " from kb_platform.embedded.valkey import Valkey; folder = Path(sys.argv[1]);"
        " print(Postgres(folder, options={'shared_buffers': '16MB'}).start().pid, Valkey(folder).start().pid, flush=True);"
        " time.sleep(60)"
    )
    supervisor = subprocess.Popen([sys.executable, "-c", program, str(data_dir)], stdout=subprocess.PIPE)
    assert supervisor.stdout
    pids = [int(pid) for pid in supervisor.stdout.readline().split()]
    supervisor.send_signal(signal.SIGKILL)
    supervisor.wait()
    assert len(pids) == 2
    assert wait_until_gone(pids, 10)
    assert not answers(paths.valkey_socket(data_dir))
