"""Collections as cards and tiles: counts and states of the documents that a person may see, and when they last changed.

Who else may see a collection is told to those who manage it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max

from accounts.permissions.grants import grants_by_scope
from accounts.permissions.visibility import visible_scopes
from accounts.selectors import all_staff
from accounts.values import Holder, Permission, Principal, StoredGrant
from ingestion import selectors
from ingestion.access_words import who_can_see
from ingestion.models import Collection

LIVE, NEEDS_ATTENTION = ("live", "partly_live"), ("rejected", "quarantined")
MOST_NAMED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionCard:
    """live, processing, attention: documents by what readers get of them. languages: of those that are live, most first.

    level: what the person may do. who, managers: a few words, empty unless the person manages it. is_restricted: whether
    the list is short of everybody. changed_at: of the collection or of its newest live document.
    """

    collection: Collection
    level: Permission
    live: int
    processing: int
    attention: int
    languages: tuple[str, ...]
    changed_at: datetime
    who: str = ""
    managers: str = ""
    is_restricted: bool = False

    @property
    def parts(self) -> list[tuple[str, float, float]]:
        """Bar segments: colour class, start and width in per cent."""
        counts = (("fill2", self.live), ("fill1", self.processing), ("fill4", self.attention))
        total = sum(count for _css, count in counts)
        segments, at = [], 0.0
        for css, count in counts:
            if count:
                share = 100 * count / total
                segments.append((css, round(at, 2), round(share, 2)))
                at += share
        return segments


SORTS: dict[str, Callable[[CollectionCard], Any]] = {
    "name": lambda card: card.collection.name.casefold(),
    "changed": lambda card: -card.changed_at.timestamp(),
    "documents": lambda card: (-card.live, card.collection.name.casefold()),
    "attention": lambda card: (-card.attention, card.collection.name.casefold()),
}


def cards_for(principal: Principal, *, uid: str = "") -> list[CollectionCard]:
    """All collections open to the person by name, or with `uid` that one. Five queries for any number."""
    collections = list(selectors.collections_for(principal).select_related("created_by"))
    if uid:
        collections = [row for row in collections if str(row.uid) == uid]
    levels = _levels(principal)
    states, languages, changed = _documents(principal, [row.pk for row in collections])
    managed = [row.scope_id for row in collections if levels[row.scope_id] is Permission.MANAGE]
    grants = grants_by_scope(managed)
    everybody = Holder.group(all_staff().pk)
    return [
        CollectionCard(
            collection=row,
            level=levels[row.scope_id],
            live=sum(states[row.pk, state] for state in LIVE),
            processing=states[row.pk, "processing"],
            attention=sum(states[row.pk, state] for state in NEEDS_ATTENTION),
            languages=languages[row.pk],
            changed_at=max(filter(None, (row.updated_at, changed.get(row.pk)))),
            **_sharing(grants.get(row.scope_id), everybody),
        )
        for row in collections
    ]


def narrowed(cards: Iterable[CollectionCard], *, text: str = "", sort: str = "name") -> list[CollectionCard]:
    """Those whose name, description or managers hold the text, in an order of SORTS."""
    wanted = text.casefold().strip()
    found = [
        card
        for card in cards
        if wanted in f"{card.collection.name}\n{card.collection.description}\n{card.managers}".casefold()
    ]
    return sorted(found, key=SORTS.get(sort, SORTS["name"]))


def _levels(principal: Principal) -> dict[int, Permission]:
    levels: dict[int, Permission] = {}
    for level in Permission:
        levels |= dict.fromkeys(visible_scopes(principal, at_least=level), level)
    return levels


def _documents(
    principal: Principal, collection_ids: Sequence[int]
) -> tuple[dict[tuple[int, str], int], dict[int, tuple[str, ...]], dict[int, datetime]]:
    documents = (
        selectors.documents_for(principal)
        .filter(collection__in=collection_ids, archived_at=None, is_faq=False)
        .order_by()
    )
    states: dict[tuple[int, str], int] = defaultdict(int)
    # The plug-in for types does not see an annotation through a function.
    counted_states: Any = documents.values_list("collection", "state")  # type: ignore[misc]
    for collection_id, state, count in counted_states.annotate(n=Count("pk")):
        states[collection_id, state] = count
    live = documents.filter(active_version__isnull=False)
    languages: dict[int, tuple[str, ...]] = defaultdict(tuple)
    counted = live.exclude(language="").values_list("collection", "language").annotate(n=Count("pk"))
    for collection_id, language, _count in counted.order_by("-n", "language"):
        languages[collection_id] += (language,)
    newest = live.values_list("collection").annotate(at=Max("active_version__created_at"))
    return states, languages, dict(newest)


def _sharing(grants: Sequence[StoredGrant] | None, everybody: Holder) -> dict[str, Any]:
    if grants is None:
        return {}
    managers = [grant.name for grant in grants if grant.permission is Permission.MANAGE]
    named = ", ".join(managers[:MOST_NAMED]) + (" …" if len(managers) > MOST_NAMED else "")
    return {
        "who": who_can_see(grants, everybody=everybody),
        "managers": named,
        "is_restricted": all(grant.holder != everybody for grant in grants),
    }
