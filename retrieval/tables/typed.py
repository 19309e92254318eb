"""A stored table with typed columns: what each column holds, which rows are totals and stay out of sums. Pure.

A column is numbers or dates only if nearly all that it says can be read so, in one unit; else it is text.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import StrEnum
from itertools import groupby

from retrieval.tables.cells import (
    SCALES,
    Day,
    Number,
    clean,
    read_day,
    read_number,
    read_year,
    says_nothing,
)

MAX_COLUMNS, MAX_ROWS, MAX_CELLS = 300, 20_000, 200_000
MAX_NAME = 120
_READABLE_SHARE = 0.9
_SAMPLE = 200  # cells that decide whether a column is worth reading as numbers or dates
_FEWEST = 3  # rows above one that sums them up
_TOTAL = re.compile(
    r"(?:grand |sub-?|overall |all )?totals?(?: .{0,30})?|.{1,30} (?:sub)?totals?|sum|average|avg\.?|mean|median|overall|world(?:wide)?|"
    r".{0,12}(?:合计|总计|小计|共计|总和|汇总|平均值?|均值|累计)|总数|全部|全国|全球|世界|合\s?计|总\s?计|小\s?计",
    re.IGNORECASE,
)
_PART = re.compile(r"(?:其中|of which|including|thereof)\b|^其中", re.IGNORECASE)
_IN_BRACKETS = re.compile(
    r"^(?P<name>.+?)\s*[(\[【（](?P<inside>[^()\[\]【】（）]{1,20})[)\]】）]$", re.DOTALL
)
_HEAD_UNIT = re.compile(
    r"(?:单位[:：]\s?)?(?P<unit>(?P<scale>万亿|千万|百万|万|亿|千)?(?:元|美元|人民币|人|人次|个|台|件|套|辆|户|吨|米|公里|平方米|公顷|亩|股|家|只|份|小时|天|次)?"
    r"|%|％|‰|℃|[km]?g|[kcm]?m|km/h|km²|m²|sq ?km|sq ?mi|h|s|ms|hours?|days?|years?|months?|minutes?|seconds?|usd|eur|gbp|cny|rmb|us\$|[$€£¥]|"
    r"(?:(?:in |us)?[$€£¥]? ?)?(?P<word>thousands?|millions?|billions?|mn|bn)(?: (?:usd|eur|cny|rmb))?)",
    re.IGNORECASE,
)
_YEAR_NAME = re.compile(r"\b(?:years?|seasons?|date|since|founded|established|opened|built|born|released?)\b|年|日期|时间|届", re.IGNORECASE)  # fmt: skip
# Numbers that name or rank things: adding them up says nothing.
_NAMES_THINGS = re.compile(
    r"^(?:#|№|no\.?|nos?\.?|nr\.?|id|s/?n|code|number|index|rank(?:ing)?|pos(?:ition)?\.?|place|year|season|week|round|grid|phone|tel|zip|"
    r"lat(?:itude)?|long(?:itude)?|.* (?:id|no\.?|code|rank|number)|序号|编号|编码|代码|号码|工号|学号|行号|项次|排名|名次|位次|年份|年度|年|届|电话|手机号?|邮编|.*(?:编号|编码|号|号码|代码|电话|排名))$",
    re.IGNORECASE,
)
# Neither sums nor averages of these say anything; of the second kind no sums do.
_RATE = re.compile(r"率|占比|比例|百分比|均价|平均|\brate\b|\bshare\b|\bpercent|\bratio\b|\bavg\b|\baverage\b|\bper\b|\bpct\b|%", re.IGNORECASE)  # fmt: skip
_LEVEL = re.compile(r"单价|价格|标准|限额|上限|下限|年龄|温度|身高|体重|高度|\bprice\b|\bage\b|\bheight\b|\bweight\b|\btemperature\b|\belevation\b", re.IGNORECASE)  # fmt: skip


class Kind(StrEnum):
    NUMBER = "number"
    DATE = "date"
    TEXT = "text"


Value = Decimal | date | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """One row as it is stored: the element that holds it, and its place among that element's rows."""

    element: int
    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTable:
    """A table put together again from its parts. merged: columns with cells that reach over several rows."""

    header: tuple[tuple[str, ...], ...]
    rows: tuple[SourceRow, ...]
    title: str = ""
    around: tuple[str, ...] = ()
    merged: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """name: with the unit taken off. unit, currency, scale, decimals, has_separators: how its numbers are written.

    adds_up: whether a sum of it means something; averages
    of rates do not either. precision: of dates. is_label: its numbers name or rank.
    """

    index: int
    name: str
    full_name: str
    kind: Kind
    unit: str = ""
    currency: str = ""
    scale: str = ""
    decimals: int = 0
    has_separators: bool = False
    precision: str = "day"
    adds_up: bool = False
    is_rate: bool = False
    is_label: bool = False
    is_merged: bool = False
    is_unique: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """texts: as written. values: Decimal, date, cleaned text or None, by column. unread: columns that could not be read."""

    number: int
    source: SourceRow
    values: tuple[Value, ...]
    unread: frozenset[int] = frozenset()

    @property
    def texts(self) -> tuple[str, ...]:
        return self.source.cells


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedTable:
    """rows: without totals and lines that are one merged cell; `totals` are those left out. has_parts: some rows are
    contained in others ("of which"), so that rows must not be added up. has_bands: lines stood between the rows that say
    what follows. index: what `labels` keeps of the cells' words, by the first of them."""

    title: str
    around: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    totals: tuple[SourceRow, ...] = ()
    has_parts: bool = False
    has_bands: bool = False
    index: dict[str, list[tuple[tuple[str, ...], int, str]]] = field(
        default_factory=dict, compare=False, repr=False
    )


