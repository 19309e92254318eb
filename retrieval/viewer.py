"""The source viewer's view of a document: structured text and page images with the cited passages marked.

Everything is read as somebody. Documents without pages are shown in parts of a bounded number of elements.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import or_

from django.db.models import Q, QuerySet

from accounts.values import Principal
from ingestion import selectors
from ingestion.files import has_page_images
from ingestion.models import Chunk, Document, DocumentVersion, Element
from ingestion.parsing.elements import Kind
from kb_platform.errors import NotFound
from retrieval.chat.selectors import get_message, visible_message
from retrieval.chat.values import ShownCitation, ShownMessage

PART = 200  # elements of a document without pages shown at once
OUTLINE = 80
MOST_PAGES = 4  # of one passage shown at once
A4 = (595.0, 842.0)
LIST_KINDS = (Kind.LIST_ITEM, Kind.STEP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the address asks for. `first`, `last`: element orders of the passage; `cite`: uid of the answer citing it.

    nearest: a page that does not exist stands for the nearest one that does.
    """

    version: int | None = None
    first: int | None = None
    last: int | None = None
    page: int | None = None
    nearest: bool = False
    cite: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A passage to mark: element orders, both included. number: of its chip, None when no answer cites it."""

    first: int
    last: int
    number: int | None
    is_active: bool

    def holds(self, element: Element) -> bool:
        return self.first <= element.order <= self.last


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Elements shown as one piece: one heading, paragraph or table, or the items of one list.

    numbers: of the citations that begin here. is_cited: inside of any; is_active: of the one that is looked at.
    """

    kind: str
    elements: tuple[Element, ...]
    numbers: tuple[int, ...] = ()
    is_cited: bool = False
    is_active: bool = False
    is_first: bool = False

    @property
    def marks(self) -> str:
        return "hit on" if self.is_active else "hit" if self.is_cited else ""

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
class Mark:
    """The boxes of one passage on one page, in points; the number stands in the margin at `x`, `y`."""

    number: int | None
    is_active: bool
    boxes: tuple[dict[str, float], ...]
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PageImage:
    """A page with its marks, in points. `number` counts from 1."""

    number: int
    width: float
    height: float
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlineEntry:
    """A heading with the numbers of the passages cited below it."""

    heading: Element
    numbers: tuple[int, ...]
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer through which the document is looked at. citations: all; here: those in this version of it."""

    conversation_uid: str = ""
    citations: tuple[ShownCitation, ...] = ()
    here: tuple[ShownCitation, ...] = ()
    active: ShownCitation | None = None

    def _beside(self, step: int) -> ShownCitation | None:
        at = self.citations.index(self.active) + step if self.active else -1
        return self.citations[at] if 0 <= at < len(self.citations) else None

    @property
    def previous(self) -> ShownCitation | None:
        return self._beside(-1)

    @property
    def next(self) -> ShownCitation | None:
        return self._beside(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewed:
    """part: the first page or part shown, last_part the last. same_passage: of a superseded version, the element of
    the current one that stands under the same heading. corrected: chunks with texts by people that stand for the passage."""

    document: Document
    version: DocumentVersion
    place: Place
    blocks: tuple[Block, ...]
    outline: tuple[OutlineEntry, ...]
    passage: tuple[Element, ...]
    images: tuple[PageImage, ...]
    part: int
    last_part: int
    part_count: int
    answer: Answer
    same_passage: Element | None = None
    corrected: tuple[Chunk, ...] = ()

    @property
    def is_superseded(self) -> bool:
        return self.version.pk != self.document.active_version_id

    @property
    def is_paged(self) -> bool:
        return bool(self.images)

    @property
    def quoted(self) -> tuple[Element, ...]:
        """The passage, when it stands on a page that is shown and no box says where."""
        shown = {image.number for image in self.images}
        is_drawn = any(mark.is_active for image in self.images for mark in image.marks)
        is_here = any(element.page in shown for element in self.passage)
        return self.passage if is_here and not is_drawn else ()

    @property
    def next_page(self) -> int | None:
        return self.last_part + 1 if self.is_paged and self.last_part < self.part_count else None


def view_document(principal: Principal, uid: str, place: Place) -> Viewed:
    """What to show of the document. Raises NotFound for what is hidden, missing, or was never in force."""
    document = selectors.get_document(principal, uid)
    version = selectors.get_published_version(document, place.version)
    elements = selectors.elements_of(version)
    passage = _passage(elements, place)
    answer = _answer(principal, document, version, place)
    spans = _spans(place, answer)
    images: tuple[PageImage, ...] = ()
    if version.page_count and has_page_images(version):
        pages, part_count = _pages(version.page_count, place, passage), version.page_count
        shown = elements.filter(reduce(or_, (_touches(page) for page in pages)))
        images = tuple(_images(elements, pages, spans))
    else:
        part, part_count = _part_number(elements, place)
        pages = (part,)
        shown = elements.filter(order__gte=(part - 1) * PART, order__lt=part * PART)
    return Viewed(
        document=document,
        version=version,
        place=place,
        blocks=tuple(blocks_of(list(shown), spans)),
        outline=tuple(_outline(elements, answer, place)),
        passage=tuple(passage),
        images=images,
        part=pages[0],
        last_part=pages[-1],
        part_count=part_count,
        answer=answer,
        same_passage=_same_passage(document, version, passage),
        corrected=_corrected(version, place),
    )


def _spans(place: Place, answer: Answer) -> list[Span]:
    """The passage that is looked at, and the others that the answer cites."""
    spans = [
        Span(
            first=citation.first_element,
            last=citation.last_element,
            number=citation.n,
            is_active=citation is answer.active,
        )
        for citation in answer.here
    ]
    if place.first is not None and answer.active is None:
        spans.append(Span(first=place.first, last=_last(place), number=None, is_active=True))
    return spans


def _last(place: Place) -> int:
    first = place.first or 0
    return first if place.last is None else max(first, min(place.last, first + PART))


def _passage(elements: QuerySet[Element], place: Place) -> list[Element]:
    if place.first is None:
        return []
    return list(elements.filter(order__gte=place.first, order__lte=_last(place)))


def _corrected(version: DocumentVersion, place: Place) -> tuple[Chunk, ...]:
    """What search reads instead of the passage, where people corrected it."""
    if place.first is None:
        return ()
    chunks = Chunk.objects.filter(version=version, correction__isnull=False)
    here = chunks.filter(first_element__lte=_last(place), last_element__gte=place.first)
    return tuple(here.select_related("correction__made_by").order_by("order")[:MOST_PAGES])


def _touches(page: int) -> Q:
    """Elements that begin on a page or reach onto it."""
    return Q(page=page) | Q(boxes__contains=[{"page": page}])


def _pages(page_count: int, place: Place, passage: Sequence[Element]) -> tuple[int, ...]:
    """The page asked for, else all that the passage touches, else the first."""
    if place.page is None:
        touched = {box["page"] for element in passage for box in element.boxes}
        touched |= {element.page for element in passage if element.page}
        pages = sorted(page for page in touched if 1 <= page <= page_count)[:MOST_PAGES]
        return tuple(range(pages[0], min(pages[-1], pages[0] + MOST_PAGES - 1) + 1)) if pages else (1,)
    if place.nearest:
        return (min(max(place.page, 1), page_count),)
    if not 1 <= place.page <= page_count:
        raise NotFound()
    return (place.page,)


def _part_number(elements: QuerySet[Element], place: Place) -> tuple[int, int]:
    last = elements.order_by("-order").values_list("order", flat=True).first() or 0
    part_count = last // PART + 1
    wanted = place.page if place.page is not None else (place.first or 0) // PART + 1
    return min(max(wanted, 1), part_count), part_count


def _outline(elements: QuerySet[Element], answer: Answer, place: Place) -> Iterable[OutlineEntry]:
    """The upper headings, each with the numbers cited between it and the next."""
    headings = list(
        elements.filter(kind__in=[Kind.TITLE, Kind.HEADING], level__lte=2).only(
            "order", "text", "level", "page", "version"
        )[:OUTLINE]
    )
    for heading, after in pairwise([*headings, None]):
        if heading is None:
            return
        end = after.order if after else None
        yield OutlineEntry(
            heading=heading,
            numbers=tuple(c.n for c in answer.here if _within(c.first_element, heading.order, end)),
            is_current=_within(place.first, heading.order, end),
        )


def _within(order: int | None, begin: int, end: int | None) -> bool:
    return order is not None and begin <= order and (end is None or order < end)


def blocks_of(elements: Sequence[Element], spans: Sequence[Span]) -> list[Block]:
    """Elements in reading order, neighbouring list items of the same passages joined into one list."""
    groups: list[list[Element]] = []
    for element in elements:
        before = groups[-1][-1] if groups else None
        joins = before is not None and element.kind in LIST_KINDS and element.kind == before.kind
        if before is not None and joins and _held(element, spans) == _held(before, spans):
            groups[-1].append(element)
        else:
            groups.append([element])
    told: set[int] = set()
    blocks: list[Block] = []
    for group in groups:
        held = [spans[index] for index in _held(group[0], spans)]
        numbers = [span.number for span in held if span.number is not None and span.number not in told]
        told.update(numbers)
        active = any(span.is_active for span in held)
        blocks.append(
            Block(
                kind=group[0].kind,
                elements=tuple(group),
                numbers=tuple(numbers),
                is_cited=bool(held),
                is_active=active,
                is_first=active and not any(block.is_active for block in blocks),
            )
        )
    return blocks


def _held(element: Element, spans: Sequence[Span]) -> tuple[int, ...]:
    return tuple(index for index, span in enumerate(spans) if span.holds(element))


def _images(elements: QuerySet[Element], pages: Sequence[int], spans: Sequence[Span]) -> Iterable[PageImage]:
    cited = Q(pk__in=[])
    for span in spans:
        cited |= Q(order__range=(span.first, span.last))
    drawn = list(elements.filter(cited))
    for page in pages:
        width, height = _page_size(elements, page)
        marks = (_mark(page, span, drawn) for span in spans)
        yield PageImage(number=page, width=width, height=height, marks=tuple(mark for mark in marks if mark))


def _mark(page: int, span: Span, elements: Sequence[Element]) -> Mark | None:
    found = [
        box for element in elements if span.holds(element) for box in element.boxes if box["page"] == page
    ]
    if not found:
        return None
    boxes = tuple(
        {
            "x": round(box["x0"] - 1, 1),
            "y": round(box["y0"] - 1, 1),
            "width": round(box["x1"] - box["x0"] + 2, 1),
            "height": round(box["y1"] - box["y0"] + 2, 1),
        }
        for box in found
    )
    left = min(box["x"] for box in boxes)
    return Mark(
        number=span.number,
        is_active=span.is_active,
        boxes=boxes,
        x=max(2.0, round(left - 22, 1)),
        y=max(2.0, boxes[0]["y"]),
    )


def _page_size(elements: QuerySet[Element], page: int) -> tuple[float, float]:
    """From any box on the page; without one it is A4, and nothing is drawn."""
    for boxes in elements.filter(_touches(page)).exclude(boxes=[]).values_list("boxes", flat=True)[:3]:
        for box in boxes:
            if box["page"] == page:
                return box["page_width"], box["page_height"]
    return A4


def _answer(principal: Principal, document: Document, version: DocumentVersion, place: Place) -> Answer:
    """One of the reader's own answers, as it may be shown now; nothing for all others."""
    message = _own_message(principal, place.cite)
    if message is None:
        return Answer()
    uid = str(document.uid)
    citations = tuple(citation for citation in message.citations if citation.external is None)
    here = tuple(c for c in citations if (c.document_uid, c.version_number) == (uid, version.number))
    asked = (place.first, _last(place))
    active = next((c for c in here if (c.first_element, c.last_element) == asked), None)
    return Answer(conversation_uid=message.conversation_uid, citations=citations, here=here, active=active)


def _own_message(principal: Principal, uid: str) -> ShownMessage | None:
    if not uid:
        return None
    try:
        return visible_message(principal, get_message(principal, uid))
    except NotFound:
        return None


def _same_passage(document: Document, version: DocumentVersion, passage: Sequence[Element]) -> Element | None:
    """Where the passage's heading stands in the version in force."""
    current = document.active_version
    if current is None or current.pk == version.pk or not passage or not passage[0].heading_path:
        return None
    headings = selectors.elements_of(current).filter(kind__in=[Kind.TITLE, Kind.HEADING])
    return headings.filter(text=passage[0].heading_path[-1]).first()
