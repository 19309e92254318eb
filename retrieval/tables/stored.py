"""The tables behind passages, put together again from their stored parts, for the reader who found them.

Access is decided here anew, as hydration does: a version that the reader may not read now, or that is not in force, has no
tables. Versions never change, so a table that has been typed once is kept.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from typing import Any

from django.db.models import Q

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion.models import IN_FORCE, Chunk, Correction, Document, Element
from ingestion.parsing.elements import Kind
from ingestion.parsing.grids import ROWS_PER_TABLE
from retrieval.snapshot import read_snapshot
from retrieval.tables.typed import MAX_ROWS, RawTable, SourceRow, TypedTable, typed_table
from retrieval.values import Passage

MAX_TABLES = 6
_MAX_PARTS = MAX_ROWS // ROWS_PER_TABLE
_KEPT = 12
_ROW = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
_CELL = re.compile(r'<(?P<name>t[hd])(?: colspan="(?P<across>\d+)")?(?: rowspan="(?P<down>\d+)")?>')


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTable:
    """A typed table and where it stands: element orders, both included."""

    table: TypedTable
    passage: Passage
    first_element: int
    last_element: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One stored element of kind table."""

    order: int
    header: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    path: tuple[str, ...]
    merged: frozenset[int]

    @classmethod
    def of(cls, order: int, text: str, path: Sequence[str], table: dict[str, Any]) -> "_Part":
        rows = tuple(tuple(row) for row in table["rows"])
        depth = table["header_rows"]
        lines = text.split("\n", 1)
        has_caption = text.count("\n") == len(rows)
        return cls(
            order=order,
            header=rows[:depth],
            rows=rows[depth:],
            caption=lines[0] if has_caption else "",
            path=tuple(path),
            merged=_merged_columns(table["html"]) if "rowspan=" in table["html"] else frozenset(),
        )

    def goes_on_in(self, after: "_Part") -> bool:
        """Whether the next element is the next group of rows of the same table."""
        is_full = len(self.rows) == ROWS_PER_TABLE and after.order == self.order + 1
        return is_full and bool(self.header) and (after.header, after.caption) == (self.header, self.caption)


def tables_behind(passages: Iterable[Passage], *, principal: Principal) -> list[StoredTable]:
    """The tables that the passages come from, in the passages' order, each once. Needs a transaction of its own."""
    wanted = [p for p in passages if p.kind == Kind.TABLE and isinstance(p.chunk_id, int)]
    found: list[StoredTable] = []
    with read_snapshot():
        readable = _readable(principal, {passage.version_id for passage in wanted})
        for passage in wanted:
            if len(found) == MAX_TABLES:
                break
            is_known = any(_holds(known, passage) for known in found)
            if not is_known and passage.version_id in readable and (stored := _table_of(passage)):
                found.append(stored)
    return found


def _holds(known: StoredTable, passage: Passage) -> bool:
    return (
        known.passage.version_id == passage.version_id
        and known.first_element <= passage.first_element <= known.last_element
    )


def _readable(principal: Principal, versions: set[int]) -> set[int]:
    rows = Document.objects.filter(
        scope_id__in=visible_scopes(principal),
        archived_at=None,
        active_version_id__in=versions,
        active_version__state__in=IN_FORCE,
    )
    return set(rows.values_list("active_version_id", flat=True))


def _table_of(passage: Passage) -> StoredTable | None:
    span = _span(passage)
    if span is None:
        return None
    first, last = span
    if _is_corrected(passage, first, last):
        return None
    typed = _typed(passage.version_id, first, last)
    if typed is None:
        return None
    table = typed if typed.title else replace(typed, title=passage.title)  # a CSV file names no table
    return StoredTable(table=table, passage=passage, first_element=first, last_element=last)


def _is_corrected(passage: Passage, first: int, last: int) -> bool:
    """Whether people have said that cells between these elements are not right, or left some of them out of search."""
    here = Q(first_element__lte=last, last_element__gte=first)
    if Chunk.objects.filter(here, version_id=passage.version_id, correction__isnull=False).exists():
        return True
    left_out = Correction.objects.filter(
        document_id=passage.document_id, action=Correction.Action.EXCLUDE, undone_at=None
    )
    of_this = Q(version_id=passage.version_id)
    carried_over = ~of_this & Q(outcomes__version_id=passage.version_id, outcomes__fits=True)
    return left_out.filter((of_this & here) | carried_over).exists()


def _span(passage: Passage) -> tuple[int, int] | None:
    """The first and last element of the table around a passage: neighbours of kind table on the same page."""
    elements = Element.objects.filter(version_id=passage.version_id, kind=Kind.TABLE).order_by("order")
    orders = dict(elements.values_list("order", "page"))
    start = next((n for n in range(passage.first_element, passage.last_element + 1) if n in orders), None)
    if start is None:
        return None
    page = orders[start]
    first = next(n for n in count(start, -1) if orders.get(n - 1, -1) != page)
    last = next(n for n in count(start) if orders.get(n + 1, -1) != page)
    if last - first >= _MAX_PARTS:
        return None
    return _same_table(passage.version_id, (first, last), start)


@lru_cache(maxsize=256)
def _same_table(version_id: int, run: tuple[int, int], start: int) -> tuple[int, int]:
    """Of a run of tables, the one that the element belongs to."""
    group: list[int] = []
    before: _Part | None = None
    for part in _parts(version_id, *run):
        if before is None or not before.goes_on_in(part):
            if start in group:
                break
            group = []
        group.append(part.order)
        before = part
    return group[0], group[-1]


def _parts(version_id: int, first: int, last: int) -> Iterator[_Part]:
    rows = Element.objects.filter(version_id=version_id, order__range=(first, last)).order_by("order")
    for order, text, path, table in rows.values_list("order", "text", "heading_path", "table"):
        yield _Part.of(order, text, path, table or {"rows": (), "header_rows": 0, "html": ""})


@lru_cache(maxsize=_KEPT)
def _typed(version_id: int, first: int, last: int) -> TypedTable | None:
    parts = list(_parts(version_id, first, last))
    head = parts[0]
    return typed_table(
        RawTable(
            header=head.header,
            rows=tuple(
                SourceRow(element=part.order, line=line, cells=cells)
                for part in parts
                for line, cells in enumerate(part.rows)
            ),
            title=head.caption or (head.path[-1] if head.path else ""),
            around=head.path,
            merged=frozenset().union(*(part.merged for part in parts)),
        )
    )


def _merged_columns(html: str) -> frozenset[int]:
    """Columns with a cell of the body that reaches over several rows."""
    found: set[int] = set()
    taken: dict[int, int] = {}  # column -> rows that a cell from above still covers
    for row in _ROW.finditer(html):
        column = 0
        below: dict[int, int] = {}
        for cell in _CELL.finditer(row[1]):
            while taken.get(column, 0) > 0:
                column += 1
            across, down = int(cell["across"] or 1), int(cell["down"] or 1)
            if down > 1:
                below.update(dict.fromkeys(range(column, column + across), down))
                if cell["name"] == "td":
                    found.update(range(column, column + across))
            column += across
        taken = {place: rows - 1 for place, rows in taken.items() if rows > 1} | {
            place: rows - 1 for place, rows in below.items()
        }
    return frozenset(found)
