"""Tables of a PDF page: ruled grids filled with words, and rows of text that stand in aligned columns without rules."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from ingestion.parsing.pdf_page import Line, Page
from ingestion.parsing.prose import join_lines
from ingestion.parsing.tables import Cell

Rectangle = tuple[float, float, float, float]
Word = tuple[float, float, float, float, str]
_SNAP = 3.0
_CJK_WIDE = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
_FIGURE = re.compile(r"^[\s$€¥£(（+\-–—]*[\d,.，%％]+[\s)）%％*]*$|^[-–—/%$]+$|^N/?A$")


@dataclass(slots=True, kw_only=True)
class FoundTable:
    """A table with its place in the upright frame."""

    x0: float
    y0: float
    x1: float
    y1: float
    rows: list[list[Cell]]
    edges: list[float] = field(default_factory=list)  # of the columns of a ruled table

    @property
    def width(self) -> int:
        """Number of columns, where they are ruled."""
        return max(len(self.edges) - 1, 0)


def add_header(table: FoundTable, rows: Sequence["Row"]) -> None:
    """Rows of column names that stand unruled on top of a ruled table become its first row."""
    texts = [""] * table.width
    for part in (part for row in rows for part in segments(row)):
        middle = (part[0].x0 + part[-1].x1) / 2
        column = min(
            range(table.width), key=lambda n: abs((table.edges[n] + table.edges[n + 1]) / 2 - middle)
        )
        texts[column] = join_lines([texts[column], segment_text(part)])
    table.rows.insert(0, [Cell(text=text, is_header=True) for text in texts])
    table.y0 = min(line.y0 for row in rows for line in row)


def weight(text: str) -> int:
    """Length of a text in Latin characters; a Chinese character counts as two."""
    return len(text) + len(_CJK_WIDE.findall(text))


# --- ruled ----------------------------------------------------------------------------------------------------


def ruled_tables(page: Page) -> list[FoundTable]:
    """Tables of the page's grids; grids that only frame text are left out."""
    tables = [_fill(grid, page.words) for grid in page.grids]
    return [table for table in tables if table is not None]


def _fill(grid: Sequence[Rectangle], words: Sequence[Word]) -> FoundTable | None:
    xs = _edges([value for cell in grid for value in (cell[0], cell[2])])
    ys = _edges([value for cell in grid for value in (cell[1], cell[3])])
    if len(xs) < 3 or len(ys) < 3:
        return None
    texts = {cell: _cell_lines(inside) for cell, inside in _assigned(grid, words).items()}
    if _is_frame(texts):
        return None
    rows: list[list[Cell]] = []
    for number in range(len(ys) - 1):
        cells = sorted(cell for cell in grid if _at(ys, cell[1]) == number)
        rows.extend(_table_rows(cells, texts, xs, ys))
    x0, x1 = xs[0], xs[-1]
    return FoundTable(x0=x0, y0=ys[0], x1=x1, y1=ys[-1], rows=rows, edges=xs)


def _edges(values: list[float]) -> list[float]:
    edges: list[float] = []
    for value in sorted(values):
        if not edges or value - edges[-1] > _SNAP:
            edges.append(value)
    return edges


def _at(edges: Sequence[float], value: float) -> int:
    return min(range(len(edges)), key=lambda number: abs(edges[number] - value))


_CellLines = list[tuple[float, str]]  # (centre height, text) from top to bottom


def _assigned(grid: Sequence[Rectangle], words: Sequence[Word]) -> dict[Rectangle, list[Word]]:
    """Each word to the smallest cell around it, a word across a rule in its parts; no word is said twice."""
    cells = sorted(grid, key=lambda cell: (cell[2] - cell[0]) * (cell[3] - cell[1]))
    inside: dict[Rectangle, list[Word]] = {cell: [] for cell in grid}
    for word in words:
        height = (word[1] + word[3]) / 2
        around = [
            cell
            for cell in cells
            if cell[1] - 1 <= height <= cell[3] + 1 and cell[0] < word[2] and cell[2] > word[0]
        ]
        whole = next((cell for cell in around if cell[0] - 2 <= word[0] and word[2] <= cell[2] + 2), None)
        if whole:
            inside[whole].append(word)
        else:
            for cell, part in _parts(word, around):
                inside[cell].append(part)
    return inside


def _parts(word: Word, around: Sequence[Rectangle]) -> list[tuple[Rectangle, Word]]:
    """A word cut at the rules it crosses, its characters taken as equally wide."""
    step = (word[2] - word[0]) / max(len(word[4]), 1)
    parts: list[tuple[Rectangle, Word]] = []
    for number, character in enumerate(word[4]):
        x = word[0] + (number + 0.5) * step
        cell = next((cell for cell in around if cell[0] <= x <= cell[2]), None)
        if cell is None:
            continue
        if parts and parts[-1][0] == cell:
            last = parts[-1][1]
            parts[-1] = (cell, (last[0], last[1], x + step / 2, last[3], last[4] + character))
        else:
            parts.append((cell, (x - step / 2, word[1], x + step / 2, word[3], character)))
    return parts


