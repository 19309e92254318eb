"""A sheet of cells to elements: its tables are found, each with its title and header, in groups of rows that repeat both.

Blank rows and columns part the tables of a sheet. A row never loses its header: what follows a blank row without a header
of its own belongs to the table above. Very wide tables are cut into groups of columns, each with the first column.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ingestion.parsing.elements import Element, Kind
from ingestion.parsing.headings import short_enough
from ingestion.parsing.tables import Cell, is_form, plain_table, read_table

ROWS_PER_TABLE = 20
COLUMNS_PER_TABLE = 60
_LOOK_FOR_HEADER = 8
_MAX_DEPTH = 4
_LONGEST_NAME = 80
_FOOT = re.compile(r"^(?:注|备注|说明|来源|数据来源|资料来源|note|notes|source|remarks?)\b|^[*＊※]|^(?:注|备注|说明)", re.IGNORECASE)  # fmt: skip
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_年月日时分秒元角万亿千百吨个人次天件台套米kKmMgEe]")
_YEAR = re.compile(r"^(?:19|20)\d\d(?:年|E|A|/\d\d)?$")

Row = dict[int, str]
Span = tuple[int, int, int, int]  # top, left, bottom, right


@dataclass(slots=True, kw_only=True)
class Grid:
    """Texts by row and column, rows in order, without empty ones.

    spans: merged cells that have a text. bold: rows whose every text is bold, as those of headers are.
    """

    rows: dict[int, Row]
    spans: list[Span] = field(default_factory=list)
    bold: set[int] = field(default_factory=set)


def grid_elements(grid: Grid, *, level: int) -> Iterator[Element]:
    """The tables and lines of one sheet, from top to bottom, those beside each other from left to right.

    level: of the headings that titles of tables become.
    """
    regions = list(_joined(_regions(grid), grid.bold))
    pieces = [_Piece.of(region) for region in regions]
    first = next((n for n, piece in enumerate(pieces) if piece.title), len(pieces))
    are_all_titled = all(piece.title for piece in pieces[first:] if piece.is_table)
    for piece in pieces:
        yield from piece.elements(level if are_all_titled else 0)


# --- regions ------------------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class _Region:
    """Rows of one table, or of loose lines."""

    rows: dict[int, Row]
    spans: dict[tuple[int, int], Span]  # by the top left cell

    @property
    def columns(self) -> list[int]:
        return sorted({column for row in self.rows.values() for column in row})

    @property
    def is_table(self) -> bool:
        return any(len(row) > 1 for row in self.rows.values())


def _regions(grid: Grid) -> Iterator[_Region]:
    spans = {(span[0], span[1]): span for span in grid.spans}
    for block in _row_blocks(grid.rows, spans):
        for part in _column_blocks(block, spans):
            parts = [part] if len(part) == len(block) else _row_blocks(part, spans)
            for rows in parts:
                within = {
                    place: spans[place]
                    for line in rows
                    for place in ((line, c) for c in rows[line])
                    if place in spans
                }
                yield _Region(rows=rows, spans=within)


def _row_blocks(rows: dict[int, Row], spans: dict[tuple[int, int], Span]) -> Iterator[dict[int, Row]]:
    """Rows without a blank one between them; a merged cell holds the rows it covers together."""
    block: dict[int, Row] = {}
    reach = 0
    for line, row in rows.items():
        if block and line > reach + 1:
            yield block
            block = {}
        block[line] = row
        below = (spans[(line, column)][2] for column in row if (line, column) in spans)
        reach = max(line, reach, *below)
    if block:
        yield block


def _column_blocks(block: dict[int, Row], spans: dict[tuple[int, int], Span]) -> list[dict[int, Row]]:
    """Tables beside each other. One blank column parts only what differs in its rows: else it is a spacer."""
    used = sorted({column for row in block.values() for column in row} | _bridged(block, spans))
    cuts = [right for left, right in pairwise(used) if right - left > 1]
    parts: list[dict[int, Row]] = [block]
    for cut in cuts[:COLUMNS_PER_TABLE]:
        left, right = _parted(parts[-1], cut)
        if left and right and _stand_apart(left, right, is_wide=cut - 2 not in used):
            parts[-1:] = [left, right]
    return parts


def _bridged(block: dict[int, Row], spans: dict[tuple[int, int], Span]) -> set[int]:
    """Columns that merged cells of a table cover; a title that is alone in its row may lie over several tables."""
    found: set[int] = set()
    for line, row in block.items():
        for column in row if len(row) > 1 else ():
            if span := spans.get((line, column)):
                found.update(range(span[1], min(span[3], span[1] + COLUMNS_PER_TABLE) + 1))
    return found


def _parted(block: dict[int, Row], cut: int) -> tuple[dict[int, Row], dict[int, Row]]:
    left = {n: kept for n, row in block.items() if (kept := {c: t for c, t in row.items() if c < cut})}
    right = {n: kept for n, row in block.items() if (kept := {c: t for c, t in row.items() if c >= cut})}
    return left, right


def _stand_apart(left: dict[int, Row], right: dict[int, Row], *, is_wide: bool) -> bool:
    """Two tables, or a table and lines beside other rows than its own."""
    are_tables = all(sum(len(row) > 1 for row in part.values()) > 1 for part in (left, right))
    if is_wide:
        return are_tables or not (set(right) <= set(left) or set(left) <= set(right))
    return are_tables and (min(left), max(left)) != (min(right), max(right))


def _joined(regions: Iterator[_Region], bold: set[int]) -> Iterator[_Region]:
    """A region without a header of its own continues the table above that covers its columns; lines right above a
    table are its title."""
    before: _Region | None = None
    for region in regions:
        if before is not None and (_continues(before, region, bold) or _leads(before, region)):
            before.rows.update(region.rows)
            before.spans.update(region.spans)
            continue
        if before is not None:
            yield before
        before = region
    if before is not None:
        yield before


def _leads(before: _Region, region: _Region) -> bool:
    """A line or two, right above a table that begins no further left."""
    if before.is_table or not region.is_table or len(before.rows) > 2:
        return False
    gap = min(region.rows) - max(before.rows)
    columns = region.columns
    return 0 < gap <= 2 and columns[0] <= before.columns[0] <= columns[-1]


def _continues(before: _Region, region: _Region, bold: set[int]) -> bool:
    if not before.is_table or not region.is_table or min(region.rows) <= max(before.rows):
        return False
    if not set(region.columns) <= set(before.columns) or len(before.rows) < 2:
        return False
    first, *rest = list(region.rows.values())[:2]
    if len(first) == 1 or not _all_names(first):
        return len(first) > 1
    if min(region.rows) - max(before.rows) > 2 or min(region.rows) in bold:
        return False
    return not rest or not any(_is_figure(rest[0].get(column, "")) for column in first)


# --- one region ---------------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class _Piece:
    """A region understood: lines above the table, the header's depth, lines below it."""

    region: _Region
    title: str
    above: list[str]
    header: list[int]
    body: list[int]
    below: list[str]

    @property
    def is_table(self) -> bool:
        return bool(self.body or self.header)

    @classmethod
    def of(cls, region: _Region) -> "_Piece":
        lines = list(region.rows)
        if not region.is_table and len(lines) <= 3:
            texts = [_line(region.rows[line]) for line in lines]
            return cls(region=region, title="", above=texts, header=[], body=[], below=[])
        start = _table_start(region, lines)
        depth = _header_depth(region, lines[start:])
        body = lines[start + depth :]
        foot = len(body)
        while foot > 1 and _is_foot(region, body[foot - 1]):
            foot -= 1
        above = [_line(region.rows[line]) for line in lines[:start]]
        title = above.pop(0) if above and short_enough(above[0]) else ""
        return cls(
            region=region,
            title=title,
            above=above,
            header=lines[start : start + depth],
            body=body[:foot],
            below=[_line(region.rows[line]) for line in body[foot:]],
        )

    def elements(self, level: int) -> Iterator[Element]:
        """level: of the title as a heading; 0 to say it with each part of the table instead."""
        if self.title and level:
            yield Element(kind=Kind.HEADING, text=self.title, level=level)
        yield from (Element(kind=Kind.PARAGRAPH, text=text) for text in self.above)
        if self.is_table:
            caption = "" if level else self.title
            for columns in _column_groups(self.region.columns):
                yield from self._tables(columns, caption)
        yield from (Element(kind=Kind.PARAGRAPH, text=text) for text in self.below)

    def _tables(self, columns: Sequence[int], caption: str) -> Iterator[Element]:
        for start in range(0, max(len(self.body), 1), ROWS_PER_TABLE):
            lines = self.body[start : start + ROWS_PER_TABLE]
            headers = len(self.header) if lines else 0
            if self.region.spans:
                head = self._cells(self.header, columns, is_header=True)
                rows = self._cells(lines, columns, is_header=False)
                element = read_table([*head, *rows], header_rows=headers, caption=caption)
            else:
                texts = (self.region.rows[line] for line in (*self.header, *lines))
                plain = [[row.get(column, "") for column in columns] for row in texts]
                element = plain_table(plain, header_rows=headers, caption=caption)
            if element is not None:
                yield element

    def _cells(self, lines: Sequence[int], columns: Sequence[int], *, is_header: bool) -> list[list[Cell]]:
        """Cells of some rows; a merged cell that began above them begins anew in the first of them."""
        covered: dict[tuple[int, int], tuple[str, Span]] = {}
        if lines:
            for top, left, bottom, right in self.region.spans.values():
                if top < lines[0] <= bottom:
                    covered[(lines[0], left)] = (self.region.rows[top][left], (lines[0], left, bottom, right))
        hidden: set[tuple[int, int]] = set()
        rows: list[list[Cell]] = []
        for place, line in enumerate(lines):
            row: list[Cell] = []
            for number, column in enumerate(columns):
                if (line, column) in hidden:
                    continue
                text = self.region.rows[line].get(column, "")
                span = self.region.spans.get((line, column))
                if (line, column) in covered:
                    text, span = covered[(line, column)]
                down = sum(1 for n in lines[place:] if n <= span[2]) if span else 1
                across = sum(1 for c in columns[number:] if c <= span[3]) if span else 1
                if down > 1 or across > 1:
                    hidden.update(
                        (n, c) for n in lines[place : place + down] for c in columns[number : number + across]
                    )
                row.append(Cell(text=text, colspan=across, rowspan=down, is_header=is_header))
            rows.append(row)
        return rows


