"""Reads that may lag a little: they go to a read replica where one is configured, and to the main database while it is away.

A replica (PostgreSQL streaming replication) is named by KB_REPLICA_URL. Only blocks of `reading_from` use it; whatever
decides about access to text reads the main database.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, models

REPLICA = "replica"
REST_S = 20.0  # so long a replica that failed is left alone
_alias: ContextVar[str] = ContextVar("database_read", default=DEFAULT_DB_ALIAS)
_rests_until = 0.0


class ReadRouter:
    """Lets the ORM follow `reading_from`. Writes and migrations never leave the main database."""

    def db_for_read(self, model: type[models.Model], **hints: Any) -> str | None:
        return _alias.get()

    def db_for_write(self, model: type[models.Model], **hints: Any) -> str | None:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: models.Model, other: models.Model, **hints: Any) -> bool:
        return True

    def allow_migrate(self, database: str, app_label: str, **hints: Any) -> bool:
        return database == DEFAULT_DB_ALIAS


def choose() -> str:
    """The alias for a read that may lag."""
    if not settings.REPLICA_URL or time.monotonic() < _rests_until:
        return DEFAULT_DB_ALIAS
    return REPLICA


def is_away() -> bool:
    return bool(settings.REPLICA_URL) and time.monotonic() < _rests_until


def leave_alone() -> None:
    """The replica has failed: for a while every read goes to the main database."""
    global _rests_until
    _rests_until = time.monotonic() + REST_S


def reading_alias() -> str:
    """The database that reads go to here and now, for statements that are written out."""
    return _alias.get()


@contextmanager
def reading_from(alias: str) -> Iterator[None]:
    token = _alias.set(alias)
    try:
        yield
    finally:
        _alias.reset(token)
