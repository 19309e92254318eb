"""Reads of accounts: built-in groups, and the lists that pages and the API show."""

from typing import Any, TypeVar

from django.contrib.auth.models import Group
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from accounts.models import ApiToken, BuiltinGroup, User
from accounts.values import Principal
from kb_platform.errors import NotFound

Row = TypeVar("Row")


def restore_builtin_groups(**_signal: Any) -> None:
    """Make the built-in groups where they are missing, as after a flush of all tables. Safe to repeat."""
    for role, name in (
        (BuiltinGroup.Role.ALL_STAFF, "All staff"),
        (BuiltinGroup.Role.ADMINISTRATORS, "Administrators"),
    ):
        if not BuiltinGroup.objects.filter(role=role).exists():
            group, _created = Group.objects.get_or_create(name=name)
            BuiltinGroup.objects.get_or_create(role=role, defaults={"group": group})


def builtin_group(role: BuiltinGroup.Role) -> Group:
    return Group.objects.get(builtin__role=role)


def all_staff() -> Group:
    """The group of every account."""
    return builtin_group(BuiltinGroup.Role.ALL_STAFF)


def administrators() -> Group:
    """The group of everyone who administers; kept in step with `User.is_superuser`."""
    return builtin_group(BuiltinGroup.Role.ADMINISTRATORS)


def group_name(group: Group) -> str:
    """The name to show; a built-in group has one in the reader's language."""
    marker = getattr(group, "builtin", None)
    return str(marker) if marker else group.name


def people() -> QuerySet[User]:
    """All accounts with their groups, by name; for administrators."""
    return User.objects.prefetch_related("groups__builtin").order_by("name", "email")


def groups() -> QuerySet[Group]:
    """All groups with `member_count` of active people, built-in ones first."""
    count = Count("user", filter=Q(user__is_active=True))
    return Group.objects.select_related("builtin").annotate(member_count=count).order_by("builtin", "name")


def find_user(key: str) -> User:
    """The account behind an id as the API writes it. Raises NotFound."""
    return _found(User.objects.filter(pk=_number(key)).first())


def find_group(key: str) -> Group:
    return _found(groups().filter(pk=_number(key)).first())


def _number(key: str) -> int:
    """Ids are opaque to callers; whatever is not one of ours names nothing."""
    return int(key) if key.isascii() and key.isdecimal() and len(key) <= 18 else 0


def _found(row: Row | None) -> Row:
    if row is None:
        raise NotFound()
    return row


def sharing_choices() -> tuple[list[User], list[Group]]:
    """The active people and the groups that a scope may be opened to."""
    return list(User.objects.filter(is_active=True).order_by("name", "email")), list(groups())


def tokens_of(principal: Principal) -> QuerySet[ApiToken]:
    """The person's own tokens that have not been revoked, newest first."""
    return ApiToken.objects.filter(user_id=principal.user_id, revoked_at=None)


def find_own_token(principal: Principal, key: str) -> ApiToken:
    """One of the person's own living tokens. Raises NotFound, also for those of others."""
    return _found(tokens_of(principal).filter(pk=_number(key)).first())


def role_name(user: User) -> str:
    return _("Administrator") if user.is_superuser else _("Employee")
