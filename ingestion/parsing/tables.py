"""Tables of every format through one form: cells with spans become a filled grid and clean HTML."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from ingestion.parsing.elements import Element, Kind, Table

# A span larger than this is a broken or hostile file; a grid is never built from it.
MAX_SPAN = 1_000
MAX_SLOTS = 400_000
# Characters a merged cell may come to when it is repeated in each row it covers; a longer text stays in its first row.
MAX_REPEATED = 3_000
_MOST_HEADERS, _LONGEST_NAME = 3, 80
_LABEL = re.compile(  # what forms ask for
    r"^\W*[^\W\d]{0,6}(?:姓\s*名|性\s*别|部\s*门|职\s*[务位称]|岗\s*位|电\s*话|手机号?码?|地\s*址|住\s*址|邮\s*箱|日\s*期|时\s*间|年\s*龄|民\s*族|学\s*历|籍\s*贯|"
    r"专\s*业|编\s*号|名\s*称|单\s*位|公\s*司|备\s*注|号\s*码|账\s*号|开户行|联系人|负责人|法定代表人|金\s*额|事\s*由|"
    r"Name|Title|Date|Address|Phone|Telephone|E-?mail|Department|Position|Gender|Company|Remarks?)\W*$",
    re.IGNORECASE,
)
_YEAR = re.compile(r"^(?:19|20)\d\d\s?年?[AEae]?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell as written in the file; spans count from 1."""

    text: str
    colspan: int = 1
    rowspan: int = 1
    is_header: bool = False


def read_table(
    rows: Sequence[Sequence[Cell]], *, header_rows: int | None = None, caption: str = ""
) -> Element | None:
    """A table element: merged cells fill every slot they cover in `table.rows`, and are said once a row in `text`,
    where each row is one line.

    header_rows: known number, or None to read it off the cells. Returns None for a table without text.
    """
    grid = _grid(rows)
    filled = [tuple(cell.text if cell else "" for cell in line) for line in grid]
    kept = [number for number, line in enumerate(filled) if any(line)]
    if not kept:
        return None
    headers = (
        header_rows
        if header_rows is not None
        else _header_rows([grid[n] for n in kept], [filled[n] for n in kept])
    )
    lines = [" | ".join(_said_once(grid[number])) for number in kept]
    return Element(
        kind=Kind.TABLE,
        text="\n".join([caption, *lines] if caption else lines),
        table=Table(
            rows=tuple(filled[number] for number in kept),
            header_rows=min(headers, len(kept)),
            html=_html(rows, headers),
        ),
    )


def plain_table(rows: Sequence[Sequence[str]], *, header_rows: int, caption: str = "") -> Element | None:
    """`read_table` for many rows without merged cells, at a tenth of its cost."""
    kept = [tuple(row) for row in rows if any(row)]
    if not kept:
        return None
    lines = [" | ".join(row) for row in kept]
    lines = [_one_line(line) if "\n" in line else line for line in lines]
    html = []
    for number, row in enumerate(kept):
        name = "th" if number < header_rows else "td"
        cells = escape("\x00".join(row), quote=False).replace("\n", "<br>")
        html.append(f"<tr><{name}>{cells.replace(chr(0), f'</{name}><{name}>')}</{name}></tr>")
    return Element(
        kind=Kind.TABLE,
        text="\n".join([caption, *lines] if caption else lines),
        table=Table(
            rows=tuple(kept), header_rows=min(header_rows, len(kept)), html=f"<table>{''.join(html)}</table>"
        ),
    )


def _one_line(text: str) -> str:
    """Lines of a cell are paragraphs, not wrapped text: they stay apart in Chinese too."""
    return " ".join(text.split())


def _said_once(line: Sequence[Cell | None]) -> list[str]:
    return [
        _one_line(cell.text) if cell else ""
        for place, cell in enumerate(line)
        if place == 0 or cell is None or cell is not line[place - 1]
    ]


