"""Whether a given person can use an access scope now, and through which entries of its list."""

from dataclasses import dataclass

from accounts.models import AccessScope, User
from accounts.permissions.grants import grants_of
from accounts.values import Holder, HolderKind, Permission, StoredGrant
from kb_platform.errors import NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessVerdict:
    """level: the highest that an entry in force gives the person, None for no access. paths: those entries, best first.

    Whoever is deactivated has no access, whatever the list says.
    """

    user_id: int
    name: str
    email: str
    is_active: bool
    level: Permission | None
    paths: tuple[StoredGrant, ...]


def explain_access(scope: AccessScope, user: User) -> AccessVerdict:
    """Read the list as it is now. The caller has made sure that whoever asks manages the scope.

    Raises NotFound for a deactivated account that the list does not name: the directory tells of none.
    """
    groups = set(user.groups.values_list("pk", flat=True))
    reaching = [grant for grant in grants_of(scope) if _reaches(grant, user, groups)]
    if not user.is_active and all(grant.holder != Holder.user(user.pk) for grant in reaching):
        raise NotFound()
    levels = list(Permission)
    paths = sorted(reaching, key=lambda grant: -levels.index(grant.permission)) if user.is_active else []
    return AccessVerdict(
        user_id=user.pk,
        name=str(user),
        email=user.email,
        is_active=user.is_active,
        level=paths[0].permission if paths else None,
        paths=tuple(paths),
    )


def _reaches(grant: StoredGrant, user: User, groups: set[int]) -> bool:
    if grant.holder.kind is HolderKind.GROUP:
        return grant.holder.id in groups
    return grant.holder == Holder.user(user.pk)
