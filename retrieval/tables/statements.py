"""A checked query as SQL for the one table `t` of the sandbox: columns are `c0`, `c1`, …, all values are bound. Pure.

Not a character of a question, a column name or a cell gets into the text of a statement.
"""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from retrieval.tables.plan import Aggregate, Compare, Condition, Measure, TableQuery
from retrieval.tables.typed import Kind, TypedTable

MAX_RESULT_ROWS = 200
TYPES = {Kind.NUMBER: "decimal(30, 6)", Kind.DATE: "date", Kind.TEXT: "varchar"}
_SIGNS = {Compare.GREATER: ">", Compare.AT_LEAST: ">=", Compare.LESS: "<", Compare.AT_MOST: "<="}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """parameters: texts; the statement says what each is cast to."""

    text: str
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What the sandbox runs. columns: the indexes of those that the query touches, whose values are sent along.

    rows: the numbers of the rows that meet the conditions. result: what is computed, None when only rows are shown.
    """

    columns: tuple[int, ...]
    rows: Statement
    result: Statement | None


def job_of(query: TableQuery, table: TypedTable) -> Job:
    """The statements of a query that `checked` let through."""
    touched = {condition.column for condition in query.where}
    touched |= {
        index
        for index in (query.group_by, query.measure.column if query.measure else None)
        if index is not None
    }
    touched |= {query.order.column} if query.order and query.order.column is not None else set()
    return Job(
        columns=tuple(sorted(touched)),
        rows=_rows(query, table),
        result=_result(query, table) if query.measure else None,
    )


def _rows(query: TableQuery, table: TypedTable) -> Statement:
    where, parameters = _where(query, table)
    if query.order is None or query.order.column is None:
        return Statement(text=f'select "row" from t where {where} order by "row"', parameters=parameters)
    column, direction = f'"c{query.order.column}"', _direction(query.order.descending)
    limit = query.limit or MAX_RESULT_ROWS
    ranked = f'select "row", rank() over (order by {column} {direction}) as place from t where {where} and {column} is not null'
    return Statement(
        text=f'select "row" from ({ranked}) where place <= {int(limit)} order by place, "row"',
        parameters=parameters,
    )


def _result(query: TableQuery, table: TypedTable) -> Statement:
    assert query.measure is not None  # noqa: S101 the caller has looked
    where, parameters = _where(query, table)
    measure = _aggregate(query.measure)
    if query.group_by is None:
        return Statement(text=f"select {measure} as value from t where {where}", parameters=parameters)
    group = f'"c{query.group_by}"'
    grouped = f'select {group} as key, {measure} as value, min("row") as first from t where {where} and {group} is not null group by {group}'
    if query.order is None:
        return Statement(
            text=f"{_shown(grouped)} order by first limit {MAX_RESULT_ROWS}", parameters=parameters
        )
    by = "value" if query.order.column is None else "key"
    ranked = f"select key, value, first, rank() over (order by {by} {_direction(query.order.descending)}) as place from ({grouped}) where value is not null"
    limit = int(query.limit or MAX_RESULT_ROWS)
    return Statement(
        text=f"{_shown(ranked)} where place <= {limit} order by place, first limit {MAX_RESULT_ROWS}",
        parameters=parameters,
    )


def _shown(grouped: str) -> str:
    return f"select key, value from ({grouped})"


def _direction(descending: bool) -> str:
    return "desc" if descending else "asc"


def _aggregate(measure: Measure) -> str:
    column = "*" if measure.column is None else f'"c{measure.column}"'
    return (
        f"count(distinct {column})"
        if measure.aggregate is Aggregate.DISTINCT
        else f"{measure.aggregate.value}({column})"
    )


def _where(query: TableQuery, table: TypedTable) -> tuple[str, tuple[str, ...]]:
    parts, parameters = ["true"], []
    for condition in query.where:
        parts.append(_condition(condition, TYPES[table.columns[condition.column].kind]))
        parameters += [_text(value) for value in condition.values]
    return " and ".join(parts), tuple(parameters)


def _condition(condition: Condition, kind: str) -> str:
    column, bound = f'"c{condition.column}"', f"cast(? as {kind})"
    if sign := _SIGNS.get(condition.compare):
        return f"{column} {sign} {bound}"
    word = "in" if condition.compare is Compare.IN else "not in"
    return f"{column} {word} ({', '.join([bound] * len(condition.values))})"


def _text(value: Decimal | date | str) -> str:
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
