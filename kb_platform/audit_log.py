"""Reading the audit log: filters, pages by key, and export. Pages cost the same however long the log is."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _

from kb_platform.audit_actions import GROUPS, action_name, actions_of
from kb_platform.csv_cells import as_text
from kb_platform.models import AuditEntry

PAGE = 50
EXPORT_BATCH = 1_000
MAX_ID = 2**63 - 1
_TRACE_DIGITS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """What the address of the log asks for; whatever cannot be understood is left out."""

    words: str = ""
    actor: int | None = None
    group: str = ""
    object_type: str = ""
    object_id: str = ""
    first_day: date | None = None
    last_day: date | None = None

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "AuditFilter":
        object_type, _colon, object_id = _clean(query.get("object", "")).partition(":")
        group = query.get("group", "")
        return cls(
            words=_clean(query.get("q", ""))[:200],
            actor=_number(query.get("actor", "")),
            group=group if actions_of(group) else "",
            object_type=object_type[:64] if object_id else "",
            object_id=object_id[:64],
            first_day=_day(query.get("from", "")),
            last_day=_day(query.get("to", "")),
        )

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__slots__)

    def as_query(self) -> dict[str, str]:
        """Only what is set, as it stands in an address."""
        asked = {
            "q": self.words,
            "actor": str(self.actor or ""),
            "group": self.group,
            "object": f"{self.object_type}:{self.object_id}" if self.object_id else "",
            "from": self.first_day.isoformat() if self.first_day else "",
            "to": self.last_day.isoformat() if self.last_day else "",
        }
        return {name: value for name, value in asked.items() if value}

    def entries(self) -> QuerySet[AuditEntry]:
        """The entries that fit, newest first."""
        rows = AuditEntry.objects.order_by("-id")
        if self.group:
            rows = rows.filter(action__in=actions_of(self.group))
        if self.actor is not None:
            rows = rows.filter(actor_id=self.actor)
        if self.object_id:
            rows = rows.filter(object_type=self.object_type, object_id=self.object_id)
        if self.first_day:
            rows = rows.filter(at__gte=_midnight(self.first_day))
        if self.last_day:
            rows = rows.filter(at__lt=_midnight(self.last_day) + timedelta(days=1))
        return rows.filter(_about(self.words)) if self.words else rows


def _about(words: str) -> Q:
    if len(words) == _TRACE_DIGITS and words.isascii() and words.isalnum():
        return Q(trace_id=words.lower())
    return Q(actor_name__icontains=words) | Q(object_name__icontains=words) | Q(action=words)


def _clean(text: str) -> str:
    return " ".join(text.replace("\x00", "").split())


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def _day(text: str) -> date | None:
    try:
        found = parse_date(text)
    except ValueError:
        return None
    return found if found and 1970 <= found.year <= 9000 else None


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """`older` and `newer` are the keys to go on with, or None at an end."""

    entries: tuple[AuditEntry, ...]
    older: int | None
    newer: int | None


def page_of(asked: AuditFilter, *, before: str = "", after: str = "") -> LogPage:
    """The newest page, the one older than the entry `before`, or the one newer than `after`."""
    rows = asked.entries()
    if (key := _number(after)) is not None:
        found = list(rows.filter(id__gt=key).order_by("id")[: PAGE + 1])
        more, entries = len(found) > PAGE, found[:PAGE][::-1]
        return _page(entries, has_older=True, has_newer=more)
    key = _number(before)
    found = list(rows.filter(id__lt=key)[: PAGE + 1] if key is not None else rows[: PAGE + 1])
    return _page(found[:PAGE], has_older=len(found) > PAGE, has_newer=key is not None)


def _page(entries: list[AuditEntry], *, has_older: bool, has_newer: bool) -> LogPage:
    return LogPage(
        entries=tuple(entries),
        older=entries[-1].pk if entries and has_older else None,
        newer=entries[0].pk if entries and has_newer else None,
    )


def csv_lines(asked: AuditFilter, *, before: int = MAX_ID) -> Iterator[tuple[str, int]]:
    """One batch of the export after another: its text, and the key of its last entry. The first has the heading."""
    text = "\ufeff" + _csv([[_("Time"), _("Action"), _("Code"), _("Object"), _("Object id"), _("Who"), _("Origin"), _("Request id"), _("Details")]])  # fmt: skip
    while True:
        batch = list(asked.entries().filter(id__lt=before)[:EXPORT_BATCH])
        if not batch:
            break
        before = batch[-1].pk
        yield text + _csv([_csv_row(entry) for entry in batch]), before
        text = ""
    if text:
        yield text, before


def _csv_row(entry: AuditEntry) -> list[Any]:
    at = timezone.localtime(entry.at).isoformat(timespec="seconds")
    about = f"{entry.object_type} {entry.object_id}".strip()
    return [at, action_name(entry.action), entry.action, entry.object_name, about, entry.actor_name, entry.origin, entry.trace_id, entry.detail or ""]  # fmt: skip


def _csv(rows: list[list[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    for row in rows:
        writer.writerow([as_text(str(cell)) for cell in row])
    return out.getvalue()


def choices() -> list[tuple[str, str]]:
    """The groups to filter by."""
    return [(group.key, str(group.label)) for group in GROUPS]


def time_zone() -> str:
    return str(settings.TIME_ZONE)
