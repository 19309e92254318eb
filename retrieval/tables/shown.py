"""Values and results of table questions as sentences, in the question's language, numbers written as the table writes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from retrieval.tables.cells import SCALES
from retrieval.tables.plan import Aggregate, Compare, Condition, Operand, TableQuery
from retrieval.tables.run import Line, Outcome
from retrieval.tables.typed import Column, Kind, Row, TypedTable

MAX_NAMED = 12
MAX_SHOWN_ROWS = 20
_SIGNS = {Compare.GREATER: ">", Compare.AT_LEAST: "≥", Compare.LESS: "<", Compare.AT_MOST: "≤", Compare.IN: "=", Compare.NOT_IN: "≠"}  # fmt: skip
_AVERAGE_DECIMALS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """sentence: the answer. how: what was computed over how many rows. head, rows: the table to show, at most 20 rows."""

    sentence: str
    how: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def describe(query: TableQuery, outcome: Outcome, table: TypedTable) -> Computed:
    """Everything to be said of a result, in the active language."""
    if query.group_by is not None:
        return _groups(query, outcome, table)
    if query.measure:
        return _measured(query, outcome, table)
    return _rows(query, outcome, table)


def value_text(column: Column, value: Decimal | date | None, *, decimals: int | None = None) -> str:
    """A value as the column's cells are written: separators, scale, currency and unit."""
    if value is None:
        return "–"
    if isinstance(value, date):
        return {"day": value.isoformat(), "month": f"{value:%Y-%m}", "year": str(value.year)}[
            column.precision
        ]
    factor = SCALES.get(column.scale.lower(), Decimal(1)) if column.scale else Decimal(1)
    places = column.decimals if decimals is None else decimals
    number = (value / factor).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
    text = f"{number:,f}" if column.has_separators else f"{number:f}"
    unit = column.unit or column.scale
    if column.unit and column.scale and not column.unit.lower().startswith(column.scale.lower()):
        unit = f"{column.scale}{column.unit}"
    gap = " " if unit and unit[0].isascii() and unit[0].isalpha() else ""
    sign, number_text = ("-", text[1:]) if text.startswith("-") else ("", text)
    currency = (
        f"{column.currency} " if column.currency.isalpha() and column.currency.isascii() else column.currency
    )
    return f"{sign}{currency}{number_text}{gap}{unit}"


# --- rows ---------------------------------------------------------------------------------------------------


def _rows(query: TableQuery, outcome: Outcome, table: TypedTable) -> Computed:
    column = table.columns[query.select[0]]
    found = [table.rows[number] for number in outcome.rows]
    names = list(dict.fromkeys(_cell(row, column) for row in found))
    if query.order is not None and query.order.column is not None:
        by = table.columns[query.order.column]
        pairs = [(_cell(row, column), _cell(row, by)) for row in found]
        sentence = _first(by.name, pairs, query, table)
    else:
        sentence = _("%(column)s (%(conditions)s): %(values)s") % {
            "column": column.name,
            "conditions": conditions_text(query.where, table),
            "values": _listed(names),
        }
    shown = tuple(
        tuple(row.texts[index] for index in range(min(len(table.columns), MAX_NAMED)))
        for row in found[:MAX_SHOWN_ROWS]
    )
    head = tuple(one.full_name for one in table.columns[:MAX_NAMED])
    return Computed(sentence=sentence, how=_row_count(len(found), table), head=head, rows=shown)


def _cell(row: Row, column: Column) -> str:
    """A cell as it is written, with the unit that stands in the head."""
    value = row.values[column.index]
    is_bare = column.unit != "" and row.texts[column.index].strip()[-1:].isdecimal()
    if column.kind is Kind.NUMBER and isinstance(value, Decimal) and is_bare:
        return value_text(column, value)
    return " ".join(row.texts[column.index].split())


def _first(measure: str, pairs: Sequence[tuple[str, str]], query: TableQuery, table: TypedTable) -> str:
    """Who is first: one, or several with what each has."""
    assert query.order is not None  # noqa: S101 the callers have looked
    words = {"measure": measure, "where": _where(query.where, table)}
    is_date = query.order.column is not None and table.columns[query.order.column].kind is Kind.DATE
    if len({value for _name, value in pairs}) == 1:
        words |= {"names": _listed([name for name, _value in pairs]), "value": pairs[0][1]}
        if is_date and query.order.descending:
            return _("The latest %(measure)s%(where)s: %(names)s, %(value)s") % words
        if is_date:
            return _("The earliest %(measure)s%(where)s: %(names)s, %(value)s") % words
        if query.order.descending:
            return _("The highest %(measure)s%(where)s: %(names)s, %(value)s") % words
        return _("The lowest %(measure)s%(where)s: %(names)s, %(value)s") % words
    words["pairs"] = _listed(
        [_("%(name)s (%(value)s)") % {"name": name, "value": value} for name, value in pairs]
    )
    if query.order.descending:
        return _("In descending order of %(measure)s%(where)s: %(pairs)s") % words
    return _("In ascending order of %(measure)s%(where)s: %(pairs)s") % words


# --- computed -----------------------------------------------------------------------------------------------


