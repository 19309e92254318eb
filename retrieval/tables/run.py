"""Run one query over one table with DuckDB, in a child process without network and files, with little memory and time."""

import json
import logging
from dataclasses import asdict, dataclass
from datetime import date
from decimal import Decimal
from tempfile import TemporaryFile
from typing import Any

from ingestion.parsing.errors import Rejected
from ingestion.parsing.limits import Limits
from ingestion.parsing.sandbox import Runner, SandboxUnavailable, run_job
from retrieval.tables.plan import TableQuery, checked
from retrieval.tables.statements import TYPES, Job, job_of
from retrieval.tables.typed import Kind, TypedTable, Value

log = logging.getLogger(__name__)
RUNNER = Runner(module="retrieval.tables.child", preload=("duckdb",))
LIMITS = Limits(cpu_s=5, wall_s=8.0, result_bytes=4_000_000, scratch_bytes=0, programs=0)


class TablesUnavailable(Exception):
    """The query could not be run here and now; the search goes on without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One computed line: the group's value (None without groups) and what was measured (None of nothing)."""

    key: str | None
    value: Decimal | date | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """rows: numbers of the rows that the answer rests on, in order. lines: what was computed, empty for rows alone."""

    rows: tuple[int, ...]
    lines: tuple[Line, ...]


def run_query(query: TableQuery, table: TypedTable) -> Outcome:
    """Raises InvalidQuery, or TablesUnavailable when the child could not be run or was stopped."""
    job = job_of(checked(query, table), table)
    with TemporaryFile(prefix="zhiku-table-") as source, TemporaryFile(prefix="zhiku-result-") as result:
        source.write(json.dumps(_given(job, table)).encode())
        source.seek(0)
        try:
            run_job(RUNNER, {}, source=source, limits=LIMITS, result=result)
        except (Rejected, SandboxUnavailable) as error:
            log.warning("a table query was stopped", extra={"cause": str(error)})
            raise TablesUnavailable from error
        result.seek(0)
        try:
            return _outcome(json.loads(result.read()), query, table)
        except (ValueError, KeyError) as error:
            raise TablesUnavailable from error


def _given(job: Job, table: TypedTable) -> dict[str, Any]:
    return {
        "row_count": len(table.rows),
        "rows": asdict(job.rows),
        "result": asdict(job.result) if job.result else None,
        "columns": [
            {
                "name": f"c{index}",
                "type": TYPES[table.columns[index].kind],
                "values": [_said(row.values[index]) for row in table.rows],
            }
            for index in job.columns
        ],
    }


def _said(value: Value) -> str | None:
    if value is None:
        return None
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _outcome(answer: dict[str, Any], query: TableQuery, table: TypedTable) -> Outcome:
    lines: list[Line] = []
    for found in answer["result"] or ():
        key, value = (None, found[0]) if query.group_by is None else found
        lines.append(Line(key=key, value=_measured(value, query, table)))
    rows = tuple(int(number) for number in answer["rows"])
    return Outcome(rows=rows, lines=tuple(lines))


def _measured(text: str | None, query: TableQuery, table: TypedTable) -> Decimal | date | None:
    if text is None:
        return None
    measure = query.measure
    is_date = (
        measure is not None
        and measure.column is not None
        and measure.aggregate.value in ("min", "max")
        and table.columns[measure.column].kind is Kind.DATE
    )
    return date.fromisoformat(text) if is_date else Decimal(text)
