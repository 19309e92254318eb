"""What a new list of grants would change: for whom, who gains sight and who loses it. Reads only.

The same computation serves the sharing page, its confirmation and the dry run of the API.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import Group

from accounts.models import User
from accounts.selectors import group_name
from accounts.values import Holder, HolderKind, Permission, StoredGrant

Terms = tuple[Permission, datetime | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderChange:
    """One entry that is new (`before` is None), goes (`after` is None), or gets another level or end."""

    holder: Holder
    name: str
    before: Terms | None
    after: Terms | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantPlan:
    """gaining, losing: ids of the active people who see nothing now and would, and the other way round."""

    changes: tuple[HolderChange, ...]
    gaining: frozenset[int]
    losing: frozenset[int]


def plan_grants(before: Sequence[StoredGrant], after: Mapping[Holder, Terms]) -> GrantPlan:
    """Compare the list in force with one that might take its place."""
    present = {grant.holder: (grant.permission, grant.expires_at) for grant in before}
    changed = [
        holder for holder in dict.fromkeys((*present, *after)) if present.get(holder) != after.get(holder)
    ]
    names = holder_names(changed)
    seeing, will_see = people_behind(present), people_behind(after)
    return GrantPlan(
        changes=tuple(
            HolderChange(
                holder=holder,
                name=names.get(holder, ""),
                before=present.get(holder),
                after=after.get(holder),
            )
            for holder in changed
        ),
        gaining=will_see - seeing,
        losing=seeing - will_see,
    )


def people_behind(holders: Iterable[Holder]) -> frozenset[int]:
    """Ids of the active people among the holders, themselves or as members of a group."""
    people, crowds = _ids(holders)
    found = set(User.objects.filter(pk__in=people, is_active=True).values_list("pk", flat=True))
    found |= set(User.objects.filter(groups__in=crowds, is_active=True).values_list("pk", flat=True))
    return frozenset(found)


def holder_names(holders: Iterable[Holder]) -> dict[Holder, str]:
    people, crowds = _ids(holders)
    names = {Holder.user(user.pk): str(user) for user in User.objects.filter(pk__in=people)}
    groups = Group.objects.filter(pk__in=crowds).select_related("builtin")
    return names | {Holder.group(group.pk): group_name(group) for group in groups}


def _ids(holders: Iterable[Holder]) -> tuple[list[int], list[int]]:
    known = list(holders)
    return (
        [holder.id for holder in known if holder.kind is HolderKind.USER],
        [holder.id for holder in known if holder.kind is HolderKind.GROUP],
    )