def _cell_lines(inside: Sequence[Word]) -> _CellLines:
    lines: list[list[Word]] = []
    for word in sorted(inside, key=lambda w: ((w[1] + w[3]) / 2, w[0])):
        middle = (word[1] + word[3]) / 2
        last = lines[-1][0] if lines else None
        if last is not None and abs((last[1] + last[3]) / 2 - middle) < 0.45 * (word[3] - word[1]):
            lines[-1].append(word)
        else:
            lines.append([word])
    return [((line[0][1] + line[0][3]) / 2, _spaced(sorted(line))) for line in lines]


def _spaced(words: Sequence[Word]) -> str:
    text = ""
    for number, word in enumerate(words):
        tight = number > 0 and word[0] - words[number - 1][2] < 0.1 * (word[3] - word[1])
        text += ("" if number == 0 or tight else " ") + word[4]
    return text


def _is_frame(texts: dict[Rectangle, _CellLines]) -> bool:
    """Boxes around running text: hardly any filled cell, or nearly all text in one."""
    sizes = [sum(len(line) for _height, line in lines) for lines in texts.values()]
    filled = sum(size > 0 for size in sizes)
    return filled < 3 or (max(sizes) > 300 and max(sizes) > 0.6 * sum(sizes))


def _table_rows(
    cells: Sequence[Rectangle], texts: dict[Rectangle, _CellLines], xs: list[float], ys: list[float]
) -> list[list[Cell]]:
    """One row of the grid; several, where rules part groups of rows only."""
    spans = [
        (max(_at(xs, cell[2]) - _at(xs, cell[0]), 1), max(_at(ys, cell[3]) - _at(ys, cell[1]), 1))
        for cell in cells
    ]
    heights = (
        _shared_lines([texts[cell] for cell in cells])
        if all(rowspan == 1 for _colspan, rowspan in spans)
        else []
    )
    if not heights:
        return [
            [
                Cell(text=join_lines(line for _height, line in texts[cell]), colspan=colspan, rowspan=rowspan)
                for cell, (colspan, rowspan) in zip(cells, spans, strict=True)
            ]
        ]
    return [
        [
            Cell(
                text=join_lines(line for height, line in texts[cell] if _at(heights, height) == number),
                colspan=colspan,
            )
            for cell, (colspan, _rowspan) in zip(cells, spans, strict=True)
        ]
        for number in range(len(heights))
    ]


def _shared_lines(cells: Sequence[_CellLines]) -> list[float]:
    """Heights of text lines that run through most cells of a row, [] where cells merely wrap."""
    filled = [cell for cell in cells if cell]
    most = max((len(cell) for cell in filled), default=0)
    model = next((cell for cell in filled if len(cell) == most), [])
    if most < 2 or len(filled) < 3:
        return []
    alike = [
        c
        for c in filled
        if len(c) == most and all(abs(a[0] - b[0]) < 2.5 for a, b in zip(c, model, strict=True))
    ]
    figures = sum(bool(_FIGURE.match(text)) for cell in alike for _height, text in cell)
    enough = len(alike) >= 0.6 * len(filled) and figures >= 0.5 * most * len(alike)
    return [height for height, _text in model] if enough else []


# --- aligned without rules --------------------------------------------------------------------------------------

Row = list[Line]
_LEAST_ROWS = 3
_WRAPPED_ROWS = 2


def segments(row: Row) -> list[Row]:
    """A row parted where the gap is wider than a space between words could be."""
    parts: list[Row] = []
    for line in row:
        if parts and line.x0 - parts[-1][-1].x1 < 0.9 * max(line.size, 4.0):
            parts[-1].append(line)
        else:
            parts.append([line])
    return parts


