"""The source viewer's page of a document: structured text around a passage, its boxes, and the way to the rest.

Everything is read as somebody. Documents without pages are shown in parts of a bounded number of elements.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from accounts.values import Principal
from ingestion import selectors
from ingestion.files import PDF
from ingestion.models import Document, DocumentVersion, Element
from ingestion.parsing.elements import Kind
from kb_platform.errors import NotFound
from retrieval.chat.selectors import get_message, visible_message
from retrieval.chat.values import ShownCitation

PART = 200  # elements of a document without pages shown at once
OUTLINE = 80
LIST_KINDS = (Kind.LIST_ITEM, Kind.STEP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the address asks for. `first`, `last`: element orders of the passage; `cite`: uid of the answer citing it."""

    version: int | None = None
    first: int | None = None
    last: int | None = None
    page: int | None = None
    cite: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Elements shown as one piece: one heading, paragraph or table, or the items of one list."""

    kind: str
    elements: tuple[Element, ...]
    is_cited: bool
    is_first_cited: bool = False

    @property
    def element(self) -> Element:
        return self.elements[0]

    @property
    def tag_level(self) -> int:
        return min(max(self.element.level, 1) + 1, 6)

    @property
    def head_rows(self) -> list[list[str]]:
        table = self.element.table or {}
        return list(table.get("rows", ())[: table.get("header_rows", 0)])

    @property
    def body_rows(self) -> list[list[str]]:
        table = self.element.table or {}
        return list(table.get("rows", ())[table.get("header_rows", 0) :])


@dataclass(frozen=True, slots=True, kw_only=True)
class PageImage:
    """A page with its boxes, in points. `number` counts from 1."""

    number: int
    width: float
    height: float
    boxes: tuple[dict[str, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewed:
    document: Document
    version: DocumentVersion
    place: Place
    blocks: tuple[Block, ...]
    outline: tuple[Element, ...]
    passage: tuple[Element, ...]
    image: PageImage | None
    part: int
    part_count: int
    citations: tuple[ShownCitation, ...] = ()
    conversation_uid: str = ""

    @property
    def is_superseded(self) -> bool:
        return self.version.pk != self.document.active_version_id

    @property
    def is_paged(self) -> bool:
        return self.image is not None


def view_document(principal: Principal, uid: str, place: Place) -> Viewed:
    """What to show of the document. Raises NotFound for what is hidden, missing, or was never in force."""
    document = selectors.get_document(principal, uid)
    version = selectors.get_published_version(document, place.version)
    elements = selectors.elements_of(version)
    passage = _passage(elements, place)
    is_paged = version.media_type == PDF and bool(version.page_count)
    if is_paged:
        part, part_count = _page_number(version, place, passage), version.page_count or 1
        shown = elements.filter(page=part)
    else:
        part, part_count = _part_number(elements, place)
        shown = elements.filter(order__gte=(part - 1) * PART, order__lt=part * PART)
    citations, conversation_uid = _cited(principal, document, version, place.cite)
    return Viewed(
        document=document,
        version=version,
        place=place,
        blocks=tuple(blocks_of(list(shown), place)),
        outline=tuple(_outline(elements)),
        passage=tuple(passage),
        image=_image(elements, passage, part) if is_paged else None,
        part=part,
        part_count=part_count,
        citations=citations,
        conversation_uid=conversation_uid,
    )


def _passage(elements: QuerySet[Element], place: Place) -> list[Element]:
    if place.first is None:
        return []
    last = place.last if place.last is not None else place.first
    return list(elements.filter(order__gte=place.first, order__lte=min(last, place.first + PART)))


def _page_number(version: DocumentVersion, place: Place, passage: Sequence[Element]) -> int:
    cited = next((element.page for element in passage if element.page), 1)
    wanted = place.page if place.page is not None else cited
    if not 1 <= wanted <= (version.page_count or 1):
        raise NotFound()
    return wanted


def _part_number(elements: QuerySet[Element], place: Place) -> tuple[int, int]:
    last = elements.order_by("-order").values_list("order", flat=True).first() or 0
    part_count = last // PART + 1
    wanted = place.page if place.page is not None else (place.first or 0) // PART + 1
    return min(max(wanted, 1), part_count), part_count


def _outline(elements: QuerySet[Element]) -> QuerySet[Element]:
    headings = elements.filter(kind__in=[Kind.TITLE, Kind.HEADING], level__lte=2)
    return headings.only("order", "text", "level", "page", "version")[:OUTLINE]


def blocks_of(elements: Sequence[Element], place: Place) -> list[Block]:
    """Elements in reading order, neighbouring list items joined into lists that are cited as a whole or not at all."""
    blocks: list[Block] = []
    pending: list[Element] = []
    for element in elements:
        joins = pending and element.kind in LIST_KINDS and element.kind == pending[-1].kind
        if not (joins and _is_cited(element, place) == _is_cited(pending[-1], place)):
            _close(blocks, pending, place)
            pending = []
        pending.append(element)
    _close(blocks, pending, place)
    return blocks


def _close(blocks: list[Block], pending: list[Element], place: Place) -> None:
    if pending:
        cited = _is_cited(pending[0], place)
        first = cited and not any(block.is_cited for block in blocks)
        blocks.append(
            Block(kind=pending[0].kind, elements=tuple(pending), is_cited=cited, is_first_cited=first)
        )


def _is_cited(element: Element, place: Place) -> bool:
    if place.first is None:
        return False
    return place.first <= element.order <= (place.last if place.last is not None else place.first)


def _image(elements: QuerySet[Element], passage: Sequence[Element], page: int) -> PageImage:
    """The page's size comes from any box on it; without one it is A4, and nothing is drawn."""
    cited = [box for element in passage for box in element.boxes if box["page"] == page]
    sized: list[dict[str, Any]] = cited or [
        box
        for boxes in elements.filter(page=page).exclude(boxes=[]).values_list("boxes", flat=True)[:1]
        for box in boxes
        if box["page"] == page
    ]
    width, height = (sized[0]["page_width"], sized[0]["page_height"]) if sized else (595.0, 842.0)
    boxes = tuple(
        {
            "x": round(box["x0"] - 1, 1),
            "y": round(box["y0"] - 1, 1),
            "width": round(box["x1"] - box["x0"] + 2, 1),
            "height": round(box["y1"] - box["y0"] + 2, 1),
        }
        for box in cited
    )
    return PageImage(number=page, width=width, height=height, boxes=boxes)


def _cited(
    principal: Principal, document: Document, version: DocumentVersion, message_uid: str
) -> tuple[tuple[ShownCitation, ...], str]:
    """The passages of this version that one of the reader's own answers cites, and its conversation's uid."""
    if not message_uid:
        return (), ""
    try:
        message = visible_message(principal, get_message(principal, message_uid))
    except NotFound:
        return (), ""
    here = (str(document.uid), version.number)
    return (
        tuple(c for c in message.citations if (c.document_uid, c.version_number) == here),
        message.conversation_uid,
    )