def _grid(rows: Sequence[Sequence[Cell]]) -> list[list[Cell | None]]:
    grid: list[dict[int, Cell]] = [{} for _ in rows]
    slots = 0
    for number, row in enumerate(rows):
        column = 0
        for cell in row:
            while column in grid[number]:
                column += 1
            width, height = min(cell.colspan, MAX_SPAN), min(cell.rowspan, MAX_SPAN, len(rows) - number)
            slots += width * height
            if slots > MAX_SLOTS:
                width = height = 1
            if len(cell.text) * height > MAX_REPEATED:
                height = 1
            for line in range(number, number + height):
                for place in range(column, column + width):
                    grid[line].setdefault(place, cell)
            column += width
    width = max((max(line) + 1 for line in grid if line), default=0)
    return [[line.get(place) for place in range(width)] for line in grid]


def _header_rows(grid: list[list[Cell | None]], filled: list[tuple[str, ...]]) -> int:
    """Leading rows made of header cells; without any, a first row of names above rows with figures."""
    marked = 0
    for line in grid:
        cells = [cell for cell in line if cell]
        if not cells or not all(cell.is_header for cell in cells):
            break
        marked += 1
    if marked:
        return marked if marked < len(grid) else int(len(grid) > 1)
    return _named_rows(grid, filled) or _rows_above_figures(filled)


def is_form(rows: Sequence[Sequence[str]]) -> bool:
    """Names and what is given for them side by side, as on a form: its first row is no head."""
    first = rows[0]
    asked = [bool(_LABEL.match(text)) for text in first]
    if len(first) < 2 or len(first) % 2 or any(asked[1::2]) or not all(asked[::2]):
        return False
    others = {row[0] for row in rows[1:] if row and _LABEL.match(row[0])} - {first[0]}
    return bool(others) and 2 * (len(others) + 1) >= len(rows)


def _rows_above_figures(filled: list[tuple[str, ...]]) -> int:
    """Leading rows of names, some of their cells empty or merged, above rows that hold figures but for their own names."""
    holds = [_holds_figures(row) for row in filled]
    first = next((number for number, said in enumerate(holds) if said), 0)
    below = holds[first:]
    names = [len(set(filter(None, row))) for row in filled[:first]]
    if not 0 < first <= _MOST_HEADERS or len(below) < 2 or sum(below) < 0.6 * len(below):
        return 0
    return (
        first
        if max(names) >= 2 and all(len(t) <= _LONGEST_NAME for row in filled[:first] for t in row)
        else 0
    )


def _holds_figures(row: tuple[str, ...]) -> bool:
    """Most of what stands behind the first cell is figures, other than years."""
    said = [text for text in row[1:] if text]
    figures = [text for text in said if _is_figure(text) and not _YEAR.match(text)]
    return len(figures) >= max(0.6 * len(said), 1)


def _named_rows(grid: list[list[Cell | None]], filled: list[tuple[str, ...]]) -> int:
    """A first row of names is a header; merged cells in it draw the rows below them in."""
    first, rest = grid[0], filled[1:]
    names = [
        cell.text for place, cell in enumerate(first) if cell and (place == 0 or cell is not first[place - 1])
    ]
    if not rest or len(first) < 2 or len(names) < 2 or not all(filled[0]) or len(set(names)) < len(names):
        return 0
    if any(_is_figure(text) or len(text) > _LONGEST_NAME for text in names) or is_form(filled):
        return 0
    depth = max(cell.rowspan for cell in first if cell)
    is_two_storied = (
        1 < depth <= 3 and depth < len(grid) and any(cell and cell.rowspan < depth for cell in first)
    )
    return depth if is_two_storied else 1


def _is_figure(text: str) -> bool:
    digits = sum(character.isdigit() for character in text)
    return digits > 0 and digits >= sum(character.isalpha() for character in text)


def _html(rows: Sequence[Sequence[Cell]], headers: int) -> str:
    lines = []
    for number, row in enumerate(row for row in rows if any(cell.text for cell in row)):
        cells = "".join(_html_cell(cell, header=cell.is_header or number < headers) for cell in row)
        if cells:
            lines.append(f"<tr>{cells}</tr>")
    return f"<table>{''.join(lines)}</table>"


def _html_cell(cell: Cell, *, header: bool) -> str:
    name = "th" if header else "td"
    spans = f' colspan="{cell.colspan}"' if 1 < cell.colspan <= MAX_SPAN else ""
    spans += f' rowspan="{cell.rowspan}"' if 1 < cell.rowspan <= MAX_SPAN else ""
    return f"<{name}{spans}>{escape(cell.text, quote=False).replace(chr(10), '<br>')}</{name}>"
