"""A sharing list while somebody edits it: nothing is saved, every entry knows what it was.

The form carries, for every row, what it shows and what it showed at first. Only rows that differ count as edits, and
they are laid over the list as it is now: what somebody else has changed meanwhile is neither lost nor undone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from django.http import QueryDict
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from accounts.models import User
from accounts.permissions.plans import holder_names
from accounts.selectors import groups
from accounts.values import GrantRequest, Holder, HolderKind, Permission, Principal, StoredGrant
from kb_platform.errors import InvalidInput

LEVELS = (
    (Permission.VIEW.value, pgettext_lazy("level of access", "View")),
    (Permission.CONTRIBUTE.value, pgettext_lazy("level of access", "Contribute")),
    (Permission.MANAGE.value, pgettext_lazy("level of access", "Manage")),
)
REMOVE = "remove"
Shown = tuple[str, str]  # level or REMOVE, and the last day as an ISO date or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingRow:
    """One holder in the form. `subject` is "group:3" or "user:7"; the reader's own row cannot be changed.

    was: what is stored, None for a new entry.
    """

    subject: str
    name: str
    detail: str
    is_group: bool
    is_own: bool
    member_count: int
    permission: str
    expires_on: str
    was: Shown | None = None

    @property
    def key(self) -> str:
        """Part of the ids of its fields."""
        return self.subject.replace(":", "-")

    @property
    def permission_label(self) -> str:
        return str(dict(LEVELS).get(self.permission, ""))

    @property
    def was_label(self) -> str:
        return str(dict(LEVELS).get(self.was[0], "")) if self.was else ""

    @property
    def was_text(self) -> str:
        """The form's hidden field."""
        return "|".join(self.was) if self.was else ""

    @property
    def mark(self) -> str:
        """new, gone, up (another level), end (another end), or nothing."""
        if self.was is None:
            return "new"
        if self.permission == REMOVE:
            return "gone"
        if self.permission != self.was[0]:
            return "up"
        return "end" if self.expires_on != self.was[1] else ""

    @property
    def ends(self) -> date | None:
        return _day(self.expires_on)


def sharing_rows(principal: Principal, grants: Sequence[StoredGrant]) -> list[SharingRow]:
    """The stored list as the form shows it."""
    return staged_rows(principal, grants, {})


def staged_rows(
    principal: Principal, grants: Sequence[StoredGrant], edits: Mapping[str, Shown]
) -> list[SharingRow]:
    """The stored list with the edits laid over it; new entries come last."""
    members = {group.pk: getattr(group, "member_count", 0) for group in groups()}
    stored = {subject_of(grant.holder): grant for grant in grants}
    added = [subject for subject in edits if subject not in stored and edits[subject][0] != REMOVE]
    names = _named([holder_of(subject) for subject in added])
    rows = [
        _row(principal, grant.holder, (grant.name, grant.email), members, shown_of(grant), edits.get(subject))
        for subject, grant in stored.items()
    ]
    return rows + [
        _row(principal, holder, names[holder], members, None, edits[subject])
        for subject in added
        if (holder := holder_of(subject)) in names
    ]


def _named(holders: Sequence[Holder]) -> dict[Holder, tuple[str, str]]:
    """Name and e-mail address of those that exist."""
    people = [holder.id for holder in holders if holder.kind is HolderKind.USER]
    emails = dict(User.objects.filter(pk__in=people).values_list("pk", "email"))
    return {
        holder: (name, emails.get(holder.id, "") if holder.kind is HolderKind.USER else "")
        for holder, name in holder_names(holders).items()
    }


def _row(
    principal: Principal,
    holder: Holder,
    named: tuple[str, str],
    members: Mapping[int, int],
    was: Shown | None,
    edit: Shown | None,
) -> SharingRow:
    is_group = holder.kind is HolderKind.GROUP
    is_own = holder == Holder.user(principal.user_id)
    permission, expires_on = (was if is_own else edit or was) or (Permission.VIEW.value, "")
    return SharingRow(
        subject=subject_of(holder),
        name=named[0],
        detail=named[1],
        is_group=is_group,
        is_own=is_own,
        member_count=members.get(holder.id, 0) if is_group else 0,
        permission=permission,
        expires_on=expires_on,
        was=was,
    )


def shown_of(grant: StoredGrant) -> Shown:
    day = timezone.localdate(grant.expires_at).isoformat() if grant.expires_at else ""
    return grant.permission.value, day


def edits_in(form: QueryDict) -> dict[str, Shown]:
    """What the rows of a posted form change, by subject. Raises InvalidInput for a subject of no known form."""
    rows = zip(
        form.getlist("subject"), form.getlist("permission"), form.getlist("expires"), form.getlist("was"),
        strict=False,
    )  # fmt: skip
    edits = {
        subject_of(holder_of(subject)): (level, end)
        for subject, level, end, was in rows
        if f"{level}|{end}" != was
    }
    for subject in (form.get("drop", ""), form.get("undo", "")):
        edits.pop(subject, None)
    if dropped := form.get("drop"):
        edits[subject_of(holder_of(dropped))] = (REMOVE, "")
    return edits


def requests_in(rows: Sequence[SharingRow], grants: Sequence[StoredGrant]) -> list[GrantRequest]:
    """The list that the rows wish. An untouched entry keeps its end to the second. Raises InvalidInput."""
    stored = {subject_of(grant.holder): grant for grant in grants}
    wished = []
    for row in rows:
        if row.permission == REMOVE:
            continue
        kept = stored.get(row.subject)
        if kept and not row.mark:
            wished.append(
                GrantRequest(holder=kept.holder, permission=kept.permission, expires_at=kept.expires_at)
            )
        else:
            wished.append(_request(row))
    return wished


def _request(row: SharingRow) -> GrantRequest:
    try:
        permission = Permission(row.permission)
        expires_at = _end_of(parse_date(row.expires_on)) if row.expires_on else None
    except (ValueError, OverflowError) as error:
        raise InvalidInput(_("Choose a level from the list and a date from the calendar.")) from error
    return GrantRequest(holder=holder_of(row.subject), permission=permission, expires_at=expires_at)


def _end_of(day: date | None) -> datetime:
    """Access until a day includes that day, on the site's clock. Raises ValueError or OverflowError for no day."""
    if day is None:
        raise ValueError("not a date")
    return timezone.make_aware(datetime.combine(day, time(23, 59, 59))).astimezone(UTC)


def _day(text: str) -> date | None:
    try:
        return parse_date(text) if text else None
    except ValueError:
        return None


def subject_of(holder: Holder) -> str:
    return f"{holder.kind}:{holder.id}"


def holder_of(subject: str) -> Holder:
    """Raises InvalidInput for what names neither a person nor a group."""
    kind, _colon, key = subject.partition(":")
    if kind not in set(HolderKind) or not key.isascii() or not key.isdecimal() or len(key) > 18:
        raise InvalidInput(_("There is no such person or group."))
    return Holder(kind=HolderKind(kind), id=int(key))
