"""Writes of accounts: people and groups. Grants are written by `accounts.permissions.grants`, offered here too.

Everybody belongs to All staff. Membership in Administrators and `User.is_superuser` are one fact in two places, changed
only together, and somebody active always keeps it.
"""

from collections.abc import Collection as Some

from django.contrib.auth import password_validation
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator, validate_email
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import PasswordLink, User
from accounts.permissions.grants import (
    create_scope,
    grants_of,
    hand_over_unmanaged,
    replace_grants,
    scopes_managed_by,
    take_turns,
)
from accounts.selectors import administrators, all_staff
from accounts.values import Actor, GrantRequest, Holder, Principal, UserChanges
from kb_platform.audit import record
from kb_platform.errors import Conflict, InvalidInput, NotAllowed
from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import DEFAULT_THEME

__all__ = [
    "GrantRequest",
    "change_members",
    "change_password",
    "create_group",
    "create_scope",
    "create_user",
    "deactivate_user",
    "delete_group",
    "grants_of",
    "rename_group",
    "replace_grants",
    "set_members",
    "update_group",
    "update_profile",
    "update_user",
]


def _require_administrator(actor: Actor) -> None:
    if isinstance(actor, Principal) and not actor.is_administrator:
        raise NotAllowed()


# --- people -----------------------------------------------------------------------------------------------


@transaction.atomic
def create_user(
    *, actor: Actor, email: str, name: str = "", password: str | None = None, groups: Some[int] = ()
) -> User:
    """A new account in All staff and in `groups` (ids); in Administrators it administers.

    Without a password it cannot sign in with one. Raises InvalidInput with `email`, `name`, `password` or `groups`.
    """
    _require_administrator(actor)
    user = User(
        email=_free_email(email), name=_clean_name(name, required=False), theme=store.get(DEFAULT_THEME)
    )
    _set_password(user, password)
    user.save()
    _set_groups(user, groups)
    record(actor, "user.created", user, email=user.email, groups=_group_names(user))
    return user


@transaction.atomic
def update_user(*, actor: Actor, user: User, changes: UserChanges) -> User:
    """Change an account. Raises InvalidInput with the field, Conflict when no administrator would be left."""
    _require_administrator(actor)
    user = _locked(user)
    before, administered = _for_audit(user), user.is_superuser and user.is_active
    if changes.email is not None and changes.email.strip().lower() != user.email:
        user.email = _free_email(changes.email)
    _apply_profile(user, changes)
    if changes.password is not None:
        _set_password(user, changes.password)
    user.save()
    if changes.groups is not None:
        managed = scopes_managed_by(Holder.user(user.pk))
        _set_groups(user, changes.groups)
        hand_over_unmanaged(actor=actor, scope_ids=managed)
    if changes.is_active is not None and changes.is_active != user.is_active:
        _set_active(actor, user, changes.is_active)
    if administered:
        _require_some_administrator()
    record(
        actor,
        "user.updated",
        user,
        before=before,
        after=_for_audit(user),
        password_changed=changes.password is not None,
    )
    return user


@transaction.atomic
def deactivate_user(*, actor: Actor, user: User) -> None:
    """End an account's access at once: sessions are deleted, tokens revoked; what it made stays."""
    update_user(actor=actor, user=user, changes=UserChanges(is_active=False))


@transaction.atomic
def update_profile(*, actor: Principal, changes: UserChanges) -> User:
    """Change one's own name, language and appearance; nothing else of `changes` is looked at."""
    user = User.objects.select_for_update().get(pk=actor.user_id)
    before = _for_audit(user)
    _apply_profile(user, changes)
    user.save()
    record(actor, "profile.updated", user, before=before, after=_for_audit(user))
    return user


@transaction.atomic
def change_password(*, actor: Principal, current: str, chosen: str) -> User:
    """Set one's own password; every other session ends. Raises InvalidInput with `current` or `password`."""
    user = User.objects.select_for_update().get(pk=actor.user_id)
    if not user.check_password(current):
        raise InvalidInput(fields={"current": _("This is not your present password.")})
    _set_password(user, chosen)
    user.save(update_fields=["password"])
    record(actor, "password.changed", user)
    return user


