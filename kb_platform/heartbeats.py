"""That workers are alive: each writes a row every few seconds, whether it has work or not."""

import logging
import resource
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.db import DatabaseError, connection
from django.db.models import Subquery, Sum
from django.utils import timezone

from kb_platform.models import WorkerHeartbeat

log = logging.getLogger(__name__)
EVERY_S = 10.0
SILENT_AFTER = timedelta(seconds=60)
FORGOTTEN_AFTER = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLife:
    name: str
    queues: tuple[str, ...]
    slots: int
    memory_bytes: int
    beat_at: datetime
    is_alive: bool


def beat(name: str, queues: Sequence[str], slots: int = 1) -> None:
    """Write that the worker lives now, and drop those not heard of for a day."""
    now = timezone.now()
    row = {"queues": sorted(queues), "slots": slots, "memory_bytes": _memory(), "beat_at": now}
    WorkerHeartbeat.objects.update_or_create(name=name, defaults=row)
    WorkerHeartbeat.objects.filter(beat_at__lt=now - FORGOTTEN_AFTER).delete()


def _memory() -> int:
    """What this process has in memory now; 0 where the machine does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def keep_beating(name: str, queues: Sequence[str], slots: int) -> None:
    """Beat from a thread until the process ends."""
    row = (name, tuple(queues), slots)
    threading.Thread(target=_go_on, args=row, name="worker heartbeat", daemon=True).start()


def _go_on(name: str, queues: tuple[str, ...], slots: int) -> None:
    pause = threading.Event()
    while True:
        try:
            beat(name, queues, slots)
        except DatabaseError as error:
            log.warning("worker heartbeat missed", extra={"cause": str(error).strip()[:200]})
        finally:
            connection.close()
        pause.wait(EVERY_S)


def forget(name: str) -> None:
    """A worker that ends in order is not missed by name; its queue is, when files wait for it."""
    try:
        WorkerHeartbeat.objects.filter(name=name).delete()
    except DatabaseError as error:
        log.warning("worker heartbeat not removed", extra={"cause": str(error).strip()[:200]})


def workers() -> list[WorkerLife]:
    """Everybody heard of within a day, by name."""
    oldest = timezone.now() - SILENT_AFTER
    return [
        WorkerLife(
            name=row.name,
            queues=tuple(row.queues),
            slots=row.slots,
            memory_bytes=row.memory_bytes,
            beat_at=row.beat_at,
            is_alive=row.beat_at > oldest,
        )
        for row in WorkerHeartbeat.objects.order_by("name")
    ]


def slots(queue: str) -> int:
    """How many tasks of the queue are carried out at once by those who are alive."""
    alive = WorkerHeartbeat.objects.filter(
        queues__contains=[queue], beat_at__gt=timezone.now() - SILENT_AFTER
    )
    return int(alive.aggregate(total=Sum("slots"))["total"] or 0)


def last_beat(queue: str) -> Subquery:
    """When a worker of the queue was last heard of, as a part of another query."""
    serving = WorkerHeartbeat.objects.filter(queues__contains=[queue])
    return Subquery(serving.order_by("-beat_at").values("beat_at")[:1])


def is_silent(beat_at: datetime | None) -> bool:
    return beat_at is None or beat_at <= timezone.now() - SILENT_AFTER


def worker_name(hostname: str) -> str:
    """What a worker is called on pages; `kind@host` by default."""
    return (hostname or socket.gethostname())[:200]
