"""Steps between reachable databases and a site that can serve: each may be repeated, and is quick when nothing is left."""

import hashlib
import signal
import subprocess
import sys
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import connection, connections
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.migrations.executor import MigrationExecutor

from kb_platform.embedded.processes import ServiceError, dying_with_parent
from kb_platform.embedded.supervisor import Say


def prepare(say: Say, *, is_built: bool = False) -> str:
    """All steps in order. Returns what `bootstrap` printed, such as the first administrator's link.

    is_built: static files and translations came with the program, in folders that cannot be written.
    """
    if behind := count_unapplied():
        say(f"Preparing the database: {behind} migrations")
    migrate()
    if not is_built:
        collect_static()
        compile_translations()
    prepare_embedder()
    printed = bootstrap()
    release_connections()
    return printed


def prepare_if_behind() -> None:
    """For single commands: a data folder that no site has served with this version is prepared first."""
    if count_unapplied():
        migrate()
        prepare_embedder()
        print(bootstrap(), file=sys.stderr)


def count_unapplied() -> int:
    """Migrations that the database lacks."""
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def migrate() -> None:
    call_command("migrate", interactive=False, verbosity=0)


def collect_static() -> None:
    """Copy, hash and compress the static files, which takes seconds, unless none has changed since the last time."""
    stamp, current = settings.DATA_DIR / "staticfiles.stamp", _static_fingerprint()
    if settings.STATIC_ROOT.is_dir() and stamp.exists() and stamp.read_text() == current:
        return
    call_command("collectstatic", interactive=False, verbosity=0)
    stamp.write_text(current)


def compile_translations() -> None:
    call_command("compile_translations", verbosity=0)


def prepare_embedder() -> None:
    """Convert the bundled model, or check the configured folder. Raises ServiceError if it fails."""
    run_command("prepare_embedder")


def bootstrap() -> str:
    """What every site must have, such as its first index generation; returns the lines for the operator."""
    return run_command("bootstrap")


def run_command(name: str) -> str:
    """What `manage.py name` prints, run in a process of its own, which gives its memory back when it ends.

    Its errors and logs are shown. Raises ServiceError if it fails.
    """
    command = [*dying_with_parent(signal.SIGTERM), sys.executable, "manage.py", name]
    done = subprocess.run(
        command,
        cwd=settings.BASE_DIR,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    if done.returncode:
        raise ServiceError(f"`manage.py {name}` failed with code {done.returncode}; the reason is above")
    return done.stdout.strip()


def _static_fingerprint() -> str:
    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list([]):
            info = Path(storage.path(path)).stat()
            digest.update(f"{path} {info.st_size} {info.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def release_connections() -> None:
    """Close this process's pool: a supervisor has no further use for the database."""
    for each in connections.all(initialized_only=True):
        each.close()
        if isinstance(each, DatabaseWrapper):
            each.close_pool()
