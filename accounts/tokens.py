"""API tokens: made once, shown once, kept as a hash, checked on every request.

`kb_<key>_<secret>`: the 16-digit key finds the row, the 43-character secret carries 256 random bits, so that a fast
hash is enough.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection as Some
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import ApiToken, User
from accounts.principals import principal_of
from accounts.values import Principal, SystemActor, TokenLimits, TokenScope
from kb_platform.audit import record
from kb_platform.errors import InvalidInput, NotAllowed, NotAuthenticated, NotFound
from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import TOKEN_DAYS

PREFIX = "kb_"
_SHAPE = re.compile(r"kb_(?P<key>[0-9a-f]{16})_(?P<secret>[A-Za-z0-9_-]{43})", re.ASCII)
DEFAULT_DAYS = 90
_USED_EVERY = timedelta(minutes=1)  # last_used_at is a hint; a write for each request would be waste


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def longest_days() -> int:
    """How long a new token may live, in days."""
    return store.get(TOKEN_DAYS)


def allowed_scopes(user: User) -> frozenset[TokenScope]:
    """What a token of this account may be used for: `admin` only where the account administers."""
    return frozenset(TokenScope) - (frozenset() if user.is_superuser else {TokenScope.ADMIN})


@transaction.atomic
def create_token(
    *,
    actor: Principal | SystemActor,
    user: User,
    name: str,
    scopes: Some[TokenScope],
    days: int = DEFAULT_DAYS,
    collections: Some[int] = (),
) -> tuple[ApiToken, str]:
    """A new token for `user` and its full text, which is shown this once.

    One's own, or anyone's for an administrator. Raises NotAllowed, or InvalidInput with `name`, `scopes` or `days`.
    """
    if isinstance(actor, Principal) and actor.user_id != user.pk and not actor.is_administrator:
        raise NotAllowed()
    label = " ".join(name.replace("\x00", "").split()) or _("API token")
    if len(label) > 100:
        raise InvalidInput(fields={"name": _("A name has at most 100 characters.")})
    if not scopes:
        raise InvalidInput(fields={"scopes": _("Choose at least one scope.")})
    longest = longest_days()
    if not 1 <= days <= longest:
        raise InvalidInput(fields={"days": _("A token lives from 1 to %(days)d days.") % {"days": longest}})
    if not set(scopes) <= allowed_scopes(user):
        raise InvalidInput(fields={"scopes": _("Only an administrator's token may have the scope admin.")})
    key, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user,
        name=label,
        key=key,
        secret_hash=_hash(secret),
        scopes=sorted({scope.value for scope in scopes}),
        collections=sorted(collections),
        expires_at=timezone.now() + timedelta(days=days),
    )
    record(actor, "token.created", token, scopes=token.scopes, for_user=user.email)
    return token, f"{PREFIX}{key}_{secret}"


@transaction.atomic
def revoke_token(*, actor: Principal, token_id: int) -> None:
    """End a token at once. One's own, or anyone's for an administrator; others are not found."""
    mine = ApiToken.objects.select_for_update().filter(pk=token_id, revoked_at=None)
    if not actor.is_administrator:
        mine = mine.filter(user_id=actor.user_id)
    token = mine.first()
    if token is None:
        raise NotFound()
    token.revoked_at = timezone.now()
    token.save(update_fields=["revoked_at"])
    record(actor, "token.revoked", token)


def open_token(text: str) -> ApiToken:
    """The living token with this full text, and its active owner. Raises NotAuthenticated for every way it may fail."""
    if not (parts := _SHAPE.fullmatch(text)):
        raise NotAuthenticated()
    token = ApiToken.objects.select_related("user").filter(key=parts["key"]).first()
    if token is None or not hmac.compare_digest(token.secret_hash, _hash(parts["secret"])):
        raise NotAuthenticated()
    now = timezone.now()
    if token.revoked_at or token.expires_at <= now or not token.user.is_active:
        raise NotAuthenticated(_("This token has ended. Make a new one."))
    _note_use(token, now)
    return token


def limits_of(token: ApiToken) -> TokenLimits:
    return TokenLimits(
        token_id=token.pk,
        scopes=frozenset(map(TokenScope, token.scopes)),
        collections=frozenset(token.collections),
    )


def principal_from_token(text: str) -> Principal:
    """The principal behind a token's full text. Raises NotAuthenticated as `open_token` does."""
    token = open_token(text)
    return principal_of(token.user, token=limits_of(token))


def _note_use(token: ApiToken, now: datetime) -> None:
    if token.last_used_at is None or now - token.last_used_at > _USED_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
