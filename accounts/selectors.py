"""Reads of accounts: built-in groups, and the lists that pages and the API show."""

import re
from dataclasses import dataclass
from typing import Any, TypeVar

from django.contrib.auth.models import Group
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from accounts.models import AccessScope, ApiToken, BuiltinGroup, User
from accounts.permissions.visibility import visible_scopes
from accounts.principals import principal_of
from accounts.values import Holder, Principal
from kb_platform.errors import NotFound

Row = TypeVar("Row")
MOST_FOUND = 8
_HAN = re.compile("[\u3400-\u9fff]")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundHolder:
    """A person or group that can be put on a list. `member_count` is of active people, 0 for a person."""

    holder: Holder
    name: str
    email: str = ""
    member_count: int = 0


def find_holders(text: str, *, most: int = MOST_FOUND) -> list[FoundHolder]:
    """Groups, then active people, whose name or e-mail address holds the text; at most `most`.

    Fewer than two letters, or one Han character, find nobody: the directory is searched, never listed.
    """
    text = text.replace("\x00", "").strip()
    if len(text) < 2 and not _HAN.search(text):
        return []
    crowds = [
        FoundHolder(
            holder=Holder.group(group.pk),
            name=group_name(group),
            member_count=getattr(group, "member_count", 0),
        )
        for group in groups()
        if text.casefold() in group_name(group).casefold() or text.casefold() in group.name.casefold()
    ]
    rows = User.objects.filter(Q(name__icontains=text) | Q(email__icontains=text), is_active=True)
    persons = [
        FoundHolder(holder=Holder.user(user.pk), name=str(user), email=user.email)
        for user in rows.order_by("name", "email")[:most]
    ]
    return [*crowds, *persons][:most]


def named_holders(text: str) -> list[FoundHolder]:
    """Whoever is meant by exactly this e-mail address or name: usually one, several for a shared name."""
    wanted = text.strip().casefold()
    return [found for found in find_holders(text, most=50) if wanted in (found.name.casefold(), found.email)]


def tokens_of(principal: Principal) -> QuerySet[ApiToken]:
    """The person's own tokens that have not been revoked, newest first."""
    return ApiToken.objects.filter(user_id=principal.user_id, revoked_at=None)


def all_tokens() -> QuerySet[ApiToken]:
    """Everybody's tokens that have not been revoked, newest first; for administrators."""
    return ApiToken.objects.filter(revoked_at=None).select_related("user")


def find_own_token(principal: Principal, key: str) -> ApiToken:
    """One of the person's own living tokens. Raises NotFound, also for those of others."""
    return _found(tokens_of(principal).filter(pk=_number(key)).first())


def find_token(principal: Principal, key: str) -> ApiToken:
    """A living token that the person may revoke: one's own, for an administrator anybody's. Raises NotFound."""
    living = all_tokens() if principal.is_administrator else tokens_of(principal)
    return _found(living.filter(pk=_number(key)).first())


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCollection:
    scope_id: int
    name: str


def open_collections(user: User) -> list[OpenCollection]:
    """The collections that an account sees, by name."""
    scopes = visible_scopes(principal_of(user))
    rows = AccessScope.objects.filter(pk__in=scopes, collection__isnull=False).order_by("collection__name")
    return [OpenCollection(scope_id=pk, name=name) for pk, name in rows.values_list("pk", "collection__name")]


def role_name(user: User) -> str:
    return _("Administrator") if user.is_superuser else _("Employee")
