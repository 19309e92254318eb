"""From lines in reading order to blocks: rows, paragraphs, list items, tables, code."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ingestion.parsing.elements import Kind, PageBox
from ingestion.parsing.headings import (
    LAST_WORDED_RANK,
    is_deep_number,
    list_mark,
    numbered_rank,
    short_enough,
)
from ingestion.parsing.pdf_columns import regions
from ingestion.parsing.pdf_page import Line, Page
from ingestion.parsing.pdf_tables import (
    FoundTable,
    Row,
    add_header,
    aligned_runs,
    aligned_table,
    ruled_tables,
    segment_text,
    segments,
)
from ingestion.parsing.prose import CJK, join_lines

_ENDS_SENTENCE = re.compile(r"[.!?。！？:：;；]['\"”’)）》」]*$")
_GOES_ON = re.compile(f'^[a-z{CJK}(（"“]')
_CAPTION = re.compile(
    r"^(?:(?:Figure|Fig\.|Table|Chart)\s*[\dA-Z][\d.\-]*|[图表]\s?\d[\d.\-—]*)(?=[\s:：.．、]|$)"
)
_LEADER = re.compile(r"\.{4,}|…{2,}|(?:\. ){4,}|·{4,}")
_LEADERS = (
    "....",
    "……",
    ". . . . ",
    "····",
)  # one of these is in a text that _LEADER finds, and found sooner
_FIELD = re.compile(
    r"^[^\s:：,，。;；][^:：,，。;；]{0,24}(?:：|:\s)\s*\S"
)  # a name, and what is given for it
_BOXES = ("☐", "☑", "☒", "□", "■")
_TAIL = 8  # characters in which a sentence ends
_LEAST_COLUMN = 60.0
BOLD = 0.7  # share of bold letters that makes a line bold
_HEADER_ROWS = 3


@dataclass(slots=True, kw_only=True)
class Block:
    """One piece of a page before headings are known; `size` and `bold` are those of its lines."""

    kind: Kind
    text: str
    boxes: list[PageBox]
    size: float = 0.0
    bold: bool = False
    rows: int = 1
    parts: int = 1  # separate texts in its first row
    table: FoundTable | None = None
    opens_region: bool = False  # first of a column or page: may continue the paragraph before
    is_full: bool = False  # the last line reaches the right edge
    confidence: float | None = None  # mean over its characters, where they were recognised in a picture


@dataclass(slots=True)
class _Paragraph:
    """Rows gathered so far, with the column they stand in."""

    left: float
    right: float
    titles: frozenset[str] = frozenset()
    rows: list[Row] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)  # of the rows
    widest: float = 0.0  # gap between two of its baselines

    def add(self, row: Row, text: str) -> None:
        if self.rows:
            self.widest = max(self.widest, row[0].baseline - self.rows[-1][0].baseline)
        self.rows.append(row)
        self.texts.append(text)


def page_blocks(page: Page, titles: frozenset[str] = frozenset()) -> list[Block]:
    """All blocks of a page in reading order. titles: what the outline names on it, squeezed; each is a block of its own."""
    tables = ruled_tables(page)
    free = [line for line in page.lines if not any(_within(line, table) for table in tables)]
    blocks: list[Block] = []
    items: list[Line | FoundTable] = [*free, *tables]
    for region in regions(items):
        first = len(blocks)
        blocks.extend(_region_blocks(page, region, titles))
        if first < len(blocks):
            blocks[first].opens_region = True
    return [*blocks, *(_aside(page, line) for line in page.asides)]


def bare_blocks(page: Page) -> list[Block]:
    """A paragraph for each line, from top to bottom."""
    lines = sorted(page.lines, key=lambda line: (round(line.baseline), line.x0))
    return [
        Block(
            kind=Kind.PARAGRAPH,
            text=line.text,
            boxes=[page.box(line.x0, line.y0, line.x1, line.y1)],
            size=line.size,
            confidence=line.confidence,
        )
        for line in lines
    ]


def _aside(page: Page, line: Line) -> Block:
    return Block(kind=Kind.NOTE, text=line.text.strip(), boxes=[page.box(line.x0, line.y0, line.x1, line.y1)])


def _within(line: Line, table: FoundTable) -> bool:
    x, y = (line.x0 + line.x1) / 2, (line.y0 + line.y1) / 2
    return table.x0 - 2 <= x <= table.x1 + 2 and table.y0 - 1 <= y <= table.y1 + 1


def _region_blocks(
    page: Page, region: Sequence[Line | FoundTable], titles: frozenset[str]
) -> Iterator[Block]:
    """Blocks of one column: ruled tables stand where their top is."""
    lines = [item for item in region if isinstance(item, Line)]
    rows = as_rows(lines)
    rest = sorted((item for item in region if isinstance(item, FoundTable)), key=lambda table: table.y0)
    start = 0
    for table in rest:
        end = next((n for n in range(start, len(rows)) if rows[n][0].baseline > table.y0 + 2), len(rows))
        above = end - _headers_above(table, rows[start:end])
        yield from _row_blocks(page, rows[start:above], titles)
        if above < end:
            add_header(table, rows[above:end])
        yield _table_block(page, table)
        start = end
    yield from _row_blocks(page, rows[start:], titles)


def _headers_above(table: FoundTable, rows: Sequence[Row]) -> int:
    """How many rows right above a ruled table are the unruled head of its columns."""
    top, count = table.y0, 0
    for row in reversed(rows[-_HEADER_ROWS:]):
        size = max(row[0].size, 4.0)
        if len(segments(row)) < min(3, table.width) or top - row[0].baseline > 1.3 * size or table.width < 3:
            break
        top, count = row[0].baseline - size, count + 1
    return count


def as_rows(lines: Sequence[Line]) -> list[Row]:
    """Lines on one baseline form a row; rows from top to bottom, lines from left to right."""
    rows: list[Row] = []
    for line in sorted(lines, key=lambda line: (line.baseline, line.x0)):
        if rows and _same_row(rows[-1], line):
            rows[-1].append(line)
        else:
            rows.append([line])
    for row in rows:
        row.sort(key=lambda line: line.x0)
    return rows


def _same_row(row: Row, line: Line) -> bool:
    last = row[-1]
    if abs(last.baseline - line.baseline) > 0.35 * min(max(last.size, 3.0), max(line.size, 3.0)):
        return False
    return all(line.x0 > other.x1 - 0.4 * line.size or line.x1 < other.x0 + 0.4 * line.size for other in row)


def _row_blocks(page: Page, rows: Sequence[Row], titles: frozenset[str]) -> Iterator[Block]:
    """Aligned tables among the rows, and paragraphs between them."""
    if not rows:
        return
    left = min(row[0].x0 for row in rows)
    right = max(row[-1].x1 for row in rows)
    start = 0
    for first, last in [*aligned_runs(rows), (len(rows), len(rows))]:
        yield from _paragraphs(page, rows[start:first], _Paragraph(left, right, titles))
        if first < last:
            yield replace(
                _table_block(page, aligned_table(rows[first:last])),
                confidence=confidence_of([line for row in rows[first:last] for line in row]),
            )
        start = last


def _table_block(page: Page, table: FoundTable) -> Block:
    return Block(
        kind=Kind.TABLE, text="", boxes=[page.box(table.x0, table.y0, table.x1, table.y1)], table=table
    )


def _paragraphs(page: Page, rows: Sequence[Row], paragraph: _Paragraph) -> Iterator[Block]:
    for row in rows:
        text = _row_text(row)
        if paragraph.rows and _begins(paragraph, row, text):
            yield _block(page, paragraph)
            paragraph = replace(paragraph, rows=[], texts=[], widest=0.0)
        paragraph.add(row, text)
    if paragraph.rows:
        yield _block(page, paragraph)


def _begins(paragraph: _Paragraph, row: Row, text: str) -> bool:
    """Whether a row begins a new paragraph."""
    last, before = paragraph.rows[-1], paragraph.texts[-1]
    size = max(row[0].size, 4.0)
    gap = row[0].baseline - last[0].baseline
    if (
        abs(_size(row) - _size(last)) > 0.12 * size
        or abs(_bold(row) - _bold(last)) > 0.65
        or row[0].mono != last[0].mono
    ):
        return True
    if gap > _usual_gap(paragraph, size) or gap < 0:
        return True
    if _heads(paragraph, row, text) or (len(paragraph.rows) == 1 and _heads(paragraph, last, before)):
        return True
    if list_mark(text) or text.startswith(_BOXES) or _CAPTION.match(text) or _has_leader(before):
        return True
    if row[0].mono:
        return False
    if _short(paragraph, last) and _FIELD.match(before) and _FIELD.match(text):
        return True
    ended = bool(_ENDS_SENTENCE.search(before[-_TAIL:]))
    indented = row[0].x0 > paragraph.left + 0.9 * size and last[0].x0 < row[0].x0 - 0.9 * size
    if indented and not list_mark(paragraph.texts[0]):
        return len(paragraph.rows) > 1 or ended
    return ended and _short(paragraph, last)


def _has_leader(text: str) -> bool:
    return any(leader in text for leader in _LEADERS)


def _heads(paragraph: _Paragraph, row: Row, text: str) -> bool:
    """A heading by number or by the outline on a line of its own, in whatever type."""
    if paragraph.titles and squeezed(text) in paragraph.titles:
        return True
    return _short(paragraph, row) and (
        0 < numbered_rank(text) <= LAST_WORDED_RANK or (is_deep_number(text) and short_enough(text))
    )


def _usual_gap(paragraph: _Paragraph, size: float) -> float:
    """Above this distance between baselines a new paragraph begins."""
    return 1.25 * paragraph.widest + 0.5 if len(paragraph.rows) > 1 else 2.3 * size


def _short(paragraph: _Paragraph, row: Row) -> bool:
    width = paragraph.right - paragraph.left
    return width > _LEAST_COLUMN and row[-1].x1 < paragraph.right - 0.12 * width


def _size(row: Row) -> float:
    if len(row) == 1:
        return row[0].size
    return max(row, key=lambda line: len(line.text)).size


def _bold(row: Row) -> float:
    if len(row) == 1:
        return row[0].bold
    return sum(line.bold * len(line.text) for line in row) / sum(len(line.text) for line in row)


def _row_text(row: Row) -> str:
    if len(row) == 1:
        return row[0].text.strip()
    return " ".join(segment_text(part) for part in segments(row))


def _block(page: Page, paragraph: _Paragraph) -> Block:
    rows, texts = paragraph.rows, paragraph.texts
    block = Block(
        kind=Kind.PARAGRAPH,
        text="",
        boxes=[page.box(*bounds) for bounds in _merged(map(_bounds, rows))],
        size=_size(rows[0]),
        bold=all(_bold(row) >= BOLD for row in rows),
        rows=len(rows),
        parts=len(segments(rows[0])),
        confidence=confidence_of([line for row in rows for line in row]),
    )
    mark = list_mark(texts[0])
    if all(row[0].mono for row in rows) and len(rows) > 1:
        block.kind, block.text = (
            Kind.CODE,
            "\n".join(_indented(row, min(r[0].x0 for r in rows)) for row in rows),
        )
    elif mark:
        block.kind, block.text = mark.kind, join_lines([mark.text, *texts[1:]])
    elif _has_leader(texts[0]):
        block.text = "\n".join(_LEADER.sub(" … ", text) for text in texts)
    else:
        block.text, block.is_full = join_lines(texts), not _short(paragraph, rows[-1])
        if _CAPTION.match(block.text) and len(block.text) < 200:
            block.kind = Kind.CAPTION
    return block


def confidence_of(lines: Sequence[Line]) -> float | None:
    """Mean over the characters that were recognised in a picture, None where none was."""
    read = [(line.confidence, len(line.text)) for line in lines if line.confidence is not None]
    total = sum(length for _confidence, length in read)
    return round(sum(sure * length for sure, length in read) / total, 3) if total else None


def _indented(row: Row, left: float) -> str:
    step = max(row[0].size * 0.6, 1.0)
    return " " * int(max(row[0].x0 - left, 0) / step) + _row_text(row)


def squeezed(text: str) -> str:
    """For comparing titles: no white space, lower case."""
    return "".join(text.split()).lower()


_Bounds = tuple[float, float, float, float]


def _bounds(row: Row) -> _Bounds:
    if len(row) == 1:
        line = row[0]
        return line.x0, line.y0, line.x1, line.y1
    return (
        min(line.x0 for line in row),
        min(line.y0 for line in row),
        max(line.x1 for line in row),
        max(line.y1 for line in row),
    )


def _merged(rows: Iterable[_Bounds]) -> list[_Bounds]:
    """One rectangle for rows that lie below each other in one column."""
    merged: list[_Bounds] = []
    for x0, y0, x1, y1 in rows:
        if merged:
            left, top, right, bottom = merged[-1]
            if min(right, x1) > max(left, x0) and abs(y0 - bottom) < 2 * (y1 - y0):
                merged[-1] = (min(left, x0), min(top, y0), max(right, x1), max(bottom, y1))
                continue
        merged.append((x0, y0, x1, y1))
    return merged


def joined(blocks: Sequence[Block]) -> list[Block]:
    """Paragraphs that a column or page break has cut, made whole again."""
    whole: list[Block] = []
    for block in blocks:
        last = next((other for other in reversed(whole) if other.kind is not Kind.NOTE), None)
        if last and block.opens_region and _continues(last, block):
            last.text = join_lines([last.text, block.text])
            last.boxes.extend(block.boxes)
            last.is_full = block.is_full
            last.rows += block.rows
            if last.confidence is not None and block.confidence is not None:
                last.confidence = min(last.confidence, block.confidence)
        else:
            whole.append(block)
    return whole


def _continues(last: Block, block: Block) -> bool:
    return (
        last.kind in {Kind.PARAGRAPH, Kind.LIST_ITEM, Kind.STEP}
        and block.kind is Kind.PARAGRAPH
        and last.rows > 1
        and abs(last.size - block.size) < 0.6
        and last.bold == block.bold
        and not _ENDS_SENTENCE.search(last.text[-_TAIL:])
        and bool(_GOES_ON.match(block.text))
    )
