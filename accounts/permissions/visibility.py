"""The one read filter of the product: which access scopes a principal may use now.

Search, lists, counts, viewer, downloads, traces and old chats all ask here. A revoked grant therefore works on the
next query. A superuser gets nothing extra: administering is not reading.
"""

from django.db import connections
from django.utils import timezone

from accounts.values import Permission, Principal
from kb_platform.errors import NotAllowed, NotFound
from kb_platform.replica import reading_alias


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


# Written out, because every search asks several times and putting the ORM's union together takes longer than running it.
_HELD = """
select g.content_object_id, p.codename from {grants} g
join auth_permission p on p.id = g.permission_id
join django_content_type t on t.id = p.content_type_id
join accounts_user u on u.id = %(user)s and u.is_active
{holders}
where p.codename = any(%(levels)s) and t.app_label = 'accounts' and t.model = 'accessscope'
and (g.expires_at is null or g.expires_at > %(now)s)
"""
_GRANTS = " union ".join(
    (
        _HELD.format(grants="accounts_userscopegrant", holders="and g.user_id = u.id"),
        _HELD.format(
            grants="accounts_groupscopegrant",
            holders="join accounts_user_groups m on m.user_id = u.id and m.group_id = g.group_id",
        ),
    )
)


def _grants(principal: Principal, at_least: Permission) -> list[tuple[int, str]]:
    """(scope, level) of every grant in force at this level or above, the principal's own and its groups'."""
    levels = [level.value for level in at_least.and_above]
    with connections[reading_alias()].cursor() as cursor:
        cursor.execute(_GRANTS, {"user": principal.user_id, "levels": levels, "now": timezone.now()})
        return [(scope, level) for scope, level in cursor.fetchall()]


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
