"""Who asks, and how far the asking may reach. Plain values, no ORM."""

from dataclasses import dataclass, field
from datetime import datetime
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


class HolderKind(StrEnum):
    USER = "user"
    GROUP = "group"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Whom a grant opens a scope to: a person or a group, by primary key."""

    kind: HolderKind
    id: int

    @classmethod
    def user(cls, pk: int) -> "Holder":
        return cls(kind=HolderKind.USER, id=pk)

    @classmethod
    def group(cls, pk: int) -> "Holder":
        return cls(kind=HolderKind.GROUP, id=pk)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRequest:
    """A grant as somebody wishes it. `expires_at` is aware; None means without end."""

    holder: Holder
    permission: Permission
    expires_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.expires_at is not None and self.expires_at.tzinfo is None:
            raise ValueError("expires_at needs a time zone")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGrant:
    """A grant in force, with its origin: who gave it, and when. `granted_by` is empty for the system itself."""

    holder: Holder
    name: str
    email: str
    permission: Permission
    expires_at: datetime | None
    granted_by: str
    granted_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserChanges:
    """What to change of an account; None leaves a field as it is. `groups` are group ids, all of them."""

    email: str | None = None
    name: str | None = None
    password: str | None = None
    language: str | None = None
    theme: str | None = None
    letter_shortcuts: bool | None = None
    groups: frozenset[int] | None = None
    is_active: bool | None = None


Actor = Principal | SystemActor