def typed_table(raw: RawTable) -> TypedTable | None:
    """None for a table without named columns or rows, or larger than what is queried."""
    width = max((len(row) for row in (*raw.header, *(row.cells for row in raw.rows[:1]))), default=0)
    if not raw.header or not raw.rows or not 1 < width <= MAX_COLUMNS:
        return None
    if len(raw.rows) > MAX_ROWS or width * len(raw.rows) > MAX_CELLS:
        return None
    names, banner = _names(raw.header, width)
    lines = [_filled(row, width) for row in raw.rows]
    said = [row for row in lines if not _repeats_head(row.cells, raw.header)]
    data = [row for row in said if not _is_band(row.cells)]
    totals: list[SourceRow] = []
    kept: list[SourceRow] = []
    for row in data:
        (totals if is_total(row.cells) else kept).append(row)
    if len(kept) > _FEWEST and _sums_up(kept[-1], kept[:-1]):
        totals.append(kept.pop())
    if not kept or not any(names):
        return None
    columns, values = _columns(names, kept, raw.merged)
    rows = tuple(
        Row(
            number=number,
            source=row,
            values=tuple(column[number] for column in values),
            unread=frozenset(
                index
                for index, column in enumerate(values)
                if column[number] is None and not says_nothing(row.cells[index])
            ),
        )
        for number, row in enumerate(kept)
    )
    return TypedTable(
        title=raw.title or banner,
        around=(*raw.around, banner),
        columns=columns,
        rows=rows,
        totals=tuple(totals),
        has_parts=any(_PART.match(clean(row.cells[0])) for row in kept),
        has_bands=len(data) < len(said),
    )


def is_total(cells: Sequence[str]) -> bool:
    """Whether a row sums up others: its first word says so."""
    said = [clean(text) for text in cells[:3] if text.strip() and not text.isdecimal()]
    return any(_TOTAL.fullmatch(text) and read_number(text) is None for text in said[:2])


def _sums_up(last: SourceRow, above: Sequence[SourceRow]) -> bool:
    """Whether a last row without a first name is the sum of the others in half of its numbers, whatever it calls itself."""
    if last.cells[0].strip() and last.cells[0].strip() != last.cells[1].strip():
        return False
    hits = numbers = 0
    for index, text in enumerate(last.cells):
        number = read_number(text)
        if number is None:
            continue
        others = [found.value for row in above if (found := read_number(row.cells[index]))]
        numbers += 1
        hits += len(others) >= _FEWEST and number.value != 0 and sum(others) == number.value
    return hits > 0 and 2 * hits >= numbers


def _is_band(cells: Sequence[str]) -> bool:
    """A line that names what follows: one merged cell, or one text alone in a wide table."""
    said = [text for text in cells if text.strip()]
    is_one = len(set(said)) == 1 and (len(said) == len(cells) or len(said) == 1) and len(cells) > 2
    return is_one and read_number(said[0]) is None and not says_nothing(said[0])


def _repeats_head(cells: tuple[str, ...], header: Sequence[tuple[str, ...]]) -> bool:
    return any(cells[: len(line)] == line for line in header)


def _filled(row: SourceRow, width: int) -> SourceRow:
    if len(row.cells) == width:
        return row
    cells = (*row.cells, *([""] * width))[:width]
    return SourceRow(element=row.element, line=row.line, cells=cells)


# --- heads --------------------------------------------------------------------------------------------------


def _names(header: Sequence[tuple[str, ...]], width: int) -> tuple[list[str], str]:
    """The columns' names, the storeys of a head joined; what one merged cell says above all is a banner instead."""
    storeys = [[clean(text)[:MAX_NAME] for text in (*line, *([""] * width))[:width]] for line in header]
    banner = ""
    while len(storeys) > 1 and len(set(storeys[0])) == 1:
        banner = " ".join(filter(None, (banner, storeys.pop(0)[0])))
    names = []
    for parts in zip(*storeys, strict=True):
        names.append(" / ".join(part for part, _same in groupby(part for part in parts if part)))
    return names, banner


def _head_unit(name: str) -> tuple[str, str, str]:
    """(name, unit, scale) of `Sales (10k)` and 「销售额（万元）」; the unit as it is written."""
    match = _IN_BRACKETS.match(name)
    unit = _HEAD_UNIT.fullmatch(match["inside"].strip()) if match else None
    if match is None or unit is None or not unit["unit"]:
        return name, "", ""
    word = (unit["word"] or "").lower().removesuffix("s")
    return match["name"], unit["unit"], unit["scale"] or word


