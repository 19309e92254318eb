"""Who asks, and how far the asking may reach. Plain values, no ORM."""

from dataclasses import dataclass, field
from enum import StrEnum


class Permission(StrEnum):
    """What a grant allows on an access scope; each level holds those before it."""

    VIEW = "view"
    CONTRIBUTE = "contribute"
    MANAGE = "manage"

    @property
    def and_above(self) -> tuple["Permission", ...]:
        """The levels that include this one."""
        levels = tuple(Permission)
        return levels[levels.index(self) :]


class TokenScope(StrEnum):
    """What an API token may be used for; always within its owner's own rights."""

    SEARCH = "search"
    ASK = "ask"
    INGEST = "ingest"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLimits:
    """Limits of the API token a principal came with. `collections` are scope ids; empty means no further limit."""

    token_id: int
    scopes: frozenset[TokenScope]
    collections: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A signed-in person, or a person through an API token.

    Rights are not stored here: `accounts.visibility` reads them anew for every request.
    """

    user_id: int
    name: str
    email: str = ""
    is_administrator: bool = False
    token: TokenLimits | None = None
    language: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemActor:
    """Named work of the system itself, for the audit log. It reads no content on anyone's behalf."""

    name: str
    user_id: None = None
