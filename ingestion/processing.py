"""What operators see of processing: counts of all files, names only of those that the reader may see.

Counts, reasons and times say nothing of what a document holds, so they are of everything.
"""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.core.cache import cache
from django.db import DatabaseError, connection
from django.db.models import Count, F, Min, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise
from redis.exceptions import RedisError

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion.embedding.errors import EmbedderUnavailable
from ingestion.embedding.registry import get_embedder
from ingestion.ledger import BELLS
from ingestion.models import IngestJob
from ingestion.reasons import cause_text, retry_helps, what_helps
from ingestion.throughput import NOTHING_YET, Hour, Speed, clears_s, hours, speeds
from ingestion.turns import upcoming
from kb_platform import folders
from kb_platform.heartbeats import WorkerLife, is_silent, last_beat, workers

SHOWN = 8
DAY = timedelta(hours=24)
LOW_DISK_SHARE = 0.05
_EMBEDDER_CHECKED_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage of the ledger. `silent_since`: the last heartbeat of its queue while files wait and nobody is heard."""

    key: str
    label: StrOrPromise
    queue: str
    running: int
    waiting: int
    failed: int
    alive: int
    oldest_at: datetime | None
    is_stalled: bool
    speed: Speed = NOTHING_YET
    silent_since: datetime | None = None

    @property
    def command(self) -> str:
        return start_command(self.queue)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stalled:
    """A stage that nobody works on while files wait, as its banner tells it."""

    queue: str
    waiting: int
    silent_since: datetime | None

    @property
    def command(self) -> str:
        return start_command(self.queue)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Failed files with one reason."""

    code: str
    text: str
    stage: StrOrPromise
    count: int
    helps: str
    retry_helps: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    name: StrOrPromise
    is_ok: bool
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A job by itself. `name` is empty when its document is not open to the reader. `place`: in the queue, from 1."""

    job: IngestJob
    name: str
    document_uid: str
    cause: str = ""
    place: int = 0
    retry_helps: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AtWork:
    """A worker, and what it has in hand."""

    life: WorkerLife
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Processing:
    stages: tuple[Stage, ...]
    done: int
    median_s: float | None
    hours: tuple[Hour, ...]
    clears_s: float | None
    causes: tuple[Cause, ...]
    workers: tuple[AtWork, ...]
    dependencies: tuple[Dependency, ...]
    running_lines: tuple[Line, ...]
    waiting_lines: tuple[Line, ...]
    failed_lines: tuple[Line, ...]

    def _sum(self, name: str) -> int:
        return sum(getattr(stage, name) for stage in self.stages)

    @property
    def busy(self) -> int:
        """How many workers have something in hand."""
        return sum(bool(work.lines) for work in self.workers)

    @property
    def most_an_hour(self) -> int:
        return max(hour.done for hour in self.hours)

    @property
    def curve(self) -> str:
        """The hours as points of an SVG path, 1000 wide."""
        step = 1000 / (len(self.hours) - 1)
        return " ".join(f"{place * step:.1f},{hour.y:.1f}" for place, hour in enumerate(self.hours))

    @property
    def running(self) -> int:
        return self._sum("running")

    @property
    def waiting(self) -> int:
        return self._sum("waiting")

    @property
    def failed(self) -> int:
        return self._sum("failed")

    @property
    def is_stalled(self) -> bool:
        return any(stage.is_stalled for stage in self.stages)

    @property
    def stalled(self) -> tuple[Stage, ...]:
        return tuple(stage for stage in self.stages if stage.is_stalled)

    @property
    def oldest_at(self) -> datetime | None:
        return min((stage.oldest_at for stage in self.stages if stage.oldest_at), default=None)

    @property
    def busiest(self) -> int:
        """What the longest bar stands for."""
        return max([1, *(stage.running + stage.waiting + stage.failed for stage in self.stages)])


def start_command(queue: str) -> str:
    return f"python manage.py worker {queue}"


def stages_now(lives: list[WorkerLife]) -> tuple[Stage, ...]:
    """Both stages with counts of all files."""
    open_jobs, failed = Q(ended_at=None), Q(pk__in=failed_jobs().values("pk"))
    held = Q(lease_until__gt=timezone.now())
    waiting = open_jobs & (~held | Q(lease_until=None))
    rows: dict[str, dict[str, Any]] = {
        row["stage"]: {**row}
        for row in IngestJob.objects.filter(open_jobs | failed)
        .values("stage")
        .annotate(
            running=Count("pk", filter=open_jobs & held),
            waiting=Count("pk", filter=waiting),
            failed=Count("pk", filter=failed),
            oldest=Min("created_at", filter=waiting),
        )
        .order_by()
    }
    return tuple(_stage(stage, rows.get(stage.value, {}), lives) for stage in BELLS)


def _stage(stage: IngestJob.Stage, row: dict[str, Any], lives: list[WorkerLife]) -> Stage:
    queue = BELLS[stage][1]
    serving = [life for life in lives if queue in life.queues]
    alive = sum(life.is_alive for life in serving)
    waiting = row.get("waiting", 0)
    return Stage(
        key=stage.value,
        label=stage.label,
        queue=queue,
        running=row.get("running", 0),
        waiting=waiting,
        failed=row.get("failed", 0),
        alive=alive,
        oldest_at=row.get("oldest"),
        is_stalled=bool(waiting) and not alive and not row.get("running", 0),
        silent_since=max((life.beat_at for life in serving), default=None),
    )


def stalled_stages() -> tuple[Stalled, ...]:
    """Stages where files wait and no worker has been heard of for a minute; for banners, hence in one query."""
    held = Q(lease_until__gt=timezone.now())
    rows: dict[str, dict[str, Any]] = {
        row["stage"]: {**row}
        for row in IngestJob.objects.filter(ended_at=None)
        .values("stage")
        .annotate(
            running=Count("pk", filter=held),
            waiting=Count("pk", filter=~held | Q(lease_until=None)),
            **{f"heard_{queue}": last_beat(queue) for _task, queue in BELLS.values()},
        )
        .order_by()
    }
    stalled = []
    for stage in BELLS:
        row, queue = rows.get(stage.value), BELLS[stage][1]
        if row and row["waiting"] and not row["running"] and is_silent(row[f"heard_{queue}"]):
            heard = row[f"heard_{queue}"]
            stalled.append(Stalled(queue=queue, waiting=row["waiting"], silent_since=heard))
    return tuple(stalled)


def failed_jobs() -> QuerySet[IngestJob]:
    """Failed jobs that still need a person: of the newest version of a document that is in use."""
    return IngestJob.objects.filter(
        state=IngestJob.State.FAILED,
        version=F("version__document__latest_version"),
        version__document__archived_at=None,
    )


def processing_for(principal: Principal) -> Processing:
    lives = workers()
    known = speeds()
    stages = tuple(replace(stage, speed=known.get(stage.key, NOTHING_YET)) for stage in stages_now(lives))
    done, median_s = _done()
    left = {stage.key: stage.running + stage.waiting for stage in stages}
    is_stalled = any(stage.is_stalled for stage in stages)
    seen = frozenset(visible_scopes(principal))
    held = IngestJob.objects.filter(ended_at=None, lease_until__gt=timezone.now()).order_by("claimed_at")
    in_hand = _lines(held.select_related("version__document"), seen)
    return Processing(
        stages=stages,
        done=done,
        median_s=median_s,
        hours=hours(),
        clears_s=None if is_stalled else clears_s(left, known),
        causes=_causes(),
        workers=tuple(_at_work(life, in_hand) for life in lives),
        dependencies=_dependencies(),
        running_lines=in_hand[:SHOWN],
        waiting_lines=_next_in_line(seen),
        failed_lines=_lines(
            failed_jobs().order_by("-ended_at").select_related("version__document")[:SHOWN], seen
        ),
    )


def _at_work(life: WorkerLife, in_hand: Iterable[Line]) -> AtWork:
    lines = (line for line in in_hand if line.job.holder == life.name) if life.is_alive else ()
    return AtWork(life=life, lines=tuple(lines))


def _next_in_line(seen: frozenset[int]) -> tuple[Line, ...]:
    """What is read already comes first: it is nearest to its end."""
    jobs = [job for stage in reversed(BELLS) for job in upcoming(stage, SHOWN)][:SHOWN]
    return tuple(replace(line, place=place) for place, line in enumerate(_lines(jobs, seen), start=1))


def _done() -> tuple[int, float | None]:
    """Files that became searchable within a day, and the median seconds from upload to there."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(*), percentile_cont(0.5) within group (order by extract(epoch from ended_at - created_at))"
            " from ingestion_ingestjob where state = %s and ended_at > %s",
            [IngestJob.State.SUCCEEDED, timezone.now() - DAY],
        )
        count, median = cursor.fetchone()
    return count, float(median) if median is not None else None


