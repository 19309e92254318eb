"""The one read filter of the product: which access scopes a principal may use now.

Search, lists, counts, viewer, downloads, traces and old chats all ask here. A revoked grant therefore works on the
next query. A superuser gets nothing extra: administering is not reading.
"""

from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.models import GroupScopeGrant, UserScopeGrant
from accounts.values import Permission, Principal
from kb_platform.errors import NotAllowed, NotFound


def visible_scopes(principal: Principal, *, at_least: Permission = Permission.VIEW) -> tuple[int, ...]:
    """Ids of the access scopes open to the principal at this level or above, ascending; empty when inactive.

    One indexed union over the two grant tables.
    """
    scopes = {scope for scope, _level in _grants(principal, at_least)}
    if principal.token and principal.token.collections:
        scopes &= principal.token.collections
    return tuple(sorted(scopes))


def scope_levels(principal: Principal) -> dict[int, Permission]:
    """Each scope open to the principal with the highest level it holds there; the same one query as above."""
    limit = principal.token.collections if principal.token else frozenset()
    held: dict[int, Permission] = {}
    for scope, name in _grants(principal, Permission.VIEW):
        level = Permission(name)
        if not limit or scope in limit:
            held[scope] = max(held.get(scope, level), level, key=tuple(Permission).index)
    return held


def _grants(principal: Principal, at_least: Permission) -> QuerySet[Any, tuple[int, str]]:
    """(scope, level) of every grant in force at this level or above, the principal's own and its groups'."""
    allowed = Q(
        permission__codename__in=[level.value for level in at_least.and_above],
        permission__content_type__app_label="accounts",
        permission__content_type__model="accessscope",
    )
    live = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    columns = ("content_object_id", "permission__codename")
    own = UserScopeGrant.objects.filter(
        allowed & live, user_id=principal.user_id, user__is_active=True
    ).values_list(*columns)
    through_groups = GroupScopeGrant.objects.filter(
        allowed & live, group__user=principal.user_id, group__user__is_active=True
    ).values_list(*columns)
    return own.union(through_groups)


def may(principal: Principal, permission: Permission, scope_id: int) -> bool:
    return scope_id in visible_scopes(principal, at_least=permission)


def require(principal: Principal, permission: Permission, scope_id: int) -> None:
    """Refuse as NotFound when the scope is not even visible, as NotAllowed when only the level is missing."""
    if may(principal, permission, scope_id):
        return
    raise NotAllowed() if may(principal, Permission.VIEW, scope_id) else NotFound()


def require_sharing(principal: Principal) -> None:
    """The directory of people is searched by administrators and by whoever manages something; others are refused."""
    if not principal.is_administrator and not visible_scopes(principal, at_least=Permission.MANAGE):
        raise NotAllowed()
