"""Who may see a collection or a document, and what another list would change. Reads only; `services` writes.

Callers have made sure that whoever asks manages the collection or the document.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from accounts.permissions.grants import checked_list, grants_of, version_of
from accounts.permissions.plans import GrantPlan, Terms, holder_names, people_behind, plan_grants
from accounts.permissions.visibility import require
from accounts.values import GrantRequest, Holder, Permission, Principal, StoredGrant
from ingestion import families, selectors
from ingestion.models import Collection, Document


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPlan:
    """What saving a list would come to.

    after: the list as it would be stored. names: of its holders. document_count: searchable documents that it decides
    about. untouched_count: those of the collection with lists of their own, as far as the asking person sees them.
    loses_own: whether the asking person would see nothing of it any more.
    """

    plan: GrantPlan
    after: Mapping[Holder, Terms]
    names: Mapping[Holder, str]
    document_count: int
    untouched_count: int = 0
    loses_own: bool = False


def plan_collection(
    principal: Principal, collection: Collection, grants: Sequence[GrantRequest]
) -> AccessPlan:
    """Raises InvalidInput as saving would."""
    before = grants_of(collection.scope)
    live = collection.documents.filter(active_version__isnull=False, archived_at=None)
    own_lists = selectors.documents_for(principal).filter(collection=collection, archived_at=None)
    return _plan(
        principal,
        before,
        checked_list(principal, before, grants),
        document_count=live.filter(scope_id=collection.scope_id).count(),
        untouched_count=own_lists.exclude(scope_id=collection.scope_id).count(),
    )


def plan_document(
    principal: Principal, document: Document, grants: Sequence[GrantRequest] | None
) -> AccessPlan:
    """grants: None for the list of the collection, which is told to its managers alone.

    Raises InvalidInput, NotFound and NotAllowed as saving would.
    """
    before = grants_of(document.scope)
    if grants is None:
        require(principal, Permission.MANAGE, document.collection.scope_id)
        after = {
            grant.holder: (grant.permission, grant.expires_at)
            for grant in grants_of(document.collection.scope)
        }
    elif follows_collection(document):  # a list of its own begins with whoever makes it as manager
        me = Holder.user(principal.user_id)
        maker = GrantRequest(holder=me, permission=Permission.MANAGE)
        after = checked_list(principal, (), [*(grant for grant in grants if grant.holder != me), maker])
    else:
        after = checked_list(principal, before, grants)
    family = Document.objects.filter(pk__in=[document.pk, *families.below([document.pk])], trashed_from=None)
    searchable = family.filter(active_version__isnull=False, archived_at=None).count()
    return _plan(principal, before, after, document_count=searchable)


def _plan(
    principal: Principal, before: Sequence[StoredGrant], after: Mapping[Holder, Terms], **counts: int
) -> AccessPlan:
    return AccessPlan(
        plan=plan_grants(before, after),
        after=after,
        names=holder_names(after),
        loses_own=principal.user_id not in people_behind(after),
        **counts,
    )


def follows_collection(document: Document) -> bool:
    return document.scope_id == document.collection.scope_id


def access_version(document: Document) -> str:
    """Changes with the list of a document, and when it is exchanged for that of the collection or back."""
    kind = "as-collection" if follows_collection(document) else "own"
    return f"{kind}-{version_of(grants_of(document.scope))}"
