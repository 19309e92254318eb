"""Who may use an access scope: making scopes, replacing their grants, and reading the list back.

One holder has one row for a scope. A scope always keeps a manager: somebody active, or a group with somebody active
in it, whose `manage` has no end. Where the last one leaves, the administrators take over.
"""

import hashlib
from collections.abc import Collection as Some
from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import Group
from django.contrib.auth.models import Permission as PermissionRow
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import AccessScope, GroupScopeGrant, User, UserScopeGrant
from accounts.permissions.visibility import require
from accounts.selectors import administrators, group_name
from accounts.values import Actor, GrantRequest, Holder, HolderKind, Permission, Principal, StoredGrant
from kb_platform.audit import record
from kb_platform.errors import Conflict, InvalidInput

Wanted = dict[Holder, tuple[Permission, datetime | None]]


@transaction.atomic
def create_scope(*, actor: Actor, grants: Sequence[GrantRequest] = ()) -> AccessScope:
    """A new scope, open to `grants` and to a manager: the person who makes it, or for the system the administrators.

    Raises InvalidInput for a holder that does not exist or an end in the past.
    """
    _check(grants)
    scope = AccessScope.objects.create()
    wanted = {grant.holder: (grant.permission, grant.expires_at) for grant in grants}
    wanted[_creator(actor)] = (Permission.MANAGE, None)
    _write(actor, scope, wanted)
    record(actor, "scope.created", scope, grants=_for_audit(grants_of(scope)))
    return scope


def _creator(actor: Actor) -> Holder:
    if actor.user_id is not None:
        return Holder.user(actor.user_id)
    return Holder.group(administrators().pk)


@transaction.atomic
def replace_grants(
    *,
    actor: Actor,
    scope: AccessScope,
    grants: Sequence[GrantRequest],
    subject: models.Model | None = None,
    version: str = "",
) -> list[StoredGrant]:
    """Make `grants` the whole list of the scope, but for the caller's own grant, which stays as it is.

    subject: the collection or document that the audit log names. version: of the list that was read before; when
    somebody has changed it since, nothing is written. Returns the list as stored.
    Raises NotFound or NotAllowed without `manage`; InvalidInput for a bad entry or when no manager would be left;
    Conflict when `version` is not that of the list.
    """
    take_turns()
    if isinstance(actor, Principal):
        require(actor, Permission.MANAGE, scope.pk)
    before = grants_of(scope)
    require_version(version, version_of(before))
    wanted = checked_list(actor, before, grants)
    _write(actor, scope, wanted)
    after = grants_of(scope)
    if after != before:
        record(
            actor,
            "grants.replaced",
            subject or scope,
            before=_for_audit(before),
            after=_for_audit(after),
        )
    return after


def checked_list(actor: Actor, before: Sequence[StoredGrant], grants: Sequence[GrantRequest]) -> Wanted:
    """The list as it would be stored: `grants`, and the actor's own grant as it is in `before`.

    Raises InvalidInput for a bad entry, or when nobody would be left to manage.
    """
    _check(grants)
    wanted = {grant.holder: (grant.permission, grant.expires_at) for grant in grants}
    wanted |= {
        grant.holder: (grant.permission, grant.expires_at)
        for grant in before
        if grant.holder == Holder.user(actor.user_id or 0)
    }
    if not _has_manager(wanted):
        reason = _("Somebody must keep the right to manage, without an end date.")
        raise InvalidInput(reason, fields={"grants": reason})
    return wanted


def _has_manager(wanted: Wanted) -> bool:
    lasting = [holder for holder, terms in wanted.items() if terms == (Permission.MANAGE, None)]
    people = [holder.id for holder in lasting if holder.kind is HolderKind.USER]
    crowds = [holder.id for holder in lasting if holder.kind is HolderKind.GROUP]
    return (
        User.objects.filter(pk__in=people, is_active=True).exists()
        or Group.objects.filter(Q(builtin__isnull=False) | Q(user__is_active=True), pk__in=crowds).exists()
    )