# --- columns ------------------------------------------------------------------------------------------------


def _columns(
    names: Sequence[str], rows: Sequence[SourceRow], merged: frozenset[int]
) -> tuple[tuple[Column, ...], list[list[Value]]]:
    columns, values = [], []
    for index, name in enumerate(names):
        column, read = _column(index, name, [row.cells[index] for row in rows], index in merged)
        columns.append(column)
        values.append(read)
    return tuple(columns), values


def _column(index: int, full_name: str, texts: Sequence[str], is_merged: bool) -> tuple[Column, list[Value]]:
    name, unit, scale = _head_unit(full_name)
    days = _days(full_name, texts)
    if days is not None:
        precision = Counter(day.precision for day in days if day).most_common(1)[0][0]
        dates: list[Value] = [day.first if day else None for day in days]
        return (
            Column(
                index=index, name=full_name, full_name=full_name, kind=Kind.DATE, precision=precision,
                is_merged=is_merged, is_unique=_is_unique(dates), is_label=True,
            ),
            dates,
        )  # fmt: skip
    numbers = _numbers(texts)
    if _are_numbers(numbers, texts):
        return _number_column(index, (name, full_name, unit, scale), numbers, is_merged)
    said: list[Value] = [None if not text.strip() else clean(text) for text in texts]
    column = Column(
        index=index,
        name=full_name,
        full_name=full_name,
        kind=Kind.TEXT,
        is_label=bool(_NAMES_THINGS.match(full_name)),
        is_merged=is_merged,
        is_unique=_is_unique(said),
    )
    return column, said


def _number_column(
    index: int, named: tuple[str, str, str, str], numbers: Sequence[Number | None], is_merged: bool
) -> tuple[Column, list[Value]]:
    name, full_name, unit, scale = named
    read = [number for number in numbers if number]
    own_scale = Counter(number.scale for number in read if number.scale).most_common(1)
    factor = SCALES.get(scale.lower(), Decimal(1)) if scale and not own_scale else Decimal(1)
    values: list[Value] = [number.value * factor if number else None for number in numbers]
    is_label = bool(_NAMES_THINGS.match(name)) or _counts_up(values)
    is_rate = bool(_RATE.search(full_name)) or any(number.unit in {"%", "‰"} for number in read)
    years = all(
        number.decimals == 0 and 1500 <= number.value < 2200 and not number.has_separators for number in read
    )
    column = Column(
        index=index,
        name=name,
        full_name=full_name,
        kind=Kind.NUMBER,
        unit=unit or next((number.unit for number in read if number.unit), ""),
        currency=next((number.currency for number in read if number.currency), ""),
        scale=scale if factor != 1 else own_scale[0][0] if own_scale else "",
        decimals=max(number.decimals for number in read),
        has_separators=any(number.has_separators for number in read),
        adds_up=not (is_label or is_rate or years or is_merged or _LEVEL.search(full_name)),
        is_rate=is_rate,
        is_label=is_label or years,
        is_merged=is_merged,
        is_unique=_is_unique(values),
    )
    return column, values


def _numbers(texts: Sequence[str]) -> list[Number | None]:
    """The cells as numbers; nothing where most of the first ones are something else."""
    said = [text for text in texts[:_SAMPLE] if not says_nothing(text)]
    if said and 2 * sum(read_number(text) is not None for text in said) < len(said):
        return []
    return [None if says_nothing(text) else read_number(text) for text in texts]


def _are_numbers(numbers: Sequence[Number | None], texts: Sequence[str]) -> bool:
    """Nearly all cells are numbers, in one unit and one currency."""
    read = [number for number in numbers if number]
    if not read or len(read) < _READABLE_SHARE * sum(not says_nothing(text) for text in texts):
        return False
    units, currencies = {number.unit for number in read}, {number.currency for number in read}
    is_share = bool(units & {"%", "‰"})
    return len(units - {""}) <= 1 and len(currencies - {""}) <= 1 and not (is_share and len(units) > 1)


def _days(name: str, texts: Sequence[str]) -> list[Day | None] | None:
    """The column as dates, or None when it is not one. Bare years need a name that says what they are."""
    said = [text for text in texts if not says_nothing(text)]
    if not said:
        return None
    if not any(read_day(text) or read_year(text) for text in said[:_SAMPLE]):
        return None
    read = read_year if _YEAR_NAME.search(name) and all(read_year(text) for text in said) else read_day
    days = [None if says_nothing(text) else read(text) for text in texts]
    found = sum(day is not None for day in days)
    precisions = {day.precision for day in days if day}
    return days if found and found >= _READABLE_SHARE * len(said) and len(precisions) == 1 else None


def _is_unique(values: Sequence[Value]) -> bool:
    said = [value for value in values if value is not None]
    return len(set(said)) == len(said) > 0


def _counts_up(values: Sequence[Value]) -> bool:
    """1, 2, 3, …: numbers of rows."""
    return len(values) > 2 and all(value == number for number, value in enumerate(values, start=1))
