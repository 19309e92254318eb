"""How the documents of a collection are cut: changing it, and what a document would look like cut otherwise."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from django.db import transaction
from django.db.models import QuerySet

from accounts.permissions.visibility import require
from accounts.values import Permission, Principal
from ingestion import corrections, rechunking, selectors
from ingestion.chunking.choices import Chunking, from_key
from ingestion.chunking.drafts import ChunkDraft, Shape, TokenCounter
from ingestion.chunking.structure import chunk_elements
from ingestion.models import Chunk, Collection, Document, Element
from ingestion.parsing import elements as parsing
from kb_platform.audit import record
from kb_platform.errors import NotFound

# What a preview looks at: enough to judge by, and quick.
MOST_CHARACTERS, MOST_ELEMENTS = 40_000, 600
MOST_CHARACTERS_BY_MEANING = 8_000  # every sentence of it is read by the embedder
SHOWN = 20


@transaction.atomic
def change_chunking(*, actor: Principal, collection: Collection, choice: Chunking) -> int:
    """Cut the collection's documents another way from now on. Those in force are cut anew, readers keep the old chunks until

    each is done. Returns how many of them the actor sees. Documents being read right now follow when they are published.
    """
    require(actor, Permission.MANAGE, collection.scope_id)
    collection = Collection.objects.select_for_update().get(pk=collection.pk)
    before = collection.chunking
    if before == choice.key:
        return 0
    collection.chunking = choice.key
    collection.save(update_fields=["chunking", "updated_at"])
    record(
        actor,
        "collection.chunking_changed",
        collection,
        before=_told(from_key(before)),
        after=_told(choice),
    )
    rechunking.find_outdated()
    rechunking.ring()
    return rechunking.progress_of(actor, collection).waiting


def _told(choice: Chunking) -> dict[str, object]:
    return {
        "profile": str(choice.shape),
        "target_tokens": choice.target,
        "max_tokens": choice.largest,
        "overlap_tokens": choice.overlap,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A chunk in few words."""

    number: int
    kind: str
    heading_path: tuple[str, ...]
    text: str
    token_count: int
    page: int | None
    first_element: int
    last_element: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The first chunks of one way of cutting, and the sizes of all of them within what was looked at."""

    shown: tuple[Sample, ...]
    sizes: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.sizes)

    @property
    def median(self) -> int:
        return round(statistics.median(self.sizes)) if self.sizes else 0

    @property
    def smallest(self) -> int:
        return min(self.sizes, default=0)

    @property
    def largest(self) -> int:
        return max(self.sizes, default=0)

    @property
    def hidden(self) -> int:
        return self.count - len(self.shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The present chunks of a document beside those of a choice. `seen` of `elements` elements were looked at."""

    document: Document
    choice: Chunking
    now: Samples
    then: Samples
    seen: int
    elements: int
    seconds: float

    @property
    def is_partial(self) -> bool:
        return self.seen < self.elements


def preview(
    principal: Principal, collection: Collection, uid: str, choice: Chunking, *, embedder: TokenCounter
) -> Preview:
    """Nothing is stored. Raises NotFound for a document that is hidden, in another collection, or has not been read."""
    require(principal, Permission.MANAGE, collection.scope_id)
    document = previewable(principal, collection).filter(uid=selectors.parse_uid(uid)).first()
    version = document.active_version if document else None
    if document is None or version is None:
        raise NotFound()
    begun = time.monotonic()
    rows = version.elements.order_by("order")
    total = rows.count()
    elements = _beginning(rows, choice)
    chunked = chunk_elements(
        elements,
        title=document.title,
        counter=embedder,
        profile=choice.profile,
        pins=corrections.pins_of(document),
    )
    present = selectors.chunks_of(document)
    if len(elements) < total:
        present = present.filter(first_element__lt=len(elements))
    return Preview(
        document=document,
        choice=choice,
        now=_samples([_stored(chunk) for chunk in present]),
        then=_samples([_drafted(draft) for draft in chunked.chunks]),
        seen=len(elements),
        elements=total,
        seconds=time.monotonic() - begun,
    )


def previewable(principal: Principal, collection: Collection) -> QuerySet[Document]:
    """The documents of a collection that the principal sees and that have been read."""
    documents = selectors.documents_for(principal).filter(collection=collection)
    return documents.filter(active_version__isnull=False, archived_at=None)


def _beginning(rows: QuerySet[Element], choice: Chunking) -> Sequence[parsing.Element]:
    """Elements from the first on, until there is enough text."""
    most = MOST_CHARACTERS_BY_MEANING if choice.shape is Shape.SEMANTIC else MOST_CHARACTERS
    taken: list[parsing.Element] = []
    characters = 0
    for row in islice(rows.iterator(chunk_size=200), MOST_ELEMENTS):
        if taken and characters + len(row.text) > most:
            break
        characters += len(row.text)
        taken.append(corrections.as_parsed(row))
    return taken


def _samples(chunks: Sequence[Sample]) -> Samples:
    return Samples(shown=tuple(chunks[:SHOWN]), sizes=tuple(chunk.token_count for chunk in chunks))


def _stored(chunk: Chunk) -> Sample:
    return Sample(
        number=chunk.order + 1,
        kind=chunk.kind,
        heading_path=tuple(chunk.heading_path),
        text=chunk.text,
        token_count=chunk.token_count,
        page=chunk.page,
        first_element=chunk.first_element,
        last_element=chunk.last_element,
    )


def _drafted(draft: ChunkDraft) -> Sample:
    return Sample(
        number=draft.order + 1,
        kind=draft.kind,
        heading_path=draft.heading_path,
        text=draft.text,
        token_count=draft.token_count,
        page=draft.page,
        first_element=draft.first_element,
        last_element=draft.last_element,
    )
