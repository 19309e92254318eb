"""How fast files go through each stage, and how long the rest will take: measured, or not told at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from ingestion.models import IN_FORCE, IngestJob, ProcessingEvent

WINDOW = timedelta(minutes=15)
FEWEST = 3  # files that a rate is worth telling from
HOURS = 24

_SPEEDS = """
select e.kind, count(*), sum(coalesce(version.page_count, 1)), sum(e.done), min(begun.at),
       percentile_cont(0.95) within group (order by extract(epoch from e.at - begun.at))
from ingestion_processingevent e
join ingestion_documentversion version on version.id = e.version_id
left join lateral (
    select max(s.at) as at from ingestion_processingevent s
    where s.version_id = e.version_id and s.kind = %(started)s and s.at <= e.at
      and s.stage = case when e.kind = %(handed_on)s then 'parsing' else 'embedding' end) begun on true
where e.at > %(since)s and (e.kind = %(handed_on)s or (e.kind = %(ended)s and e.outcome = any(%(live)s)))
group by e.kind
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """What a stage did lately, each minute since it had work. p95_s: seconds that one in twenty files exceeds."""

    files: int = 0
    files_a_minute: float = 0.0
    units_a_minute: float = 0.0
    p95_s: float | None = None

    @property
    def is_known(self) -> bool:
        return self.files >= FEWEST


NOTHING_YET = Speed()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """Files that became searchable within an hour, and those that failed. `y`: where a chart of 300 has it."""

    at: datetime
    done: int
    failed: int
    y: float = 0.0


def speeds() -> dict[str, Speed]:
    """By stage. Units are pages while reading and passages while embedding."""
    now = timezone.now()
    values: dict[str, Any] = {
        "started": ProcessingEvent.Kind.STARTED,
        "handed_on": ProcessingEvent.Kind.HANDED_ON,
        "ended": ProcessingEvent.Kind.ENDED,
        "live": list(IN_FORCE),
        "since": now - WINDOW,
    }
    found = {}
    with connection.cursor() as cursor:
        cursor.execute(_SPEEDS, values)
        for kind, files, pages, passages, began, p95 in cursor.fetchall():
            minutes = max((now - max(began or now, now - WINDOW)).total_seconds() / 60, 1.0)
            is_reading = kind == ProcessingEvent.Kind.HANDED_ON
            stage = IngestJob.Stage.PARSE if is_reading else IngestJob.Stage.EMBED
            found[str(stage)] = Speed(
                files=files,
                files_a_minute=files / minutes,
                units_a_minute=float(pages if is_reading else passages) / minutes,
                p95_s=float(p95) if p95 is not None else None,
            )
    return found


def clears_s(left: Mapping[str, int], known: Mapping[str, Speed]) -> float | None:
    """Seconds until nothing is left at the present rate; None while that cannot be told.

    left: unfinished files by stage; what is still to be read must be embedded afterwards as well.
    """
    to_read = left.get(IngestJob.Stage.PARSE, 0)
    to_embed = to_read + left.get(IngestJob.Stage.EMBED, 0)
    needed = {IngestJob.Stage.PARSE: to_read, IngestJob.Stage.EMBED: to_embed}
    longest = 0.0
    for stage, files in needed.items():
        speed = known.get(stage, NOTHING_YET)
        if files and not speed.is_known:
            return None
        if files:
            longest = max(longest, files / speed.files_a_minute * 60)
    return longest or None


def hours() -> tuple[Hour, ...]:
    """The last 24 hours, oldest first, in the reader's time zone."""
    this = timezone.localtime().replace(minute=0, second=0, microsecond=0)
    first = this - timedelta(hours=HOURS - 1)
    with connection.cursor() as cursor:
        cursor.execute(
            "select floor(extract(epoch from ended_at - %s) / 3600)::int, count(*) filter (where state = %s),"
            " count(*) filter (where state = %s) from ingestion_ingestjob where ended_at >= %s group by 1",
            [first, IngestJob.State.SUCCEEDED, IngestJob.State.FAILED, first],
        )
        counts = {number: (done, failed) for number, done, failed in cursor.fetchall()}
    most = max([1, *(done for done, _failed in counts.values())])
    rows = []
    for number in range(HOURS):
        done, failed = counts.get(number, (0, 0))
        at = first + timedelta(hours=number)
        rows.append(Hour(at=at, done=done, failed=failed, y=300 - 300 * done / most))
    return tuple(rows)
