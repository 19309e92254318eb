"""The only way to start background work: after commit, by dotted task name, with an expiry.

The broker is a doorbell: what must not be lost is a row in PostgreSQL, and a periodic job rings again for it.
"""

import logging

from django.db import transaction
from kombu.exceptions import OperationalError

from kb_platform.celery import app
from kb_platform.trace import trace_id

log = logging.getLogger(__name__)
EXPIRES_S = 3600


def enqueue(task: str, *, queue: str = "light", expires_s: int = EXPIRES_S, **arguments: int | str) -> None:
    """Ring for `task` once the current transaction commits. A dead broker is logged, never raised."""

    def ring() -> None:
        try:
            app.send_task(
                task,
                kwargs=arguments,
                queue=queue,
                expires=expires_s,
                headers={"trace_id": trace_id()},
                retry=False,
            )
        except (OperationalError, OSError) as error:
            log.warning(
                "the broker is not reachable; the ledger rings again",
                extra={"task": task, "cause": str(error)},
            )

    transaction.on_commit(ring)
