"""Tells a dependency that went away from a bug: the first is a 503 that passes, the second a 500 to be mended."""

from django.db import InterfaceError, OperationalError
from psycopg_pool import PoolTimeout
from redis.exceptions import ConnectionError as ValkeyUnreachable
from redis.exceptions import TimeoutError as ValkeyTooSlow

from kb_platform.errors import Unavailable

OUTAGES = (OperationalError, InterfaceError, PoolTimeout, ValkeyUnreachable, ValkeyTooSlow)


def as_outage(error: BaseException | None) -> Unavailable | None:
    """The error to show when the database or Valkey does not answer; None for anything else."""
    return Unavailable(code="outage") if isinstance(error, OUTAGES) else None
