"""Whose job is next: people before bulk loads, then everybody in turn, and each person's collections in turn.

Nobody waits behind another's thousands of files. Who was served longest ago comes first; that is read from the jobs
themselves, so there is nothing to keep in step. Files that take minutes to read leave one place to the short ones.
"""

from collections import deque
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from ingestion.models import IngestJob
from kb_platform.heartbeats import slots

LONG_AFTER_S = 20.0
LONG_FROM_S = 60.0  # what is expected to take this long counts as long after a few pages already
CLAIM_LOCK = 7_310_016  # of PostgreSQL: one claim at a time, so that no two take the same last place
SMALL_BATCH = 20

_FREE = (
    "ended_at is null and stage = %(stage)s and (lease_until is null or lease_until < %(now)s)"
    " and (not_before is null or not_before <= %(now)s) and (%(long)s or not is_long)"
)
_FLOWS = f"""
with recursive flow as (
    (select priority, person, place from ingestion_ingestjob where {_FREE} order by 1, 2, 3 limit 1)
  union all
    (select next.* from flow cross join lateral (
        select priority, person, place from ingestion_ingestjob
        where {_FREE} and (priority, person, place) > (flow.priority, flow.person, flow.place)
        order by 1, 2, 3 limit 1) as next)
)
select priority, person, place from flow
order by priority,
    (select max(claimed_at) from ingestion_ingestjob as job where job.person = flow.person) nulls first, person,
    (select max(claimed_at) from ingestion_ingestjob as job
     where job.person = flow.person and job.place = flow.place) nulls first, place
"""  # noqa: S608 - made of constants


class Flow(NamedTuple):
    """The waiting jobs of one person for one collection."""

    priority: int
    person: int
    place: int


def free(stage: str, *, with_long: bool = True) -> Any:
    """Jobs of a stage that may be claimed now: held by nobody, or by somebody who fell silent."""
    now = timezone.now()
    jobs = IngestJob.objects.filter(
        Q(lease_until__isnull=True) | Q(lease_until__lt=now),
        Q(not_before__isnull=True) | Q(not_before__lte=now),
        stage=stage,
        ended_at__isnull=True,
    )
    return jobs if with_long else jobs.filter(is_long=False)


def in_turn(stage: str) -> Iterator[Any]:
    """The free jobs of each flow, oldest first; the flow whose turn it is comes first. Needs a transaction."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(%s)", [CLAIM_LOCK])
    with_long = has_long_place(stage)
    for flow in _flows(stage, timezone.now(), with_long):
        yield free(stage, with_long=with_long).filter(**flow._asdict()).order_by("id")


def next_in_turn(stage: str, most: int) -> list[IngestJob]:
    """`upcoming`, and nobody else claims any before the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(%s)", [CLAIM_LOCK])
    return upcoming(stage, most)


def _flows(stage: str, now: datetime, with_long: bool) -> list[Flow]:
    with connection.cursor() as cursor:
        cursor.execute(_FLOWS, {"stage": stage, "now": now, "long": with_long})
        return [Flow(*row) for row in cursor.fetchall()]


def upcoming(stage: str, most: int) -> list[IngestJob]:
    """The jobs that are claimed next, as things stand: each person's flows in turn, and then people in turn."""
    queues: dict[tuple[int, int], deque[deque[IngestJob]]] = {}
    for flow in _flows(stage, timezone.now(), True)[:most]:
        jobs = free(stage).filter(**flow._asdict()).select_related("version__document").order_by("id")[:most]
        if waiting := deque(jobs):  # all may have been claimed since
            queues.setdefault((flow.priority, flow.person), deque()).append(waiting)
    found: list[IngestJob] = []
    for priority in sorted({priority for priority, _person in queues}):
        people = deque(flows for (which, _person), flows in queues.items() if which == priority)
        while people and len(found) < most:
            flows = people.popleft()
            jobs_of_flow = flows.popleft()
            found.append(jobs_of_flow.popleft())
            if jobs_of_flow:
                flows.append(jobs_of_flow)
            if flows:
                people.append(flows)
    return found[:most]


def has_long_place(stage: str, *, beside: int = 0) -> bool:
    """Whether one more long job may run, not counting the job `beside`."""
    if stage != IngestJob.Stage.PARSE:
        return True
    running = IngestJob.objects.filter(
        stage=stage, ended_at=None, is_long=True, lease_until__gt=timezone.now()
    ).exclude(pk=beside)
    count = running.count()
    return count == 0 or count < max(slots("parse") - 1, 1)


def is_long(seconds: float, done: int, total: int) -> bool:
    """Whether a file that has been read for so long will take minutes."""
    expected = seconds * total / done if done else 0.0
    return seconds > LONG_AFTER_S or (seconds > 2 and expected > LONG_FROM_S)


def priority_for(person: int, *, is_bulk: bool = False) -> IngestJob.Priority:
    """A person's few files come first. A bulk load waits, and so does what goes beyond a few files at a time."""
    if is_bulk:
        return IngestJob.Priority.LATER
    waiting = IngestJob.objects.filter(
        ended_at=None, person=person, priority=IngestJob.Priority.FIRST, stage=IngestJob.Stage.PARSE
    )
    few = waiting[:SMALL_BATCH].count() < SMALL_BATCH
    return IngestJob.Priority.FIRST if few else IngestJob.Priority.LATER
