"""What may be asked of a table: a small closed value, checked against the table before anything runs. Pure.

Rules or a model fill it in; neither ever writes SQL. A column that does not exist, a value that no cell holds or a sum of
things that do not add up is refused, because a wrong number is worse than none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from retrieval.tables.typed import Column, Kind, TypedTable

MAX_CONDITIONS, MAX_VALUES, MAX_SELECTED, MAX_LIMIT = 8, 200, 12, 20
_LONGEST_VALUE = 500


class InvalidQuery(Exception):
    """The query does not fit the table; the message says how, for logs and for whoever filled it in."""


class Compare(StrEnum):
    IN = "in"
    NOT_IN = "not_in"
    GREATER = "greater"
    AT_LEAST = "at_least"
    LESS = "less"
    AT_MOST = "at_most"


class Aggregate(StrEnum):
    COUNT = "count"
    DISTINCT = "distinct"
    SUM = "sum"
    AVERAGE = "avg"
    MIN = "min"
    MAX = "max"


Operand = Decimal | date | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """values: cells' values for IN and NOT_IN, cleaned texts in a text column; one bound for the others."""

    column: int
    compare: Compare
    values: tuple[Operand, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """column: None only for COUNT, which then counts rows; with a column it counts the cells that say something."""

    aggregate: Aggregate
    column: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """column: None orders groups by the measure. Ties at the end of the limit all come."""

    column: int | None
    descending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuery:
    """select: columns to show of the rows found. With a measure they are computed, in groups if `group_by` names one."""

    select: tuple[int, ...] = ()
    where: tuple[Condition, ...] = ()
    measure: Measure | None = None
    group_by: int | None = None
    order: Order | None = None
    limit: int | None = None


def checked(query: TableQuery, table: TypedTable) -> TableQuery:
    """The query as given, once it is known to fit the table. Raises InvalidQuery."""
    for index in _columns_of(query):
        if not 0 <= index < len(table.columns):
            raise InvalidQuery("no such column")
    _check_shape(query)
    for condition in query.where:
        _check_condition(condition, table.columns[condition.column])
    if query.measure:
        _check_measure(query.measure, table)
    by = query.order.column if query.order else None
    if by is not None and table.columns[by].kind is Kind.TEXT:
        raise InvalidQuery("text has no order")
    return query


def _columns_of(query: TableQuery) -> list[int]:
    found = [*query.select, *(condition.column for condition in query.where)]
    found += [query.group_by] if query.group_by is not None else []
    found += [query.measure.column] if query.measure and query.measure.column is not None else []
    found += [query.order.column] if query.order and query.order.column is not None else []
    return found


def _check_shape(query: TableQuery) -> None:
    if not query.select and query.measure is None:
        raise InvalidQuery("nothing is asked for")
    if query.select and query.measure:
        raise InvalidQuery("rows are shown or computed, not both")
    if len(query.select) > MAX_SELECTED or len(query.where) > MAX_CONDITIONS:
        raise InvalidQuery("too many columns or conditions")
    if query.limit is not None and not (query.order and 1 <= query.limit <= MAX_LIMIT):
        raise InvalidQuery("a limit needs an order, and is 1 to 20")
    if query.group_by is not None and query.measure is None:
        raise InvalidQuery("groups need a measure")
    if query.order and query.order.column is None and query.group_by is None:
        raise InvalidQuery("only groups are ordered by their measure")
    if query.order and query.order.column is not None and query.measure is not None:
        raise InvalidQuery("computed rows have no order of their own")


def _check_condition(condition: Condition, column: Column) -> None:
    if not 1 <= len(condition.values) <= MAX_VALUES:
        raise InvalidQuery("a condition needs values, not too many")
    is_bound = condition.compare not in (Compare.IN, Compare.NOT_IN)
    if is_bound and (len(condition.values) != 1 or column.kind is Kind.TEXT):
        raise InvalidQuery("only numbers and dates are compared, each with one value")
    wanted: type = {Kind.NUMBER: Decimal, Kind.DATE: date, Kind.TEXT: str}[column.kind]
    for value in condition.values:
        if not isinstance(value, wanted) or (isinstance(value, Decimal) and not value.is_finite()):
            raise InvalidQuery("a value of another kind than the column's")


def _check_measure(measure: Measure, table: TypedTable) -> None:
    if measure.column is None:
        if measure.aggregate is not Aggregate.COUNT:
            raise InvalidQuery("only rows are counted without a column")
        return
    column = table.columns[measure.column]
    if measure.aggregate in (Aggregate.MIN, Aggregate.MAX) and column.kind is Kind.TEXT:
        raise InvalidQuery("text has no order")
    if measure.aggregate is Aggregate.SUM and (not column.adds_up or table.has_parts):
        raise InvalidQuery("this column does not add up")
    if measure.aggregate is Aggregate.AVERAGE and (
        column.kind is not Kind.NUMBER
        or column.is_label
        or column.is_rate
        or column.is_merged
        or table.has_parts
    ):
        raise InvalidQuery("an average of this column says nothing")


# --- from a model -------------------------------------------------------------------------------------------


def query_from_json(data: Mapping[str, Any], table: TypedTable) -> TableQuery:
    """The query that a model wrote as JSON, by the columns' names and the cells' texts.

    {"select": [name], "where": [{"column": name, "compare": word, "values": [text]}], "measure": {"aggregate": word,
    "column": name}, "group_by": name, "order": {"column": name, "descending": true}, "limit": 3}; all but one of select
    and measure may be missing. Raises InvalidQuery for whatever is not exactly that, or not in the table.
    """
    try:
        query = TableQuery(
            select=tuple(_column(name, table).index for name in _list(data.get("select"))),
            where=tuple(_condition(item, table) for item in _list(data.get("where"))),
            measure=_measure(data.get("measure"), table),
            group_by=_optional_column(data.get("group_by"), table),
            order=_order(data.get("order"), table),
            limit=_limit(data.get("limit")),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidQuery("not of the form that was asked for") from error
    return checked(query, table)


def _list(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidQuery("a list was asked for")
    return value


def _column(name: Any, table: TypedTable) -> Column:
    found = [column for column in table.columns if name and name in (column.name, column.full_name)]
    if len(found) != 1:
        raise InvalidQuery("no such column, or several")
    return found[0]


def _optional_column(name: Any, table: TypedTable) -> int | None:
    return None if name is None else _column(name, table).index


def _condition(data: Any, table: TypedTable) -> Condition:
    column = _column(data["column"], table)
    compare = Compare(data["compare"])
    values = tuple(_operand(value, column) for value in _list(data["values"]))
    if compare in (Compare.IN, Compare.NOT_IN):
        held = {row.values[column.index] for row in table.rows}
        if not set(values) <= held:
            raise InvalidQuery("no cell says that")
    return Condition(column=column.index, compare=compare, values=values)


def _operand(value: Any, column: Column) -> Operand:
    text = str(value)[:_LONGEST_VALUE]
    if column.kind is Kind.TEXT:
        return text
    if column.kind is Kind.DATE:
        return date.fromisoformat(text)
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise InvalidQuery("not a number") from error


def _measure(data: Any, table: TypedTable) -> Measure | None:
    if data is None:
        return None
    return Measure(aggregate=Aggregate(data["aggregate"]), column=_optional_column(data.get("column"), table))


def _order(data: Any, table: TypedTable) -> Order | None:
    if data is None:
        return None
    descending = data["descending"]
    if not isinstance(descending, bool):
        raise InvalidQuery("descending is true or false")
    return Order(column=_optional_column(data.get("column"), table), descending=descending)


def _limit(value: Any) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise InvalidQuery("a limit is a whole number")
    return value
