"""What a person, or a group, can see and why: for administrators, who see names of collections but open nothing by it."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import Group
from django.db.models import Count, Q
from django.utils import timezone

from accounts.models import AccessScope, GroupScopeGrant, User, UserScopeGrant
from accounts.selectors import group_name
from accounts.values import Permission

LEVELS = {level.value: rank for rank, level in enumerate(Permission)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One grant in force. `group` is empty for a grant to the person."""

    level: Permission
    group: str
    given_by: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A collection, or when `name` is empty a document with a list of its own. `level`: the highest in force."""

    scope_id: int
    name: str
    level: Permission
    reasons: tuple[Reason, ...]
    documents: int

    @property
    def until(self) -> datetime | None:
        """When the last of the reasons ends; None when one has no end."""
        ends = [reason.expires_at for reason in self.reasons]
        return None if None in ends else max(end for end in ends if end)


def openings_of(user: User) -> list[Opening]:
    """Everything that is open to an account now, collections by name and then single documents; nothing if inactive."""
    if not user.is_active:
        return []
    own = UserScopeGrant.objects.filter(_live(), user=user)
    through = GroupScopeGrant.objects.filter(_live(), group__user=user)
    return _openings([*own.select_related("permission", "granted_by"), *_with_groups(through)])


def openings_of_group(group: Group) -> list[Opening]:
    return _openings(list(_with_groups(GroupScopeGrant.objects.filter(_live(), group=group))))


def opened_counts(groups: Iterable[Group]) -> dict[int, int]:
    """How many collections each group opens."""
    rows = GroupScopeGrant.objects.filter(_live(), group__in=groups, content_object__collection__isnull=False)
    counted = rows.values_list("group").annotate(n=Count("content_object", distinct=True)).order_by()
    return dict(counted)


def _live() -> Q:
    named = Q(permission__codename__in=list(LEVELS), permission__content_type__app_label="accounts")
    return named & (Q(expires_at=None) | Q(expires_at__gt=timezone.now()))


def _with_groups(rows: "Iterable[GroupScopeGrant]") -> "Iterable[GroupScopeGrant]":
    return rows.select_related("permission", "granted_by", "group__builtin")  # type: ignore[attr-defined,no-any-return]


def _openings(grants: "list[UserScopeGrant | GroupScopeGrant]") -> list[Opening]:
    reasons: dict[int, list[Reason]] = defaultdict(list)
    for grant in grants:
        reasons[grant.content_object_id].append(_reason(grant))
    live = Q(documents__active_version__isnull=False, documents__archived_at=None)
    scopes = (
        AccessScope.objects.filter(pk__in=reasons)
        .annotate(n=Count("documents", filter=live))
        .values_list("pk", "collection__name", "n")
    )
    found = [
        Opening(
            scope_id=pk,
            name=name or "",
            level=max((reason.level for reason in reasons[pk]), key=lambda level: LEVELS[level.value]),
            reasons=tuple(reasons[pk]),
            documents=count,
        )
        for pk, name, count in scopes
    ]
    return sorted(found, key=lambda opening: (not opening.name, opening.name.lower(), opening.scope_id))


def _reason(grant: "UserScopeGrant | GroupScopeGrant") -> Reason:
    return Reason(
        level=Permission(grant.permission.codename),
        group=group_name(grant.group) if isinstance(grant, GroupScopeGrant) else "",
        given_by=str(grant.granted_by or ""),
        expires_at=grant.expires_at,
    )