def _table_start(region: _Region, lines: Sequence[int]) -> int:
    """How many lines stand above the table: a title, the unit, who made it."""
    widest = max(len(region.rows[line]) for line in lines[:20])
    for place, line in enumerate(lines[:_LOOK_FOR_HEADER]):
        row = region.rows[line]
        has_spans = any((line, column) in region.spans for column in row)
        if len(row) > 1 and (len(row) >= 0.6 * widest or (has_spans and len(row) > 2)):
            return place
    return 0


def _header_depth(region: _Region, lines: Sequence[int]) -> int:
    """Leading rows of names; names that are merged, and names that lie below merged ones."""
    if len(lines) < 2 or len(region.rows[lines[0]]) < 2 or not _all_names(region.rows[lines[0]]):
        return 0
    if is_form([list(region.rows[line].values()) for line in lines]):
        return 0
    if not any(span[0] == lines[0] for span in region.spans.values()) and _is_one_of_many(region, lines):
        return 0
    depth = 1
    while depth < min(_MAX_DEPTH, len(lines) - 1):
        last = region.rows[lines[depth - 1]]
        spans = [region.spans[(lines[depth - 1], c)] for c in last if (lines[depth - 1], c) in region.spans]
        goes_on = any(span[3] > span[1] for span in spans) and any(span[3] == span[1] for span in spans)
        is_wide = any(span[3] > span[1] for span in spans) and len(region.rows[lines[depth]]) > 1
        if not (goes_on or is_wide) or not _all_names(region.rows[lines[depth]]):
            break
        depth += 1
    return depth