def version_of(grants: Sequence[StoredGrant]) -> str:
    """A short text that changes with the list: who, which level, until when."""
    lines = sorted(
        f"{grant.holder.kind}:{grant.holder.id}:{grant.permission}:{grant.expires_at}" for grant in grants
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def require_version(read: str, present: str) -> None:
    """Refuse a change that was made looking at another list than the present one. Empty: not asked for."""
    if read and read != present:
        raise Conflict(
            _("Somebody else has changed the list meanwhile. Look at it again before you save."),
            code="changed_meanwhile",
        )


def grants_of(scope: AccessScope) -> list[StoredGrant]:
    """The grants in force, groups first, then people by name. Ended ones are left out."""
    return grants_by_scope([scope.pk])[scope.pk]


def grants_by_scope(scope_ids: Some[int]) -> dict[int, list[StoredGrant]]:
    """The grants in force of several scopes, each list as `grants_of` gives it. Two queries for any number."""
    live = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    wanted = live & Q(content_object_id__in=list(scope_ids))
    through_groups = GroupScopeGrant.objects.filter(wanted).select_related(
        "group__builtin", "permission", "granted_by"
    )
    to_people = UserScopeGrant.objects.filter(wanted).select_related("user", "permission", "granted_by")
    found: dict[int, list[StoredGrant]] = {scope_id: [] for scope_id in scope_ids}
    for rows in (through_groups, to_people):
        for scope_id, grant in sorted(
            ((row.content_object_id, _stored(row)) for row in rows), key=lambda pair: pair[1].name
        ):
            found[scope_id].append(grant)
    return found


def _stored(row: UserScopeGrant | GroupScopeGrant) -> StoredGrant:
    if isinstance(row, UserScopeGrant):
        name, email = str(row.user), row.user.email
    else:
        name, email = group_name(row.group), ""
    return StoredGrant(
        holder=_holder(row),
        name=name,
        email=email,
        permission=Permission(row.permission.codename),
        expires_at=row.expires_at,
        granted_by=str(row.granted_by) if row.granted_by else "",
        granted_at=row.granted_at,
    )


def _for_audit(grants: Sequence[StoredGrant]) -> list[dict[str, str | None]]:
    return [
        {
            "holder": f"{grant.holder.kind}:{grant.holder.id}",
            "name": grant.name,
            "permission": grant.permission,
            "expires_at": grant.expires_at.isoformat() if grant.expires_at else None,
        }
        for grant in grants
    ]


def _check(grants: Sequence[GrantRequest]) -> None:
    """Every holder exists, is active and is named once; every end lies ahead. Raises InvalidInput."""
    now = timezone.now()
    known = _known_holders([grant.holder for grant in grants])
    problems: dict[str, str] = {}
    seen: set[Holder] = set()
    for number, grant in enumerate(grants):
        if grant.holder not in known:
            problems[f"grants.{number}.{grant.holder.kind}"] = _("There is no such person or group.")
        elif grant.holder in seen:
            problems[f"grants.{number}.{grant.holder.kind}"] = _("Named twice.")
        if grant.expires_at is not None and grant.expires_at <= now:
            problems[f"grants.{number}.expires_at"] = _("The end must lie in the future.")
        seen.add(grant.holder)
    if problems:
        raise InvalidInput(fields=problems)


def _known_holders(holders: Sequence[Holder]) -> set[Holder]:
    ids = {kind: [holder.id for holder in holders if holder.kind == kind] for kind in HolderKind}
    users = User.objects.filter(pk__in=ids[HolderKind.USER], is_active=True).values_list("pk", flat=True)
    groups = Group.objects.filter(pk__in=ids[HolderKind.GROUP]).values_list("pk", flat=True)
    return {Holder.user(pk) for pk in users} | {Holder.group(pk) for pk in groups}


def _write(actor: Actor, scope: AccessScope, wanted: Wanted) -> None:
    """Make the rows agree with `wanted`; a row that already does keeps its origin."""
    kept: set[Holder] = set()
    for row in (*_rows(UserScopeGrant, scope), *_rows(GroupScopeGrant, scope)):
        holder = _holder(row)
        if wanted.get(holder) == (row.permission.codename, row.expires_at) and holder not in kept:
            kept.add(holder)
        else:
            row.delete()
    permissions = {row.codename: row for row in _permission_rows()}
    for holder, (permission, expires_at) in wanted.items():
        if holder not in kept:
            columns = {
                "content_object": scope,
                "permission": permissions[permission.value],
                "expires_at": expires_at,
                "granted_by_id": actor.user_id,
            }
            if holder.kind is HolderKind.USER:
                UserScopeGrant.objects.create(user_id=holder.id, **columns)
            else:
                GroupScopeGrant.objects.create(group_id=holder.id, **columns)


def _rows(
    table: type[UserScopeGrant] | type[GroupScopeGrant], scope: AccessScope
) -> models.QuerySet[UserScopeGrant] | models.QuerySet[GroupScopeGrant]:
    return table._default_manager.filter(content_object=scope).select_related("permission")


def _holder(row: UserScopeGrant | GroupScopeGrant) -> Holder:
    if isinstance(row, UserScopeGrant):
        return Holder.user(row.user_id)
    return Holder.group(row.group_id)


def _permission_rows() -> models.QuerySet[PermissionRow]:
    return PermissionRow.objects.filter(
        content_type__app_label="accounts",
        content_type__model="accessscope",
        codename__in=list(Permission),
    )


def take_turns() -> None:
    """Wait for, and then keep out until commit, every other change of who manages: grants, members, deactivations.

    Each such change checks that a manager and an administrator are left, which two at once could not.
    """
    Group.objects.select_for_update(no_key=True).get(pk=administrators().pk)


def scopes_managed_by(holder: Holder) -> list[int]:
    """Ids of the scopes that the group, or the person directly or by a group, has `manage` on, ended or not."""
    of_groups = GroupScopeGrant.objects.filter(permission__codename=Permission.MANAGE)
    if holder.kind is HolderKind.GROUP:
        return list(of_groups.filter(group_id=holder.id).values_list("content_object_id", flat=True))
    own = UserScopeGrant.objects.filter(permission__codename=Permission.MANAGE, user_id=holder.id)
    through = of_groups.filter(group__user=holder.id)
    return [
        *own.values_list("content_object_id", flat=True),
        *through.values_list("content_object_id", flat=True),
    ]


def scopes_without_manager(scope_ids: Some[int]) -> set[int]:
    """Those of the scopes that nobody active manages without an end date."""
    lasting = {
        "content_object_id__in": scope_ids,
        "permission__codename": Permission.MANAGE,
        "expires_at": None,
    }
    people = UserScopeGrant.objects.filter(user__is_active=True, **lasting)
    crowds = GroupScopeGrant.objects.filter(
        Q(group__builtin__isnull=False) | Q(group__user__is_active=True), **lasting
    )
    managed = {*people.values_list("content_object_id", flat=True)}
    managed |= {*crowds.values_list("content_object_id", flat=True)}
    return set(scope_ids) - managed


def hand_over_unmanaged(*, actor: Actor, scope_ids: Some[int]) -> None:
    """Give the administrators those of the scopes that have lost their last manager."""
    for scope in AccessScope.objects.filter(pk__in=scopes_without_manager(scope_ids)):
        manage = _permission_rows().get(codename=Permission.MANAGE)
        GroupScopeGrant.objects.update_or_create(
            content_object=scope,
            group=administrators(),
            permission=manage,
            defaults={"expires_at": None, "granted_by_id": actor.user_id},
        )
        record(actor, "scope.handed_over", scope, to="Administrators")