def _causes() -> tuple[Cause, ...]:
    rows = (
        failed_jobs()
        .values("version__reason_code", "stage")
        .annotate(n=Count("pk"))
        .order_by("-n", "version__reason_code")
    )
    labels = dict(IngestJob.Stage.choices)
    return tuple(
        Cause(
            code=row["version__reason_code"],
            text=cause_text(row["version__reason_code"]),
            stage=labels.get(row["stage"], ""),
            count=row["n"],
            helps=what_helps(row["version__reason_code"]),
            retry_helps=retry_helps(row["version__reason_code"]),
        )
        for row in rows
    )


def _lines(jobs: Iterable[IngestJob], seen: frozenset[int]) -> tuple[Line, ...]:
    return tuple(_line(job, job.version.document.scope_id in seen) for job in jobs)


def _line(job: IngestJob, visible: bool) -> Line:
    version = job.version
    return Line(
        job=job,
        name=version.file_name if visible else "",
        document_uid=str(version.document.uid) if visible else "",
        cause=cause_text(version.reason_code) if version.reason_code else "",
        retry_helps=retry_helps(version.reason_code),
    )


# --- dependencies -----------------------------------------------------------------------------------------


def _dependencies() -> tuple[Dependency, ...]:
    return (
        _timed("PostgreSQL", _ask_database),
        _timed("Valkey", lambda: cache.get("readyz")),
        _embedder(),
        *_disks(),
    )