@transaction.atomic
def set_forgotten_password(*, user: User, chosen: str) -> User:
    """Set a password without the old one; all sessions end. The caller knows who asks. Raises InvalidInput."""
    user = User.objects.select_for_update().get(pk=user.pk)
    _set_password(user, chosen)
    user.save(update_fields=["password"])
    _end_sessions(user)
    return user


@transaction.atomic
def end_other_sessions(*, actor: Principal, keep: str | None) -> int:
    """End all of one's own sessions but the one with the key `keep`; returns how many."""
    user = User.objects.get(pk=actor.user_id)
    ended = _end_sessions(user, keep=keep)
    record(actor, "sessions.ended", user, count=ended)
    return ended


def _locked(user: User) -> User:
    take_turns()
    return User.objects.select_for_update().get(pk=user.pk)


def _free_email(email: str) -> str:
    address = email.strip().lower()
    try:
        validate_email(address)
        MaxLengthValidator(254)(address)
    except ValidationError as error:
        raise InvalidInput(fields={"email": _("Enter a valid e-mail address.")}) from error
    if User.objects.filter(email=address).exists():
        raise InvalidInput(fields={"email": _("There is an account with this address already.")})
    return address


def _clean_name(name: str, *, required: bool) -> str:
    cleaned = " ".join(name.replace("\x00", "").split())
    if required and not cleaned:
        raise InvalidInput(fields={"name": _("Enter a name.")})
    if len(cleaned) > 150:
        raise InvalidInput(fields={"name": _("A name has at most 150 characters.")})
    return cleaned


def _set_password(user: User, password: str | None) -> None:
    """Without saving it. Links for a new password end with the old one."""
    if password is not None:
        try:
            password_validation.validate_password(password, user)
        except ValidationError as error:
            raise InvalidInput(fields={"password": " ".join(error.messages)}) from error
    user.set_password(password)
    if user.pk:
        PasswordLink.objects.filter(user=user).delete()


def _apply_profile(user: User, changes: UserChanges) -> None:
    if changes.name is not None:
        user.name = _clean_name(changes.name, required=False)
    if changes.language is not None:
        user.language = changes.language
    if changes.theme is not None:
        user.theme = changes.theme
    if changes.letter_shortcuts is not None:
        user.letter_shortcuts = changes.letter_shortcuts
    try:
        user.clean_fields(exclude=["password", "email"])
    except ValidationError as error:
        problems = {field: " ".join(texts) for field, texts in error.message_dict.items()}
        raise InvalidInput(fields=problems) from error


def _set_groups(user: User, group_ids: Some[int]) -> None:
    wanted = {*group_ids, all_staff().pk}
    if Group.objects.filter(pk__in=wanted).count() != len(wanted):
        raise InvalidInput(fields={"groups": _("One of the groups does not exist.")})
    user.groups.set(wanted)
    user.is_superuser = administrators().pk in wanted
    user.save(update_fields=["is_superuser"])


def _set_active(actor: Actor, user: User, active: bool) -> None:
    user.is_active = active
    user.save(update_fields=["is_active"])
    if not active:
        _end_sessions(user)
        PasswordLink.objects.filter(user=user).delete()
        user.tokens.filter(revoked_at=None).update(revoked_at=timezone.now())
        hand_over_unmanaged(actor=actor, scope_ids=scopes_managed_by(Holder.user(user.pk)))


def _end_sessions(user: User, *, keep: str | None = None) -> int:
    """Sessions are stored encoded, so each living one is opened to see whose it is."""
    living = Session.objects.filter(expire_date__gt=timezone.now())
    theirs = [row.pk for row in living.iterator() if row.get_decoded().get("_auth_user_id") == str(user.pk)]
    removed, _by_model = Session.objects.filter(pk__in=theirs).exclude(pk=keep or "").delete()
    return removed


def _require_some_administrator() -> None:
    if not User.objects.filter(is_superuser=True, is_active=True).exists():
        raise Conflict(
            _("This is the last administrator. Make another one first."), code="last_administrator"
        )


