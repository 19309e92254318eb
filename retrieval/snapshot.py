"""One consistent view of the database for a step of a search."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper


@contextmanager
def read_snapshot() -> Iterator[CursorWrapper]:
    """A cursor in a READ ONLY, REPEATABLE READ transaction: all statements see the same moment.

    Raises TransactionManagementError inside another transaction, whose snapshot would be older than this step.
    """
    if connection.in_atomic_block:
        raise transaction.TransactionManagementError("a search needs a transaction of its own")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("set transaction isolation level repeatable read, read only")
        yield cursor
