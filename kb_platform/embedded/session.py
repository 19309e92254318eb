"""Services for the life of one management command: those of a running site, or its own, stopped at the end."""

import contextlib
import fcntl
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
from django.conf import settings
from django.db import connection

from kb_platform.celery import app
from kb_platform.embedded import paths, preparation, valkey
from kb_platform.embedded.lock import FolderInUseError, FolderLock, Holder
from kb_platform.embedded.processes import ServiceError
from kb_platform.embedded.stack import database_services, worker_services
from kb_platform.embedded.supervisor import Supervisor, say_on_stderr

READY_TIMEOUT_S = 120.0


@contextlib.contextmanager
def ensure_services(*, workers: bool = False) -> Iterator[None]:
    """The databases, migrated, and with `workers` something that runs queued tasks, answer inside this context.

    A running site of this data folder is used as it is; what is missing is started, and stopped again on the way
    out, once other commands that meanwhile use it have ended. Raises ServiceError if that is not possible.
    """
    lock, supervisor = FolderLock(settings.DATA_DIR), Supervisor(say_on_stderr)
    holder = _take(lock, workers=workers)
    try:
        if holder is None:
            supervisor.start(database_services())
            if settings.EMBEDDED_POSTGRES:
                preparation.prepare_if_behind()
        else:
            _wait_until_usable(holder)
        if workers and not _has_workers(holder):
            supervisor.start(worker_services(terminal=None))
        with _watching(supervisor):
            with _sharing(settings.DATA_DIR):
                yield
            if holder is None:
                _wait_for_others(settings.DATA_DIR)
    finally:
        if holder is None:
            preparation.release_connections()
        supervisor.stop()
        lock.release()


def _take(lock: FolderLock, *, workers: bool) -> Holder | None:
    """None if the folder is now ours, else who has it."""
    try:
        lock.take(command=" ".join(["manage.py", *sys.argv[1:2]]), has_workers=workers)
    except FolderInUseError as error:
        return error.holder or Holder(pid=0, command="another process", has_workers=False)
    return None


def _has_workers(holder: Holder | None) -> bool:
    """Whether tasks are run already: by the folder's holder, or, with an external queue, by any worker that answers."""
    if holder:
        return holder.has_workers
    return not settings.EMBEDDED_VALKEY and bool(app.control.ping(timeout=2, limit=1))


def _wait_until_usable(holder: Holder) -> None:
    """Until the databases of a site that may still be starting answer and are migrated."""
    end = time.monotonic() + READY_TIMEOUT_S
    while not _is_usable():
        if time.monotonic() > end:
            raise ServiceError(
                f"Process {holder.pid} ({holder.command}) holds {settings.DATA_DIR}, but its databases do not answer "
                f"after {READY_TIMEOUT_S:.0f} s"
            )
        time.sleep(0.5)


def _is_usable() -> bool:
    if settings.EMBEDDED_VALKEY and not valkey.answers(paths.valkey_socket(settings.DATA_DIR)):
        return False
    try:
        psycopg.connect(**{**connection.get_connection_params(), "connect_timeout": 5}).close()
    except psycopg.OperationalError:
        return False
    return preparation.count_unapplied() == 0


@contextlib.contextmanager
def _watching(supervisor: Supervisor) -> Iterator[None]:
    """Heal the started services from a thread meanwhile."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.5):
            supervisor.tick()

    thread = threading.Thread(target=watch, name="service watch")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def _sharing(data_dir: Path) -> Iterator[None]:
    """Marks this command as a user of the folder's services."""
    with (data_dir / "users").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def _wait_for_others(data_dir: Path) -> None:
    """Until no other command uses the services that this one started."""
    with (data_dir / "users").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say_on_stderr("Done; waiting for other commands that use the databases started by this one")
            fcntl.flock(file, fcntl.LOCK_EX)
