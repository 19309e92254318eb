"""CSV and TSV: one table, its first row the header. What is not regular enough for a table passes as plain text."""

import csv
import io

from ingestion.parsing import text as plain_text
from ingestion.parsing.elements import ParsedDocument, Quality
from ingestion.parsing.encodings import decode
from ingestion.parsing.formats import Source
from ingestion.parsing.grids import Grid, grid_elements
from ingestion.parsing.sheets import Budget, cell_text

_DELIMITERS = ",\t;|"
_SAMPLE_LINES = 50
csv.field_size_limit(100_000_000)  # a cell may be as long as the file


def parse(source: Source) -> ParsedDocument:
    """Read a delimited file of any encoding. Raises Rejected: too_large."""
    decoded = decode(source.data)
    rows = _rows(decoded.text.replace("\x00", ""))
    if not rows:
        return plain_text.parse(source)
    budget = Budget()
    cells = {}
    for line, row in enumerate(rows):
        cells[line] = {column: text for column, cell in enumerate(row) if (text := cell_text(cell))}
        budget.take(cells[line])
    return ParsedDocument(
        media_type="text/csv",
        elements=tuple(grid_elements(Grid(rows=cells), level=1)),
        quality=Quality(warnings=("lossy_encoding",) if decoded.lossy else ()),
        encoding=decoded.encoding,
    )


def _rows(text: str) -> list[list[str]]:
    """Rows that say something, [] if the file is no regular table."""
    delimiter = _delimiter(text)
    if not delimiter:
        return []
    escape = "\\" if _has_escapes(text, delimiter) else None
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter, escapechar=escape))
    except csv.Error:
        return []
    return [row for row in rows if any(cell.strip() for cell in row)]


def _has_escapes(text: str, delimiter: str) -> bool:
    """Delimiters or quotes inside cells are marked by a backslash, not by quotes around the cell."""
    sample = text[:100_000]
    return f"\\{delimiter}" in sample or '\\"' in sample


def _delimiter(text: str) -> str:
    """The character that parts most sample lines into the same number of cells."""
    lines = [line for line in text.splitlines()[:_SAMPLE_LINES] if line.strip()]
    counts = {mark: [_cells(line, mark) for line in lines] for mark in _DELIMITERS}
    scores = {
        mark: sum(cells == max(set(row), key=row.count) for cells in row) * (max(row) > 1)
        for mark, row in counts.items()
        if row
    }
    best = max(scores, key=lambda mark: (scores[mark], max(counts[mark])), default="")
    return best if best and scores[best] else ""


def _cells(line: str, delimiter: str) -> int:
    try:
        return len(next(csv.reader([line], delimiter=delimiter), []))
    except csv.Error:
        return 0