def _is_one_of_many(region: _Region, lines: Sequence[int]) -> bool:
    """The first row says the same as rows below it, or leaves more cells empty than they do: data, not names."""
    first = region.rows[lines[0]]
    if len(set(first.values())) < len(first):
        return True
    others = [region.rows[line] for line in lines[1:6]]
    fullest = max(len(row) for row in others)
    return len(first) < 0.5 * fullest


def _all_names(row: Row) -> bool:
    texts = list(row.values())
    figures = [text for text in texts if _is_figure(text)]
    if figures and all(_YEAR.match(text) for text in figures):
        return True
    return not figures and all(len(text) <= _LONGEST_NAME and not text.startswith("=") for text in texts)


def _is_figure(text: str) -> bool:
    """A number, date or amount: no letters but those of units, dates and powers of ten."""
    return bool(_DIGIT.search(text)) and not _LETTER.search(text)


def _is_foot(region: _Region, line: int) -> bool:
    """A remark below the table: alone in its row, and worded as one or long."""
    row = region.rows[line]
    if len(row) != 1 or len(region.columns) < 2:
        return False
    ((column, text),) = row.items()
    return column == region.columns[0] and bool(_FOOT.match(text) or len(text) > _LONGEST_NAME)


def _line(row: Row) -> str:
    return " | ".join(" ".join(text.split()) for text in row.values())


def _column_groups(columns: Sequence[int]) -> Iterator[list[int]]:
    """All columns, or for a very wide table groups of them that each begin with the first."""
    if len(columns) <= COLUMNS_PER_TABLE * 2:
        yield list(columns)
        return
    first, *rest = columns
    for start in range(0, len(rest), COLUMNS_PER_TABLE):
        yield [first, *rest[start : start + COLUMNS_PER_TABLE]]
