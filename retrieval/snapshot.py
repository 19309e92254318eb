"""One consistent view of the database for a step of a search."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.utils import CursorWrapper

from kb_platform.replica import reading_from


@contextmanager
def read_snapshot(using: str = DEFAULT_DB_ALIAS) -> Iterator[CursorWrapper]:
    """A cursor in a READ ONLY, REPEATABLE READ transaction: all statements see the same moment, those of the ORM too.

    using: the database (`kb_platform.replica.choose`). Raises TransactionManagementError inside another transaction,
    whose snapshot would be older than this step.
    """
    connection = connections[using]
    if connection.in_atomic_block:
        raise transaction.TransactionManagementError("a search needs a transaction of its own")
    with reading_from(using), transaction.atomic(using=using), connection.cursor() as cursor:
        cursor.execute("set transaction isolation level repeatable read, read only")
        yield cursor
