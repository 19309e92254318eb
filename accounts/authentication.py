"""API authentication: a session with CSRF, or `Authorization: Bearer kb_…`.

`PrincipalMiddleware` has opened the credentials; DRF's authenticators here only adopt what it found. Each returns None
(not its kind of credential) or an active user.
"""

from typing import Any

from django.http import HttpRequest
from rest_framework import authentication, permissions
from rest_framework.request import Request

from accounts.models import ApiToken, User
from accounts.principals import principal_of
from accounts.tokens import limits_of, open_token
from accounts.values import Principal, TokenLimits
from kb_platform.errors import NotAuthenticated
from kb_platform.policies import enforce, policy_of


def authenticate(request: HttpRequest) -> tuple[User, Principal] | None:
    """Who sends the request: by its bearer token alone when it has one, else by its session. None: nobody.

    Raises NotAuthenticated for a bearer token that is not valid.
    """
    kind, _sep, text = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer":
        token: ApiToken = open_token(text.strip())
        return token.user, principal_of(token.user, token=limits_of(token))
    if isinstance(request.user, User):
        return request.user, principal_of(request.user)
    return None


class TokenAuthentication(authentication.BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[User, TokenLimits] | None:
        principal = getattr(request._request, "principal", None)
        if principal is None or principal.token is None:
            return None
        return request._request.user, principal.token  # type: ignore[return-value]

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


class SessionAuthentication(authentication.SessionAuthentication):
    """Django's session; unsafe methods need the CSRF token."""


class HasScope(permissions.BasePermission):
    """The route's policy once more, for a DRF view that is reached without the middleware."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if error := getattr(request, "credential_error", None):
            raise error
        route = getattr(request, "resolver_match", None)
        declared = policy_of(route.func) if route else policy_of(type(view))
        principal = getattr(request, "principal", None)
        if principal is not None and not request.user:
            raise NotAuthenticated()
        enforce(declared, principal, request.method or "")
        return True
