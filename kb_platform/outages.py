"""Tells a dependency that went away from a bug: the first is a 503 that passes, the second a 500 to be mended."""

import errno

from django.db import InterfaceError, OperationalError
from psycopg.errors import DiskFull
from psycopg_pool import PoolTimeout
from redis.exceptions import ConnectionError as ValkeyUnreachable
from redis.exceptions import TimeoutError as ValkeyTooSlow

from kb_platform.errors import NoRoom, Unavailable

OUTAGES = (OperationalError, InterfaceError, PoolTimeout, ValkeyUnreachable, ValkeyTooSlow)


def as_outage(error: BaseException | None) -> Unavailable | None:
    """The error to show when the database or Valkey does not answer, or a disk is full; None for anything else."""
    if is_out_of_space(error):
        return NoRoom()
    return Unavailable(code="outage") if isinstance(error, OUTAGES) else None


_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def is_out_of_space(error: BaseException | None) -> bool:
    """Whether a disk is full or takes nothing, here or at the database: room is needed, not another try."""
    while error is not None:
        if isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in _NO_SPACE):
            return True
        error = error.__cause__
    return False
