"""A one-time link by which somebody sets a new password; an administrator makes it and hands it over. Only a hash is kept."""

import hashlib
import secrets
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from accounts.models import PasswordLink, User
from accounts.principals import principal_of
from accounts.services import set_forgotten_password
from accounts.values import Principal
from kb_platform.audit import record
from kb_platform.errors import Conflict, KnowledgeBaseError, NotAllowed

LIFE = timedelta(hours=24)


class PasswordLinkEnded(KnowledgeBaseError):
    """The link was used, is too old, was replaced by a newer one, or its account is not active."""

    code, status = "link_ended", 410


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


@transaction.atomic
def make_link(*, actor: Principal, user: User) -> str:
    """The key of a new link for an active account; its earlier ones end."""
    if not actor.is_administrator:
        raise NotAllowed()
    if not user.is_active:
        raise Conflict(code="inactive")
    key = secrets.token_urlsafe(32)
    PasswordLink.objects.filter(user=user).delete()
    PasswordLink.objects.create(user=user, key_hash=_hash(key), expires_at=timezone.now() + LIFE)
    record(actor, "password_link.created", user)
    return key


def open_link(key: str) -> PasswordLink:
    """The link behind a key, if it may still be used. Raises PasswordLinkEnded."""
    living = PasswordLink.objects.filter(expires_at__gt=timezone.now(), user__is_active=True)
    link = living.select_related("user").filter(key_hash=_hash(key)).first()
    if link is None:
        raise PasswordLinkEnded()
    return link


@transaction.atomic
def use_link(key: str, *, password: str) -> User:
    """Set the password and end all sessions. Raises PasswordLinkEnded, or InvalidInput and the link stays usable."""
    link = PasswordLink.objects.select_for_update().filter(pk=open_link(key).pk).first()
    if link is None:
        raise PasswordLinkEnded()
    user = set_forgotten_password(user=link.user, chosen=password)
    link.delete()
    record(principal_of(user), "password_link.used", user)
    return user
