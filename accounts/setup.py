"""The first administrator: from the environment, or by a one-time link printed on the server. No default account.

The link lives a day, works once, and never once an administrator exists; each start makes a fresh one.
"""

import hashlib
import logging
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import connection, transaction
from django.urls import reverse
from django.utils import timezone

from accounts.models import SetupLink, User
from accounts.selectors import administrators, restore_builtin_groups
from accounts.services import create_user, update_user
from accounts.sign_in import forget_old_failures
from accounts.values import SystemActor, UserChanges
from kb_platform.audit import record
from kb_platform.embedded.address import public_address
from kb_platform.errors import InvalidInput, KnowledgeBaseError

log = logging.getLogger(__name__)
LIFE = timedelta(hours=24)
ACTOR = SystemActor(name="first start")


class LinkEnded(KnowledgeBaseError):
    """The link was used, is too old, was replaced by a newer one, or is no longer needed."""

    code, status = "link_ended", 410


def bootstrap() -> list[str]:
    """The step of accounts at every start; returns what the operator should read."""
    restore_builtin_groups()
    forget_old_failures()
    path = ensure_first_admin()
    return [f"Create the first administrator: {public_address()}{path}"] if path else []


def has_administrator() -> bool:
    return User.objects.filter(is_superuser=True, is_active=True).exists()


@transaction.atomic
def ensure_first_admin() -> str | None:
    """See that somebody administers, or can begin to: the path of a fresh one-time link, or None if none is needed.

    Raises ImproperlyConfigured when KB_ADMIN_EMAIL and KB_ADMIN_PASSWORD cannot be used.
    """
    with connection.cursor() as cursor:  # two starts take turns
        cursor.execute("select pg_advisory_xact_lock(hashtextextended('first administrator', 0))")
    if has_administrator():
        return None
    if settings.ADMIN_EMAIL or settings.ADMIN_PASSWORD:
        _admin_from_environment()
        return None
    return reverse("first_start", args=[_fresh_link()])


def _admin_from_environment() -> None:
    if not (settings.ADMIN_EMAIL and settings.ADMIN_PASSWORD):
        raise ImproperlyConfigured(
            "KB_ADMIN_EMAIL and KB_ADMIN_PASSWORD belong together: set both or neither"
        )
    try:
        user = _make_administrator(email=settings.ADMIN_EMAIL, password=None, name="")
    except InvalidInput as error:
        reasons = " ".join(f"KB_ADMIN_{name.upper()}: {text}" for name, text in error.fields.items() if text)
        raise ImproperlyConfigured(f"The first administrator cannot be created. {reasons}") from error
    try:
        validate_password(settings.ADMIN_PASSWORD, user)
    except ValidationError as error:  # whoever sets the environment decides; people on the page may not
        log.warning(
            "KB_ADMIN_PASSWORD is weak, change it after signing in", extra={"why": " ".join(error.messages)}
        )
    user.set_password(settings.ADMIN_PASSWORD)
    user.save(update_fields=["password"])


def _make_administrator(*, email: str, password: str | None, name: str) -> User:
    """A new account, or the existing one of this address, as an active administrator with this password, if any."""
    existing = User.objects.filter(email=email.strip().lower()).first()
    if existing is None:
        return create_user(
            actor=ACTOR, email=email, name=name, password=password, groups=[administrators().pk]
        )
    groups = frozenset({administrators().pk, *existing.groups.values_list("pk", flat=True)})
    changes = UserChanges(name=name or None, password=password, groups=groups, is_active=True)
    return update_user(actor=ACTOR, user=existing, changes=changes)


def _fresh_link() -> str:
    """The key of a new link; earlier unused ones end."""
    key = secrets.token_urlsafe(32)
    SetupLink.objects.filter(used_at=None).delete()
    SetupLink.objects.create(key_hash=_hash(key), expires_at=timezone.now() + LIFE)
    return key


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def open_link(key: str) -> SetupLink:
    """The link behind a key, if it may still be used. Raises LinkEnded."""
    link = SetupLink.objects.filter(key_hash=_hash(key), used_at=None, expires_at__gt=timezone.now()).first()
    if link is None or has_administrator():
        raise LinkEnded()
    return link


@transaction.atomic
def use_link(key: str, *, email: str, name: str, password: str) -> User:
    """Create the first administrator. Raises LinkEnded, or InvalidInput and the link stays usable."""
    link = SetupLink.objects.select_for_update().get(pk=open_link(key).pk)
    if link.used_at is not None or has_administrator():
        raise LinkEnded()
    user = _make_administrator(email=email, password=password, name=name)
    link.used_at = timezone.now()
    link.save(update_fields=["used_at"])
    record(ACTOR, "setup_link.used", user)
    return user
