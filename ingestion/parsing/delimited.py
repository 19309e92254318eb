"""CSV and TSV: one table, its first row the header. What is not regular enough for a table passes as plain text."""

import csv
import io

from ingestion.parsing import text as plain_text
from ingestion.parsing.elements import Element, ParsedDocument, Quality
from ingestion.parsing.encodings import decode
from ingestion.parsing.formats import Source
from ingestion.parsing.tables import Cell, read_table

_DELIMITERS = ",\t;|"
_SAMPLE_LINES = 50
# One element per so many rows: each repeats the header, so that a row is never far from its column names.
_ROWS_PER_TABLE = 200
csv.field_size_limit(100_000_000)  # a cell may be as long as the file


def parse(source: Source) -> ParsedDocument:
    """Read a delimited file of any encoding."""
    decoded = decode(source.data)
    rows = _rows(decoded.text.replace("\x00", ""))
    if not rows:
        return plain_text.parse(source)
    header, body = rows[0], rows[1:]
    elements = [
        _table(header, body[start : start + _ROWS_PER_TABLE])
        for start in range(0, max(len(body), 1), _ROWS_PER_TABLE)
    ]
    return ParsedDocument(
        media_type="text/csv",
        elements=tuple(element for element in elements if element),
        quality=Quality(warnings=("lossy_encoding",) if decoded.lossy else ()),
        encoding=decoded.encoding,
    )


def _rows(text: str) -> list[list[str]]:
    """Rows of equal width, [] if the file is no regular table."""
    delimiter = _delimiter(text)
    if not delimiter:
        return []
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text), delimiter=delimiter)]
    except csv.Error:
        return []
    rows = [row for row in rows if any(row)]
    width = max((len(row) for row in rows), default=0)
    if width > 500:
        return []
    return [row + [""] * (width - len(row)) for row in rows]


def _delimiter(text: str) -> str:
    """The character that parts most sample lines into the same number of cells."""
    lines = [line for line in text.splitlines()[:_SAMPLE_LINES] if line.strip()]
    counts = {
        mark: [len(next(csv.reader([line], delimiter=mark), [])) for line in lines] for mark in _DELIMITERS
    }
    scores = {
        mark: sum(cells == max(set(row), key=row.count) for cells in row) * (max(row) > 1)
        for mark, row in counts.items()
        if row
    }
    best = max(scores, key=lambda mark: (scores[mark], max(counts[mark])), default="")
    return best if best and scores[best] else ""


def _table(header: list[str], body: list[list[str]]) -> Element | None:
    rows = [
        [Cell(text=text, is_header=number == 0) for text in row] for number, row in enumerate([header, *body])
    ]
    return read_table(rows, header_rows=1 if body else 0)
