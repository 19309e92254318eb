"""Every URL declares who may open it. A system check fails on a route without a policy.

`policy(...)` marks a view (function or DRF class). The registry is read back by walking the URL resolver, so a
policy cannot be declared for a route that does not exist, nor a route exist without one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from django.urls import URLPattern, URLResolver, get_resolver

View = TypeVar("View", bound=Callable[..., Any])


class Access(StrEnum):
    PUBLIC = "public"  # anybody, signed in or not
    SIGNED_IN = "signed_in"  # any active account; the content is filtered by what it may see
    OBJECT = "object"  # as signed_in, and the URL names one thing: hidden and missing answer 404 alike
    ADMINISTRATOR = "administrator"  # others get 403


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """`scope` is the API token scope that opens the route; None means that tokens cannot open it."""

    access: Access
    scope: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    pattern: str
    name: str
    policy: Policy | None
    parameters: tuple[str, ...]


def policy(access: Access, *, scope: str | None = None) -> Callable[[View], View]:
    """Declare who may open a view."""

    def mark(view: View) -> View:
        view.policy = Policy(access=access, scope=scope)  # type: ignore[attr-defined]
        return view

    return mark


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
