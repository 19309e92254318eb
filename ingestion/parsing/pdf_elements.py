"""From pages to elements: running headers off, blocks in reading order, headings, tables, notes. For PDF and pictures."""

from dataclasses import replace

from ingestion.parsing.elements import Element, Kind
from ingestion.parsing.pdf_blocks import Block, bare_blocks, joined, page_blocks, squeezed
from ingestion.parsing.pdf_headings import drop_furniture, mark_footnotes, mark_headings, typography
from ingestion.parsing.pdf_page import Page
from ingestion.parsing.tables import read_table

Outline = list[tuple[int, str, int]]  # level, title, page


def elements_of(pages: list[Page], outline: Outline) -> list[Element]:
    """All elements of a document in reading order; remarks that readers left on its pages come last."""
    drop_furniture(pages)
    style = typography(pages)
    titles: dict[int, set[str]] = {}
    for _level, title, number in outline:
        titles.setdefault(number, set()).add(squeezed(title))
    blocks = [block for page in pages for block in _blocks(page, frozenset(titles.get(page.number, ())))]
    mark_footnotes(blocks, style)
    blocks = joined(blocks)
    levels = mark_headings(blocks, outline, style)
    elements = [
        element for number, block in enumerate(blocks) if (element := _element(block, levels.get(number, 0)))
    ]
    remarks = [Element(kind=Kind.NOTE, text=note, page=page.number) for page in pages for note in page.notes]
    return elements + remarks


def _blocks(page: Page, titles: frozenset[str]) -> list[Block]:
    """Blocks of a page; its bare lines where the layout is beyond the rules, so that the page is not lost."""
    try:
        return page_blocks(page, titles)
    except MemoryError:
        raise
    except Exception:
        page.tables_failed = True
        return bare_blocks(page)


def _element(block: Block, level: int) -> Element | None:
    page, boxes = block.boxes[0].page, tuple(block.boxes)
    if block.table is not None:
        table = read_table(block.table.rows)
        return replace(table, page=page, boxes=boxes, confidence=block.confidence) if table else None
    depth = level or (1 if block.kind in {Kind.LIST_ITEM, Kind.STEP} else 0)
    return Element(
        kind=Kind.HEADING if level else block.kind,
        text=block.text,
        level=depth,
        page=page,
        boxes=boxes,
        confidence=block.confidence,
    )
