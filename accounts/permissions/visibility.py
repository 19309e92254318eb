"""The one read filter of the product: which access scopes a principal may use now.

Search, lists, counts, viewer, downloads, traces and old chats all ask here. A revoked grant therefore works on the
next query. A superuser gets nothing extra: administering is not reading.
"""

from django.db.models import Q
from django.utils import timezone

from accounts.models import GroupScopeGrant, UserScopeGrant
from accounts.values import Permission, Principal
from kb_platform.errors import NotAllowed, NotFound


def visible_scopes(principal: Principal, *, at_least: Permission = Permission.VIEW) -> tuple[int, ...]:
    """Ids of the access scopes open to the principal at this level or above, ascending; empty when inactive.

    One indexed union over the two grant tables.
    """
    allowed = Q(
        permission__codename__in=[level.value for level in at_least.and_above],
        permission__content_type__app_label="accounts",
        permission__content_type__model="accessscope",
    )
    live = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    own = UserScopeGrant.objects.filter(
        allowed & live, user_id=principal.user_id, user__is_active=True
    ).values_list("content_object_id")
    through_groups = GroupScopeGrant.objects.filter(
        allowed & live, group__user=principal.user_id, group__user__is_active=True
    ).values_list("content_object_id")
    scopes = {scope for (scope,) in own.union(through_groups)}
    if principal.token and principal.token.collections:
        scopes &= principal.token.collections
    return tuple(sorted(scopes))


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
