"""What `manage.py doctor` looks at: small checks that each report one finding. Apps add theirs by dotted name."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.utils.module_loading import import_string
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from kb_platform.celery import app
from kb_platform.embedded.preflight import database_problem, database_warnings, read_database_facts
from kb_platform.embedded.processes import ServiceError

LITTLE_SPACE_BYTES = 2_000_000_000
QUEUES = ("parse", "embed", "light")


class Level(StrEnum):
    OK = "ok"
    WARNING = "warn"
    PROBLEM = "FAIL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the report: what was looked at, and what to do if it is not well."""

    level: Level
    subject: str
    text: str


def ok(subject: str, text: str) -> Finding:
    return Finding(level=Level.OK, subject=subject, text=text)


def warning(subject: str, text: str) -> Finding:
    return Finding(level=Level.WARNING, subject=subject, text=text)


def problem(subject: str, text: str) -> Finding:
    return Finding(level=Level.PROBLEM, subject=subject, text=text)


def examine() -> Iterator[Finding]:
    """Every finding, platform first. A check that fails itself becomes a problem, never an exception."""
    checks: list[Callable[[], Iterator[Finding]]] = [_disk, _database, _broker, _workers]
    checks += [import_string(name) for name in settings.DOCTOR_CHECKS]
    for check in checks:
        try:
            yield from check()
        except (DatabaseError, ServiceError, RedisError, OSError) as error:
            yield problem(check.__name__.strip("_"), str(error).strip())


def _disk() -> Iterator[Finding]:
    free = shutil.disk_usage(settings.DATA_DIR).free
    text = f"{free / 1e9:.1f} GB free in {settings.DATA_DIR}"
    yield ok("disk", text) if free > LITTLE_SPACE_BYTES else warning("disk", f"{text}; make room")


def _database() -> Iterator[Finding]:
    facts = read_database_facts()
    if trouble := database_problem(facts):
        yield problem("database", trouble)
    for text in database_warnings(facts):
        yield warning("database", text)
    with connection.cursor() as cursor:
        cursor.execute("show server_version")
        (version,) = cursor.fetchone() or ("?",)
        yield ok("database", f"PostgreSQL {version}, pgvector {facts.installed}, role {facts.role}")
        cursor.execute("show fsync")
        if cursor.fetchone() != ("on",):
            yield problem("database", "fsync is off: committed documents can be lost. Turn it on")


def _broker() -> Iterator[Finding]:
    cache.get("doctor")
    yield ok("valkey", "answers")


def _workers() -> Iterator[Finding]:
    """Is somebody listening on each queue? What waits there would wait for ever otherwise."""
    try:
        queues = app.control.inspect(timeout=2.0).active_queues() or {}
    except (OperationalError, OSError) as error:
        yield problem("workers", f"cannot be asked: {error}")
        return
    listening = {queue["name"] for found in queues.values() for queue in found}
    for name in QUEUES:
        if name in listening:
            yield ok("workers", f"queue {name} has a worker")
        else:
            yield problem(
                "workers", f"nobody listens on queue {name}; start `manage.py up`, or a worker with -Q {name}"
            )