def _measured(query: TableQuery, outcome: Outcome, table: TypedTable) -> Computed:
    name = measure_text(query, table)
    value = _line_value(outcome.lines[0], query, table)
    sentence = _("%(measure)s%(where)s: %(value)s") % {
        "measure": name,
        "where": _where(query.where, table),
        "value": value,
    }
    return Computed(
        sentence=sentence, how=_row_count(len(outcome.rows), table), head=(name,), rows=((value,),)
    )


def _groups(query: TableQuery, outcome: Outcome, table: TypedTable) -> Computed:
    assert query.group_by is not None  # noqa: S101 the caller has looked
    name, group = measure_text(query, table), table.columns[query.group_by]
    pairs = [(_key(line, group), _line_value(line, query, table)) for line in outcome.lines]
    if query.order is not None:
        sentence = _first(name, pairs[:MAX_NAMED], query, table)
    else:
        sentence = _("%(measure)s by %(group)s%(where)s: %(pairs)s") % {
            "measure": name,
            "group": group.full_name,
            "where": _where(query.where, table),
            "pairs": _listed(
                [_("%(name)s (%(value)s)") % {"name": key, "value": value} for key, value in pairs]
            ),
        }
    return Computed(
        sentence=sentence,
        how=_row_count(len(outcome.rows), table),
        head=(group.full_name, name),
        rows=tuple(pairs[:MAX_SHOWN_ROWS]),
    )


def measure_text(query: TableQuery, table: TypedTable) -> str:
    """What is computed, in words."""
    assert query.measure is not None  # noqa: S101 the callers have looked
    if query.measure.column is None:
        return _("Number of rows")
    words = {"column": table.columns[query.measure.column].name}
    return {
        Aggregate.COUNT: _("Number of rows with %(column)s"),
        Aggregate.DISTINCT: _("Number of different values of %(column)s"),
        Aggregate.SUM: _("Sum of %(column)s"),
        Aggregate.AVERAGE: _("Average of %(column)s"),
        Aggregate.MIN: _("Lowest %(column)s"),
        Aggregate.MAX: _("Highest %(column)s"),
    }[query.measure.aggregate] % words


def _line_value(line: Line, query: TableQuery, table: TypedTable) -> str:
    measure = query.measure
    if (
        measure is None
        or measure.column is None
        or measure.aggregate in (Aggregate.COUNT, Aggregate.DISTINCT)
    ):
        return f"{line.value:f}" if isinstance(line.value, Decimal) else "0"
    column = table.columns[measure.column]
    is_average = measure.aggregate is Aggregate.AVERAGE
    return value_text(
        column, line.value, decimals=max(column.decimals, _AVERAGE_DECIMALS) if is_average else None
    )


def _key(line: Line, group: Column) -> str:
    if line.key is None or group.kind is Kind.TEXT:
        return line.key or ""
    value = date.fromisoformat(line.key) if group.kind is Kind.DATE else Decimal(line.key)
    return value_text(group, value)


# --- words --------------------------------------------------------------------------------------------------


def conditions_text(conditions: Sequence[Condition], table: TypedTable) -> str:
    """The conditions as they were understood: 「地区 = 华东, 日期 ≥ 2023-01-01」."""
    said = []
    left = list(conditions)
    while left:
        condition = left.pop(0)
        if left and (year := _year_of(condition, left[0])):
            left.pop(0)
            said.append(f"{table.columns[condition.column].name} = {year}")
            continue
        column = table.columns[condition.column]
        values = " / ".join(_operand(value, column) for value in condition.values[:MAX_NAMED])
        said.append(f"{column.name} {_SIGNS[condition.compare]} {values}")
    return _(", ").join(said)


def _year_of(lower: Condition, upper: Condition) -> int | None:
    """The year that two bounds of a column stand for."""
    if lower.column != upper.column or (lower.compare, upper.compare) != (Compare.AT_LEAST, Compare.LESS):
        return None
    start, end = lower.values[0], upper.values[0]
    is_year = (
        isinstance(start, date) and (start.month, start.day) == (1, 1) and end == date(start.year + 1, 1, 1)
    )
    return start.year if is_year and isinstance(start, date) else None


def _operand(value: Operand, column: Column) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, date):
        return value.isoformat()
    return value_text(
        column,
        value,
        decimals=max(column.decimals, -int(value.normalize().as_tuple().exponent))
        if column.scale == ""
        else None,
    )


def _where(conditions: Sequence[Condition], table: TypedTable) -> str:
    return _(" (%(conditions)s)") % {"conditions": conditions_text(conditions, table)} if conditions else ""


def _listed(texts: Sequence[str]) -> str:
    shown = _(", ").join(texts[:MAX_NAMED])
    left = len(texts) - MAX_NAMED
    more = ngettext(" and %(count)d more", " and %(count)d more", left) % {"count": left}
    return shown + more if left > 0 else shown


def _row_count(count: int, table: TypedTable) -> str:
    words = {"count": count, "all": len(table.rows), "title": table.title}
    if table.totals:
        return (
            _(
                "Computed from %(count)d of the %(all)d rows of the table “%(title)s”, without its rows of totals."
            )
            % words
        )
    return _("Computed from %(count)d of the %(all)d rows of the table “%(title)s”.") % words