def aligned_runs(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Ranges of rows that form a table without rules."""
    counts = [len(segments(row)) for row in rows]
    runs: list[tuple[int, int]] = []
    start = 0
    while start < len(rows):
        end = _run_end(rows, counts, start)
        if (end - start >= _LEAST_ROWS and _is_table(rows[start:end])) or _is_pair(rows[start:end]):
            runs.append((start, end))
            start = end
        else:
            start = max(end, start + 1)
    return runs


def _run_end(rows: Sequence[Row], counts: Sequence[int], start: int) -> int:
    """End of a run of rows with several parts; single parts are let in where they may be wrapped cells."""
    if counts[start] < 2:
        return start
    end, position, single = start + 1, start + 1, 0
    while position < len(rows):
        gap = rows[position][0].baseline - rows[position - 1][0].baseline
        if gap > 4.0 * rows[position][0].size or gap < 0:
            break
        if counts[position] >= 2:
            end, single = position + 1, 0
        else:
            single += 1
            if single > _WRAPPED_ROWS:
                break
        position += 1
    return end


def _is_table(rows: Sequence[Row]) -> bool:
    parted = [segments(row) for row in rows]
    multiple = [parts for parts in parted if len(parts) >= 2]
    if len(multiple) < _LEAST_ROWS or len(multiple) < 0.5 * len(rows):
        return False
    texts = [segment_text(part) for parts in multiple for part in parts]
    figures = sum(bool(_FIGURE.match(text.strip())) for text in texts)
    if median(map(weight, texts)) > 24 and figures < 0.3 * len(texts):
        return False
    columns = _columns(multiple)
    return len(columns) >= 2 and (len(columns) >= 3 or figures >= 0.3 * len(texts) or _starts_align(multiple))


def _is_pair(rows: Sequence[Row]) -> bool:
    """A row of names above one row of as many figures."""
    if len(rows) != 2:
        return False
    names, figures = segments(rows[0]), segments(rows[1])
    if len(names) < 3 or len(names) != len(figures):
        return False
    said = sum(bool(_FIGURE.match(segment_text(part).strip())) for part in figures)
    return said >= 0.6 * len(figures) and not any(_FIGURE.match(segment_text(part).strip()) for part in names)


def _starts_align(multiple: Sequence[Sequence[Row]]) -> bool:
    """Second parts of two-part rows begin (or end) at one place."""
    starts = [parts[1][0].x0 for parts in multiple]
    ends = [parts[1][-1].x1 for parts in multiple]
    return any(
        sum(abs(v - median(values)) < 4 for v in values) >= 0.8 * len(values) for values in (starts, ends)
    )


def segment_text(part: Row) -> str:
    return join_lines(line.text for line in part)


def _columns(multiple: Sequence[Sequence[Row]]) -> list[tuple[float, float]]:
    """Horizontal ranges of the columns, from the rows that have about the most parts."""
    most = max(len(parts) for parts in multiple)
    spans = sorted(
        (part[0].x0, part[-1].x1) for parts in multiple if len(parts) >= 0.6 * most for part in parts
    )
    columns: list[tuple[float, float]] = []
    for x0, x1 in spans:
        if columns and x0 < columns[-1][1] + 1:
            columns[-1] = (columns[-1][0], max(columns[-1][1], x1))
        else:
            columns.append((x0, x1))
    return columns


def aligned_table(rows: Sequence[Row]) -> FoundTable:
    """The table of a run of rows; a row with a single part below a filled cell continues that cell."""
    parted = [segments(row) for row in rows]
    columns = _columns([parts for parts in parted if len(parts) >= 2])
    table: list[list[str]] = []
    spans: list[list[int]] = []
    for parts in parted:
        texts, widths = [""] * len(columns), [1] * len(columns)
        for part in parts:
            first, last = _covered(columns, part)
            texts[first] = f"{texts[first]} {segment_text(part)}".strip()
            widths[first] = last - first + 1
        filled = [place for place, text in enumerate(texts) if text]
        if len(filled) == 1 and filled[0] > 0 and table and table[-1][filled[0]]:
            table[-1][filled[0]] = join_lines([table[-1][filled[0]], texts[filled[0]]])
        else:
            table.append(texts)
            spans.append(widths)
    lines = [line for row in rows for line in row]
    return FoundTable(
        x0=min(line.x0 for line in lines),
        y0=min(line.y0 for line in lines),
        x1=max(line.x1 for line in lines),
        y1=max(line.y1 for line in lines),
        rows=[_cells(texts, widths) for texts, widths in zip(table, spans, strict=True)],
    )


def _covered(columns: Sequence[tuple[float, float]], part: Row) -> tuple[int, int]:
    """First and last column that a part overlaps; the nearest one where it overlaps none."""
    x0, x1 = part[0].x0, part[-1].x1
    touched = [n for n, (left, right) in enumerate(columns) if x0 < right - 1 and x1 > left + 1]
    if touched:
        return touched[0], touched[-1]
    nearest = min(range(len(columns)), key=lambda n: abs((columns[n][0] + columns[n][1]) / 2 - (x0 + x1) / 2))
    return nearest, nearest


def _cells(texts: list[str], widths: list[int]) -> list[Cell]:
    cells: list[Cell] = []
    place = 0
    while place < len(texts):
        width = widths[place]
        if any(texts[place + 1 : place + width]):
            width = 1
        cells.append(Cell(text=texts[place], colspan=width))
        place += width
    return cells
