"""API authentication: a session with CSRF, or `Authorization: Bearer kb_…`. Both set `request.principal`.

Each authenticator returns None (not its kind of credential), an active user, or raises.
"""

from typing import Any

from rest_framework import authentication, permissions
from rest_framework.request import Request

from accounts.models import User
from accounts.tokens import principal_from_token
from kb_platform.errors import NotAllowed, NotAuthenticated
from kb_platform.policies import Access, policy_of


class TokenAuthentication(authentication.BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[User, Any] | None:
        kind, _, text = request.headers.get("Authorization", "").partition(" ")
        if not kind:
            return None
        if kind.lower() != "bearer":
            raise NotAuthenticated()
        principal = principal_from_token(text.strip())
        request._request.principal = principal  # type: ignore[attr-defined]
        return User.objects.get(pk=principal.user_id), principal.token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


class SessionAuthentication(authentication.SessionAuthentication):
    """Django's session; unsafe methods need the CSRF token."""


class HasScope(permissions.BasePermission):
    """The view's declared policy, applied: signed in, token scope, administrator."""

    def has_permission(self, request: Request, view: Any) -> bool:
        declared = policy_of(type(view))
        if declared is None:
            raise NotAllowed()
        if declared.access is Access.PUBLIC:
            return True
        principal = getattr(request, "principal", None)
        if not request.user or principal is None:
            raise NotAuthenticated()
        if principal.token and declared.scope not in principal.token.scopes:
            raise NotAllowed()
        return declared.access is not Access.ADMINISTRATOR or principal.is_administrator
