"""The library as readers see it: collections with counts of what is open to them, and what changed lately.

Nothing here counts, names or orders by a document that the reader may not see.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone

from accounts.values import Principal
from ingestion import selectors
from ingestion.collection_cards import CollectionCard, cards_for
from ingestion.models import IN_FORCE, Document
from kb_platform.json_values import is_storable
from retrieval.models import Citation

USE_DAYS, LATELY, MOST_SHARED = 90, 6, 8
ORDERS = {
    "name": ("title", "id"),
    "-name": ("-title", "id"),
    "changed": ("active_version__created_at", "id"),
    "-changed": ("-active_version__created_at", "id"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """tiles: most cited first where anything has been cited (`by_use`), else by name.

    lately: documents whose version in force is newest. cited: those in the reader's own latest answers.
    shared: documents open to the reader in collections that are not.
    """

    tiles: tuple[CollectionCard, ...]
    by_use: bool
    document_count: int
    lately: tuple[Document, ...]
    cited: tuple[Document, ...]
    shared: tuple[Document, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """What a list of documents is narrowed by, as typed; an unknown value matches nothing."""

    text: str = ""
    doc_type: str = ""
    language: str = ""
    order: str = "-changed"


def current_documents(principal: Principal) -> QuerySet[Document]:
    """What the reader can open and find: in force, and not archived. Questions of a FAQ stand on a page of their own."""
    return selectors.documents_for(principal).filter(
        active_version__state__in=IN_FORCE, archived_at=None, is_faq=False
    )


def shelf_for(principal: Principal) -> Shelf:
    cards = [card for card in cards_for(principal) if card.live]
    documents = current_documents(principal)
    uses = _uses(documents)
    open_collections = [card.collection.pk for card in cards]
    tiles = sorted(cards, key=lambda card: (-uses[card.collection.pk], card.collection.name.casefold()))
    shared = documents.exclude(collection__in=open_collections).order_by("title", "id")
    return Shelf(
        tiles=tuple(tiles),
        by_use=bool(uses),
        document_count=documents.count(),
        lately=tuple(documents.order_by("-active_version__created_at", "-id")[:LATELY]),
        cited=_cited_for(principal, documents),
        shared=tuple(shared[:MOST_SHARED]),
    )


def _uses(documents: QuerySet[Document]) -> Counter[int]:
    """Citations of the last days by collection, of these documents alone."""
    since = timezone.now() - timedelta(days=USE_DAYS)
    rows = (
        Citation.objects.filter(
            document__in=documents.order_by().values("pk"), message__created_at__gte=since
        )
        .order_by()
        .values_list("document__collection")
        .annotate(n=Count("pk"))
    )
    return Counter(dict(rows))


def _cited_for(principal: Principal, documents: QuerySet[Document]) -> tuple[Document, ...]:
    latest = (
        Citation.objects.filter(message__conversation__user_id=principal.user_id, document__isnull=False)
        .order_by()
        .values("document")
        .annotate(last=Max("message"))
        .order_by("-last")
        .values_list("document", flat=True)[: LATELY * 3]
    )
    order = list(latest)
    found = {document.pk: document for document in documents.filter(pk__in=order)}
    return tuple(found[pk] for pk in order if pk in found)[:LATELY]


def documents_in(principal: Principal, collection_id: int, wanted: Narrowing) -> QuerySet[Document]:
    """The current documents of a collection, narrowed and ordered."""
    documents = current_documents(principal).filter(collection=collection_id)
    if not all(map(is_storable, (wanted.text, wanted.doc_type, wanted.language))):
        return documents.none()
    if text := wanted.text.strip():
        documents = documents.filter(Q(title__icontains=text) | Q(active_version__file_name__icontains=text))
    if wanted.doc_type:
        documents = documents.filter(doc_type=wanted.doc_type)
    if wanted.language:
        documents = documents.filter(language=wanted.language)
    return documents.order_by(*ORDERS.get(wanted.order, ORDERS["-changed"]))


def choices_in(principal: Principal, collection_id: int) -> Mapping[str, Sequence[str]]:
    """The types and languages that occur among the current documents of a collection."""
    documents = current_documents(principal).filter(collection=collection_id).order_by()
    return {
        name: sorted(documents.exclude(**{name: ""}).values_list(name, flat=True).distinct())
        for name in ("doc_type", "language")
    }