def _ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("select 1")


def _timed(name: StrOrPromise, ask: Callable[[], object]) -> Dependency:
    begun = time.perf_counter()
    try:
        ask()
    except (DatabaseError, RedisError, OSError, EmbedderUnavailable):
        return Dependency(name=name, is_ok=False, told=_("does not answer"))
    return Dependency(name=name, is_ok=True, told=_milliseconds(time.perf_counter() - begun))


def _milliseconds(seconds: float) -> str:
    ms = seconds * 1000
    return f"{ms:.0f} ms" if ms >= 1 else "< 1 ms"


_embedder_seen: tuple[float, Dependency] | None = None


def _embedder() -> Dependency:
    """The embedding of a short question, at most once a minute: it costs real work."""
    global _embedder_seen
    if _embedder_seen is None or time.monotonic() - _embedder_seen[0] > _EMBEDDER_CHECKED_S:
        found = _timed(gettext_lazy("Embedding model"), lambda: get_embedder().embed_query("ping"))
        _embedder_seen = (time.monotonic(), found)
    return _embedder_seen[1]


FOLDERS = {
    "data": gettext_lazy("Disk of the data"),
    "files": gettext_lazy("Disk of the files"),
    "temporary": gettext_lazy("Disk of temporary files"),
}
TROUBLES = {
    "full": gettext_lazy("disk is full: uploads are refused until there is room"),
    "read_only": gettext_lazy("cannot be written: uploads are refused"),
    "down": gettext_lazy("does not answer"),
}


def _disks() -> Iterator[Dependency]:
    """Each file system once, unless something is wrong with a folder of its own."""
    seen: set[int] = set()
    for key, folder in folders.watched().items():
        while not folder.exists():
            folder = folder.parent
        state, device = folders.state_of(folder), folder.stat().st_dev
        if state != "ok" or device not in seen:
            yield _disk(FOLDERS[key], folder, state)
        seen.add(device)


def _disk(name: StrOrPromise, folder: Path, state: str) -> Dependency:
    if state in TROUBLES:
        return Dependency(name=name, is_ok=False, told=str(TROUBLES[state]))
    usage = shutil.disk_usage(folder)
    free = {"free": f"{usage.free / 1e9:,.1f} GB", "total": f"{usage.total / 1e9:,.1f} GB"}
    told = _("%(free)s of %(total)s free") % free
    return Dependency(name=name, is_ok=usage.free > usage.total * LOW_DISK_SHARE, told=told)
