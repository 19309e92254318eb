"""Small parsed documents for the tests of chunking."""

from dataclasses import replace

from ingestion.parsing.elements import Element, Kind, PageBox, ParsedDocument, Quality, Table


def parsed(*elements: Element) -> ParsedDocument:
    """A document whose elements get the heading paths that the parsers would give them."""
    above: list[tuple[int, str]] = []
    placed = []
    for element in elements:
        if element.kind is Kind.HEADING:
            while above and above[-1][0] >= element.level:
                above.pop()
        placed.append(replace(element, heading_path=tuple(text for _, text in above)))
        if element.kind is Kind.HEADING:
            above.append((element.level, " ".join(element.text.split())[:200]))
    return ParsedDocument(media_type="text/plain", elements=tuple(placed), quality=Quality())


def heading(text: str, level: int = 1) -> Element:
    return Element(kind=Kind.HEADING, text=text, level=level)


def paragraph(text: str, page: int | None = None) -> Element:
    boxes = (PageBox(page=page, x0=0, y0=page, x1=9, y1=9, page_width=100, page_height=100),) if page else ()
    return Element(kind=Kind.PARAGRAPH, text=text, page=page, boxes=boxes)


def step(text: str) -> Element:
    return Element(kind=Kind.STEP, text=text)


def item(text: str) -> Element:
    return Element(kind=Kind.LIST_ITEM, text=text)


def table(*rows: tuple[str, ...], header_rows: int = 1) -> Element:
    text = "\n".join(" | ".join(row) for row in rows)
    return Element(kind=Kind.TABLE, text=text, table=Table(rows=rows, header_rows=header_rows, html=""))


def sentences(count: int, word: str = "sentence") -> str:
    return " ".join(f"This is {word} number {number} of the whole text." for number in range(count))
