from collections.abc import Sequence

import pytest

from retrieval.tables.typed import RawTable, SourceRow, TypedTable, typed_table


@pytest.fixture
def table():
    """A typed table from its lines, cells parted by bars, the head first."""

    def make(*lines: str, title: str = "", heads: int = 1) -> TypedTable:
        cells: Sequence[tuple[str, ...]] = [tuple(cell.strip() for cell in line.split("|")) for line in lines]
        rows = tuple(SourceRow(element=0, line=n, cells=row) for n, row in enumerate(cells[heads:]))
        typed = typed_table(RawTable(header=tuple(cells[:heads]), rows=rows, title=title))
        assert typed is not None
        return typed

    return make
