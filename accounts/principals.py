"""From an account to the principal that every read path takes."""

from django.http import HttpRequest
from rest_framework.request import Request

from accounts.models import User
from accounts.values import Principal, TokenLimits
from kb_platform.errors import NotAuthenticated


def principal_of(user: User, *, token: TokenLimits | None = None) -> Principal:
    """The principal of an active account. A token with limits never administers beyond its `admin` scope."""
    if not user.is_active:
        raise NotAuthenticated()
    administers = user.is_superuser and (token is None or "admin" in token.scopes)
    return Principal(
        user_id=user.pk,
        name=str(user),
        email=user.email,
        is_administrator=administers,
        token=token,
        language=user.language,
    )


def principal_on(request: HttpRequest | Request) -> Principal:
    """Who sends this request. Raises NotAuthenticated for nobody."""
    found = getattr(request, "principal", None)
    if not isinstance(found, Principal):
        raise NotAuthenticated()
    return found