def _group_names(user: User) -> list[str]:
    return sorted(user.groups.values_list("name", flat=True))


def _for_audit(user: User) -> dict[str, object]:
    return {
        "email": user.email,
        "name": user.name,
        "language": user.language,
        "is_active": user.is_active,
        "groups": _group_names(user),
    }


# --- groups -----------------------------------------------------------------------------------------------


@transaction.atomic
def create_group(*, actor: Actor, name: str, members: Some[int] = ()) -> Group:
    """A new group. Raises InvalidInput with `name` or `members` (ids of accounts)."""
    _require_administrator(actor)
    group = Group.objects.create(name=_free_group_name(name))
    group.user_set.set(_existing_people(members))  # type: ignore[attr-defined]
    record(actor, "group.created", group, members=sorted(members))
    return group


@transaction.atomic
def rename_group(*, actor: Actor, group: Group, name: str) -> Group:
    _require_administrator(actor)
    _refuse_builtin(group)
    before = group.name
    if name.strip() != before:
        group.name = _free_group_name(name)
        group.save(update_fields=["name"])
        record(actor, "group.renamed", group, before=before, after=group.name)
    return group


@transaction.atomic
def update_group(
    *, actor: Actor, group: Group, name: str | None = None, members: Some[int] | None = None
) -> None:
    """Rename a group, or set its members, or both. None leaves it as it is."""
    if name is not None:
        rename_group(actor=actor, group=group, name=name)
    if members is not None:
        set_members(actor=actor, group=group, members=members)


@transaction.atomic
def delete_group(*, actor: Actor, group: Group) -> None:
    """Remove a group and what it opened. Scopes that only it managed go to the administrators."""
    _require_administrator(actor)
    _refuse_builtin(group)
    take_turns()
    managed = scopes_managed_by(Holder.group(group.pk))
    record(actor, "group.deleted", group, members=_member_ids(group))
    group.delete()
    hand_over_unmanaged(actor=actor, scope_ids=managed)


@transaction.atomic
def set_members(*, actor: Actor, group: Group, members: Some[int]) -> None:
    """Make `members` (ids of accounts) the whole membership. All staff cannot be edited: it is everybody."""
    _require_administrator(actor)
    if group.pk == all_staff().pk:
        raise Conflict(_("Everybody belongs to this group; it cannot be edited."), code="builtin_group")
    take_turns()
    before = _member_ids(group)
    group.user_set.set(_existing_people(members))  # type: ignore[attr-defined]
    if group.pk == administrators().pk:
        User.objects.exclude(pk__in=members).filter(is_superuser=True).update(is_superuser=False)
        User.objects.filter(pk__in=members).update(is_superuser=True)
        _require_some_administrator()
    hand_over_unmanaged(actor=actor, scope_ids=scopes_managed_by(Holder.group(group.pk)))
    record(actor, "group.members_set", group, before=before, after=sorted(members))


@transaction.atomic
def change_members(*, actor: Actor, group: Group, add: Some[int] = (), remove: Some[int] = ()) -> None:
    """Add and remove some members; the others stay. As `set_members` otherwise."""
    take_turns()
    set_members(actor=actor, group=group, members={*_member_ids(group), *add} - {*remove})


def _member_ids(group: Group) -> list[int]:
    return sorted(User.objects.filter(groups=group).values_list("pk", flat=True))


def _existing_people(ids: Some[int]) -> list[User]:
    found = list(User.objects.filter(pk__in=ids))
    if len(found) != len(set(ids)):
        raise InvalidInput(fields={"members": _("One of the people does not exist.")})
    return found


def _free_group_name(name: str) -> str:
    cleaned = _clean_name(name, required=True)
    if Group.objects.filter(name__iexact=cleaned).exists():
        raise InvalidInput(fields={"name": _("There is a group with this name already.")})
    return cleaned


def _refuse_builtin(group: Group) -> None:
    if hasattr(group, "builtin"):
        raise Conflict(_("This group belongs to the product and stays."), code="builtin_group")
