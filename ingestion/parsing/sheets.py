"""One sheet of a workbook as its readers fill it, and the limits that all of them keep."""

from dataclasses import dataclass, field
from typing import Any

from ingestion.parsing.elements import Element
from ingestion.parsing.errors import Rejected
from ingestion.parsing.grids import Row, Span
from ingestion.parsing.prose import collapse_lines

MAX_ROWS = 200_000
MAX_CELLS = 4_000_000
MAX_SHEETS = 1_000
LONGEST_CELL = 40_000  # a cell of Excel holds 32,767 characters


@dataclass(slots=True, kw_only=True)
class Sheet:
    """Texts by row and column from 0; what hangs on the sheet beside its cells comes as finished elements."""

    name: str
    is_hidden: bool = False
    has_failed: bool = False
    rows: dict[int, Row] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    bold: set[int] = field(default_factory=set)
    extras: list[Element] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Workbook:
    """All sheets. formulas: cells whose results the file does not hold."""

    sheets: list[Sheet] = field(default_factory=list)
    formulas: int = 0
    properties: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Budget:
    """Counts cells over all sheets and rows of the sheet in hand. Raises Rejected, naming the limit."""

    cells: int = 0
    rows: int = 0

    def begin_sheet(self) -> None:
        self.rows = 0

    def take(self, row: Row) -> None:
        self.rows += 1
        self.cells += len(row)
        if self.rows > MAX_ROWS:
            raise Rejected("too_large", limit=f"{MAX_ROWS} rows in a sheet")
        if self.cells > MAX_CELLS:
            raise Rejected("too_large", limit=f"{MAX_CELLS} cells")


def cell_text(text: str) -> str:
    """White space as a reader sees it; line breaks within the cell stay."""
    if text.isprintable() and "  " not in text and len(text) <= LONGEST_CELL:
        return text.strip()
    return collapse_lines(text[:LONGEST_CELL])
