"""Every URL declares who may open it. A system check fails on a route without a policy.

`policy(...)` marks a view: a function, a class-based view or a DRF class. `PolicyMiddleware` holds every request
against the policy of the route it resolved to, and refuses a route that has none, so that no view can forget to ask.
The registry is read back by walking the URL resolver: a policy cannot be declared for a route that does not exist.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from django.urls import URLPattern, URLResolver, get_resolver

from kb_platform.errors import NotAllowed, NotAuthenticated

View = TypeVar("View", bound=Callable[..., Any])
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class Access(StrEnum):
    PUBLIC = "public"  # anybody, signed in or not
    SIGNED_IN = "signed_in"  # any active account; the content is filtered by what it may see
    OBJECT = "object"  # as signed_in, and the URL names one thing: hidden and missing answer 404 alike
    ADMINISTRATOR = "administrator"  # others get 403


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """An API token opens the route with any one of `scopes`; a method that changes something needs `write_scopes`.

    Empty means that no token opens it, only a signed-in session.
    """

    access: Access
    scopes: frozenset[str] = frozenset()
    write_scopes: frozenset[str] = frozenset()

    def scopes_for(self, method: str) -> frozenset[str]:
        return self.scopes if method in SAFE_METHODS else self.write_scopes


class TokenLimits(Protocol):
    @property
    def scopes(self) -> frozenset[Any]: ...


class Caller(Protocol):
    """What a policy asks of a principal."""

    @property
    def is_administrator(self) -> bool: ...

    @property
    def token(self) -> TokenLimits | None: ...


def enforce(policy: Policy | None, caller: Caller | None, method: str) -> None:
    """Refuse who may not pass. Raises NotAuthenticated or NotAllowed; a view without a policy is open to nobody."""
    if policy is None:
        raise NotAllowed()
    if policy.access is Access.PUBLIC:
        return
    if caller is None:
        raise NotAuthenticated()
    if caller.token is not None and not policy.scopes_for(method) & caller.token.scopes:
        raise NotAllowed()
    if policy.access is Access.ADMINISTRATOR and not caller.is_administrator:
        raise NotAllowed()


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    pattern: str
    name: str
    policy: Policy | None
    parameters: tuple[str, ...]


Scopes = str | tuple[str, ...]


def policy(
    access: Access, *, scope: Scopes = (), write_scope: Scopes | None = None
) -> Callable[[View], View]:
    """Declare who may open a view.

    scope: the API token scope that opens it, or several of which one is enough; none: tokens cannot.
    write_scope: the same for methods that change something; as `scope` when left out.
    """
    declared = Policy(
        access=access,
        scopes=_set_of(scope),
        write_scopes=_set_of(scope if write_scope is None else write_scope),
    )

    def mark(view: View) -> View:
        view.policy = declared  # type: ignore[attr-defined]
        return view

    return mark


def _set_of(scopes: Scopes) -> frozenset[str]:
    return frozenset({scopes} if isinstance(scopes, str) else scopes)


def policy_of(view: Any) -> Policy | None:
    """The policy of a view function, of the class behind it, or of a partial around it."""
    for candidate in (
        view,
        getattr(view, "cls", None),
        getattr(view, "view_class", None),
        getattr(view, "func", None),
    ):
        if candidate is not None and (found := getattr(candidate, "policy", None)):
            return found  # type: ignore[no-any-return]
    return None


def routes() -> Iterator[Route]:
    """Every route of the site."""
    yield from _walk(get_resolver().url_patterns, "", ())


def _walk(patterns: list[Any], prefix: str, parameters: tuple[str, ...]) -> Iterator[Route]:
    for entry in patterns:
        here = prefix + str(entry.pattern)
        seen = (*parameters, *entry.pattern.converters)
        if isinstance(entry, URLResolver):
            yield from _walk(entry.url_patterns, here, seen)
        elif isinstance(entry, URLPattern):
            yield Route(
                pattern=here, name=entry.name or "", policy=policy_of(entry.callback), parameters=seen
            )
