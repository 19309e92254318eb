"""A question as a query over one table, by rules, in Chinese and English: start reading at `read_question`.

Precision before recall: every word must be explained, every role filled in one way, and readings that could give two
different numbers are no reading.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal

from retrieval.tables.cells import SCALES
from retrieval.tables.labels import (
    Ambiguous,
    Amount,
    Context,
    Held,
    Label,
    Meaning,
    Period,
    Unknown,
    label,
)
from retrieval.tables.lexicon import Cue
from retrieval.tables.matching import is_listed_in, leaders, meets_all, names_several
from retrieval.tables.plan import (
    MAX_LIMIT,
    Aggregate,
    Compare,
    Condition,
    InvalidQuery,
    Measure,
    Operand,
    Order,
    TableQuery,
    checked,
)
from retrieval.tables.typed import Column, Kind, Row, TypedTable
from retrieval.tables.words import keys_of

MAX_LISTED = 20
_BOUNDS = {
    Cue.GREATER: Compare.GREATER,
    Cue.AT_LEAST: Compare.AT_LEAST,
    Cue.LESS: Compare.LESS,
    Cue.AT_MOST: Compare.AT_MOST,
}
_AFTERWARDS = {Cue.OR_MORE: Compare.AT_LEAST, Cue.OR_LESS: Compare.AT_MOST}
_EXTREMES = {
    Cue.MOST: True,
    Cue.MORE: True,
    Cue.LATEST: True,
    Cue.LEAST: False,
    Cue.FEWER: False,
    Cue.EARLIEST: False,
    Cue.FIRST: False,
    Cue.LAST: True,
}
_NAMES_PEOPLE = re.compile(r"^(?:姓名|名字|员工|人员|员工姓名|学生|学生姓名|full name|name|employee(?: name)?|person|student(?: name)?)$", re.IGNORECASE)  # fmt: skip
_COUNTS_PEOPLE = re.compile(r"人数|人次|\bpeople\b|\bpersons\b|head ?count|\(人\)", re.IGNORECASE)
_RELATIONS = (Cue.BEFORE, Cue.AFTER, Cue.SINCE)
_VERBS = {
    "won": "win",
    "sold": "sale",
    "sell": "sale",
    "played": "play",
    "cost": "cost",
    "lost": "loss",
    "spent": "spend",
}
_COUNTED_BY = ("most", "the", "least")  # with these, what there is most of is named behind, or rows are meant
_ASKING = (Cue.WHICH, Cue.WHO, Cue.WHEN, Cue.LIST, Cue.HOW_MUCH)


class _NotUnderstood(Exception):
    """No single reading."""


def read_question(question: str, table: TypedTable, *, context: Iterable[str] = ()) -> TableQuery | None:
    """What is asked of the table, or None whenever that is not certain.

    context: titles that are known to be about the table, such as its document's; their words need no explanation.
    """
    try:
        labels = label(question, table, context=context)
        if any(isinstance(found.meaning, Unknown) for found in labels):
            return None
        return checked(_Reading(table=table, items=list(labels), asked=tuple(labels)).query(), table)
    except (Ambiguous, _NotUnderstood, InvalidQuery):
        return None


@dataclass(slots=True, kw_only=True)
class _Reading:
    """The labels of one question while their roles are found; what has got its role is taken out of `items`."""

    table: TypedTable
    items: list[Label]
    asked: tuple[Label, ...] = ()
    where: list[Condition] = field(default_factory=list)

    def query(self) -> TableQuery:
        self._take_limits()
        self._take_comparisons()
        self._take_values()
        self._read_top()
        if found := self._extreme():
            return self._superlative(found)
        self.items = [
            replace(item, meaning=Cue.HOW_MANY) if item.meaning is Cue.NUMBER_OF else item
            for item in self.items
        ]
        if self._has(Cue.HOW_MANY, Cue.PEOPLE):
            return self._count()
        if self._has(Cue.TIMES):
            return self._times()
        if self._has(Cue.SUM, Cue.AVERAGE):
            return self._aggregate()
        if self._has(*_ASKING) or not any(isinstance(item.meaning, Cue) for item in self.items):
            return self._look_up()
        raise _NotUnderstood

    # --- what is there --------------------------------------------------------------------------------------

    def _has(self, *cues: Cue) -> bool:
        return any(item.meaning in cues for item in self.items if isinstance(item.meaning, Cue))

    def _drop(self, *cues: Cue) -> None:
        self.items = [i for i in self.items if not (isinstance(i.meaning, Cue) and i.meaning in cues)]

    def _drop_verbs(self, what: Column | None) -> None:
        """Verbs go with the numbers they are about; "won" beside a column of wins that is not asked for may mean either."""
        verbs = {_VERBS.get(item.text, item.text) for item in self.items if item.meaning is Cue.DOES}
        stems = {key for verb in verbs for key in keys_of(verb)}
        if any(stems & set(keys_of(column.name)) for column in self.table.columns if column is not what):
            raise _NotUnderstood
        self._drop(Cue.DOES)

    def _place(self, *cues: Cue) -> int:
        return next(
            n for n, item in enumerate(self.items) if isinstance(item.meaning, Cue) and item.meaning in cues
        )

    def _at(self, place: int) -> Meaning | None:
        return self.items[place].meaning if 0 <= place < len(self.items) else None

    def _columns(self) -> list[Column]:
        """Columns that are named and have no role yet, each once."""
        return list(dict.fromkeys(item.meaning for item in self.items if isinstance(item.meaning, Column)))

    def _only(self, *kinds: type) -> None:
        """Nothing may be left but what is of these kinds. Cues and columns must have been dropped by then."""
        if any(not isinstance(item.meaning, kinds) for item in self.items):
            raise _NotUnderstood

    def _rows(self) -> list[Row]:
        """The rows that meet the conditions; what one of them says must have been read."""
        asked = {condition.column for condition in self.where}
        if any(row.unread & asked for row in self.table.rows):
            raise _NotUnderstood
        return [row for row in self.table.rows if meets_all(row, self.where)]

    def _read_top(self) -> None:
        """「金额前3的订单」: the first ones are those with the most."""
        for n, item in enumerate(self.items):
            before = self._at(n - 1) if n else None
            is_measure = isinstance(before, Column) and before.kind is Kind.NUMBER
            if item.meaning is Cue.TOP and is_measure and not self._has(*_EXTREMES):
                self.items.insert(n, replace(item, meaning=Cue.MOST, text="前"))
                return

    # --- conditions -----------------------------------------------------------------------------------------

    def _take_limits(self) -> None:
        """「前3名」 and "top 3": the number belongs to the word, which is then a limit."""
        for n, item in enumerate(self.items[:-1]):
            after = self.items[n + 1].meaning
            if item.meaning is Cue.TOP and isinstance(after, Amount):
                self.items[n + 1] = replace(self.items[n + 1], meaning=after)
                return

    def _take_comparisons(self) -> None:
        n = 0
        while n < len(self.items):
            taken = self._between(n) or self._bound(n) or self._dated(n)
            n = 0 if taken else n + 1

    def _between(self, n: int) -> bool:
        """between A and B, A 到 B 之间."""
        if self._at(n) is Cue.BETWEEN and isinstance(self._at(n + 1), Amount | Period):
            first, second, width = self._at(n + 1), self._at(n + 2), 3
        elif isinstance(self._at(n), Amount | Period) and self._at(n + 1) is Cue.BETWEEN:
            first, second, width = self._at(n), self._at(n + 2), 3
        else:
            return False
        if self._at(n + 2) is Cue.BETWEEN:
            second, width = self._at(n + 3), 4
        if self._at(n + width) is Cue.BETWEEN:
            width += 1
        if isinstance(first, Amount) and isinstance(second, Amount):
            column, start, end = self._number_near(n, n + width)
            low, high = _counted(first, column), _counted(second, column)
            self._add(column, Compare.AT_LEAST, low)
            self._add(column, Compare.AT_MOST, high)
        elif isinstance(first, Period) and isinstance(second, Period):
            column, start, end = self._date_near(n, n + width)
            self._add(column, Compare.AT_LEAST, first.first)
            self._add(column, Compare.LESS, second.after)
        else:
            raise _NotUnderstood
        del self.items[start:end]
        return True

    def _bound(self, n: int) -> bool:
        """more than 5 goals, goals above 5, 5 or more goals, 超过5."""
        cue, after = self._at(n), self._at(n + 1)
        if isinstance(cue, Cue) and cue in _BOUNDS and isinstance(after, Amount):
            compare, amount, width = _BOUNDS[cue], after, 2
        elif isinstance(cue, Amount) and isinstance(after, Cue) and after in _AFTERWARDS:
            compare, amount, width = _AFTERWARDS[after], cue, 2
        else:
            return False
        column, start, end = self._number_near(n, n + width)
        self._add(column, compare, _counted(amount, column))
        behind = self._at(end)
        if isinstance(behind, Cue) and _AFTERWARDS.get(behind) is compare:
            end += 1  # "at least 10 points or more"
        del self.items[start:end]
        return True

    def _dated(self, n: int) -> bool:
        """in 2023, before May 2023, 2023年以后."""
        when, beside = self._at(n), self._at(n - 1) if n else None
        if not isinstance(when, Period):
            return False
        start, end = n, n + 1
        relation = Cue.STOP
        behind = self._at(n + 1)
        if isinstance(beside, Cue) and beside in _RELATIONS:
            relation, start = beside, n - 1
        elif isinstance(behind, Cue) and behind in _RELATIONS:
            relation, end = behind, n + 2
        elif isinstance(beside, Cue) and (beside in _BOUNDS or beside is Cue.TOP):
            return self._year_as_number(n)
        try:
            column, start, end = self._date_near(start, end)
        except _NotUnderstood:
            return self._year_as_number(n)
        if relation is Cue.BEFORE:
            self._add(column, Compare.LESS, when.first)
        elif relation is Cue.AFTER:
            self._add(column, Compare.AT_LEAST, when.after)
        else:
            self._add(column, Compare.AT_LEAST, when.first)
            if relation is not Cue.SINCE:
                self._add(column, Compare.LESS, when.after)
        del self.items[start:end]
        return True

    def _year_as_number(self, n: int) -> bool:
        """2000 in "more than 2000 people" is no year."""
        when = self._at(n)
        is_year = (
            isinstance(when, Period)
            and (when.first.month, when.first.day) == (1, 1)
            and self.items[n].text.isdigit()
        )
        if not is_year or not isinstance(when, Period):
            raise _NotUnderstood
        self.items[n] = replace(self.items[n], meaning=Amount(value=Decimal(when.first.year)))
        return True

    def _number_near(self, start: int, end: int) -> tuple[Column, int, int]:
        """The column of numbers that a comparison is about: right behind it, right before it, or the only one named."""
        after, before = self._at(end), self._at(start - 1) if start else None
        if isinstance(after, Column) and after.kind is Kind.NUMBER:
            return after, start, end + 1
        if isinstance(before, Column) and before.kind is Kind.NUMBER:
            return before, start - 1, end
        raise _NotUnderstood

    def _date_near(self, start: int, end: int) -> tuple[Column, int, int]:
        """The column of dates beside a period, else the only one that the table has."""
        dates = [column for column in self.table.columns if column.kind is Kind.DATE]
        before = self._at(start - 1) if start else None
        if isinstance(before, Column) and before in dates:
            return before, start - 1, end
        if len(dates) != 1:
            raise _NotUnderstood
        return dates[0], start, end

    def _add(self, column: Column, compare: Compare, *values: Operand) -> None:
        self.where.append(Condition(column=column.index, compare=compare, values=values))

    def _take_values(self) -> None:
        """Cells that the question names: those of one column are alternatives, those of several all must hold."""
        by_column: dict[int, list[str]] = {}
        named: set[int] = set()
        for n, item in enumerate(self.items):
            if not isinstance(item.meaning, Held):
                continue
            column, cells = self._held_in(item.meaning, n)
            by_column.setdefault(column, []).extend(cells)
            named |= {place for place in (n - 1, n + 1) if self._names_its(column, place, n)}
        self.items = [
            item for n, item in enumerate(self.items) if n not in named and not isinstance(item.meaning, Held)
        ]
        for column, values in by_column.items():
            self._refuse_parts(column, values)
            self._add(self.table.columns[column], Compare.IN, *dict.fromkeys(values))
        self._take_numbered()

    def _held_in(self, held: Held, n: int) -> tuple[int, tuple[str, ...]]:
        """The column whose cell is meant: the only one, or the one that is named right beside it."""
        if len(held.by_column) == 1:
            return held.by_column[0]
        for place in (n - 1, n + 1):
            beside = self._at(place) if place >= 0 else None
            for column, values in held.by_column:
                if isinstance(beside, Column) and beside.index == column:
                    return column, values
        raise _NotUnderstood

    def _names_its(self, column: int, place: int, n: int) -> bool:
        """Whether the item beside a cell only says what the cell is: "region East", 「华东地区」."""
        beside = self._at(place) if place >= 0 else None
        asks = self._at(place - 1) if place > 0 else None
        is_asked = place < n and isinstance(asks, Cue) and asks in (*_ASKING, Cue.HOW_MANY, Cue.EACH, Cue.BY)
        return isinstance(beside, Column) and beside.index == column and not is_asked

    def _refuse_parts(self, column: int, values: Sequence[str]) -> None:
        """Other cells that name the same thing among others ("A, B") make it unclear which rows are meant."""
        wanted = set(values)
        for row in self.table.rows:
            said = row.values[column]
            if (
                isinstance(said, str)
                and said not in wanted
                and any(is_listed_in(value, said) for value in values)
            ):
                raise _NotUnderstood

    def _take_numbered(self) -> None:
        """Numbers beside a column of numbers and no operation between: "round 3", "7 draws"."""
        n = 0
        while n < len(self.items):
            amount = self.items[n].meaning
            if not isinstance(amount, Amount) or self._is_limit(n):
                n += 1
                continue
            column, start, end = self._numbered(n)
            self._add(column, Compare.IN, _counted(amount, column))
            del self.items[start:end]
            n = 0

    def _numbered(self, n: int) -> tuple[Column, int, int]:
        before, after = self._at(n - 1) if n else None, self._at(n + 1)
        follows = isinstance(before, Column) and before.kind is Kind.NUMBER
        leads = isinstance(after, Column) and after.kind is Kind.NUMBER
        if isinstance(before, Column) and follows and (before.is_label or not leads):
            return before, n - 1, n + 1
        if isinstance(after, Column) and leads and not follows:
            return after, n, n + 2
        raise _NotUnderstood

    def _is_limit(self, n: int) -> bool:
        """How many are wanted of those with the most: beside "top", or before a column of texts."""
        if not self._has(*_EXTREMES, Cue.TOP):
            return False
        after, before = self._at(n + 1), self._at(n - 1) if n else None
        is_free = before is None or isinstance(before, Cue)  # in "series 10" the number says which
        return before is Cue.TOP or (is_free and isinstance(after, Column) and after.kind is Kind.TEXT)

    # --- superlatives ---------------------------------------------------------------------------------------

    def _extreme(self) -> Cue | None:
        found = [item.meaning for item in self.items if isinstance(item.meaning, Cue)]
        extremes = [cue for cue in found if cue in _EXTREMES]
        if len(extremes) > 1:
            raise _NotUnderstood
        return extremes[0] if extremes else None

    def _superlative(self, cue: Cue) -> TableQuery:
        """Who has the most of something; or what the most is."""
        limit = self._limit()
        starts_with_count = self._at(0) in (Cue.HOW_MANY, Cue.PEOPLE)
        is_total = self._has(Cue.SUM)
        compared = self._compared() if cue in (Cue.MORE, Cue.FEWER) else None
        if starts_with_count or self._has(Cue.AVERAGE, Cue.DISTINCT, Cue.OR, Cue.TIMES):
            raise _NotUnderstood
        self._drop(Cue.HOW_MANY, Cue.HOW_MUCH, Cue.SUM, Cue.EACH)
        place = self._place(cue)
        if found := self._most_often(cue, place, limit):
            return found
        by = self._ordered_by(cue, place)
        asks_when = any(self._at(n) is Cue.WHICH and self._at(n + 1) is by for n in range(place))
        self.items = [item for item in self.items if item.meaning is not by]
        is_value = compared is None and self._asks_for_value(place)
        if by.kind is Kind.DATE:
            if asks_when or self._has(Cue.WHEN):
                is_value = self._asks_only_when()
            elif self._has(Cue.DOES):  # what was first done need not be what the rows are about
                raise _NotUnderstood
            self._drop(Cue.WHEN)
        self._drop_verbs(by)
        who = compared or (None if is_value else self._entity(by))
        self._drop(cue, Cue.WHICH, Cue.WHO, Cue.LIST, Cue.TOP)
        self._only(Context)
        descending = _EXTREMES[cue]
        if is_value:
            self._settled(by)
            aggregate = Aggregate.MAX if descending else Aggregate.MIN
            return TableQuery(where=tuple(self.where), measure=Measure(aggregate=aggregate, column=by.index))
        if who is None:
            raise _NotUnderstood
        return self._most(who, by, descending, limit, is_total=is_total)

    def _compared(self) -> Column:
        """Which has more X, A or B: the column of A and B, which are all that is asked about."""
        pairs = [found for found in self.where if found.compare is Compare.IN and len(found.values) == 2]
        if len(pairs) != 1 or not self._has(Cue.WHICH, Cue.WHO):
            raise _NotUnderstood
        column = self.table.columns[pairs[0].column]
        if {row.values[column.index] for row in self._rows()} != set(pairs[0].values):
            raise _NotUnderstood
        self._drop(Cue.OR)
        self.items = [item for item in self.items if item.meaning is not column]
        return column

    def _limit(self) -> int:
        for n, item in enumerate(self.items):
            if isinstance(item.meaning, Amount):
                if not self._is_limit(n) or not 1 <= item.meaning.value <= MAX_LIMIT:
                    raise _NotUnderstood
                del self.items[n]
                return int(item.meaning.value)
        return 1

    def _ordered_by(self, cue: Cue, place: int) -> Column:
        """What there is most of: named right behind the word, or right before it; dates by themselves."""
        if cue in (Cue.FIRST, Cue.LAST):
            return self._in_order()
        kinds = (Kind.DATE,) if cue in (Cue.LATEST, Cue.EARLIEST) else (Kind.NUMBER,)
        is_behind = self.items[place].text in _COUNTED_BY
        for beside in (self._at(place + 1), self._at(place - 1) if place and not is_behind else None):
            if isinstance(beside, Column) and beside.kind in kinds:
                if beside.kind is Kind.NUMBER and beside.is_label:
                    raise _NotUnderstood  # the highest rank may be the first or the last
                return beside
        if kinds == (Kind.DATE,):
            dates = [column for column in self.table.columns if column.kind is Kind.DATE]
            if len(dates) == 1:
                return dates[0]
        raise _NotUnderstood

    def _in_order(self) -> Column:
        """The dates by which the rows are in order, so that the first in time is the first that is listed too."""
        dates = [column for column in self.table.columns if column.kind is Kind.DATE]
        if len(dates) != 1:
            raise _NotUnderstood
        days = [row.values[dates[0].index] for row in self._rows()]
        said = [day for day in days if isinstance(day, date)]
        if len(said) < len(days) or said != sorted(said) or len({*said[:2]}) < 2 or len({*said[-2:]}) < 2:
            raise _NotUnderstood
        return dates[0]

    def _asks_for_value(self, place: int) -> bool:
        """What the highest X is: no other column is named, and nobody is asked for."""
        before = [item.meaning for item in self.items[:place]]
        return not self._columns() and all(meaning is Cue.WHICH for meaning in before)

    def _asks_only_when(self) -> bool:
        """When the first one was: the date itself, unless what happened then is named and may be any of several things."""
        if self._columns() or self._has(Cue.DOES, Cue.WHO):
            raise _NotUnderstood
        return True

    def _most_often(self, cue: Cue, place: int, limit: int) -> TableQuery | None:
        """Which firm is listed the most: the one with most rows."""
        is_last = place == len(self.items) - 1 or self._at(place + 1) is Cue.ROWS
        columns = self._columns()
        if cue not in (Cue.MOST, Cue.LEAST) or not is_last or self.items[place].text not in _COUNTED_BY:
            return None
        if len(columns) != 1 or columns[0].kind is not Kind.TEXT or columns[0].is_unique:
            raise _NotUnderstood
        self.items = [item for item in self.items if not isinstance(item.meaning, Column)]
        self._drop(cue, Cue.WHICH, Cue.ROWS)
        self._only(Context)
        self._rows()
        return TableQuery(
            where=tuple(self.where),
            measure=Measure(aggregate=Aggregate.COUNT),
            group_by=columns[0].index,
            order=Order(column=None, descending=_EXTREMES[cue]),
            limit=limit,
        )

    def _entity(self, by: Column) -> Column:
        named = [column for column in self._columns() if column != by]
        self.items = [item for item in self.items if not isinstance(item.meaning, Column)]
        if len(named) == 2 and named[1].kind is Kind.TEXT and named[1].is_unique:
            named = named[:1]  # "the city of the team with the most points"
        if len(named) == 1:
            return named[0]
        is_told = self._has(Cue.WHO) or any(isinstance(item.meaning, Context) for item in self.items)
        if named or not is_told:
            raise _NotUnderstood
        return self._first_names()

    def _first_names(self) -> Column:
        """Whom the rows are about: the first column of texts, if each row has its own."""
        texts = [column for column in self.table.columns if column.kind is Kind.TEXT and not column.is_label]
        if not texts or not texts[0].is_unique:
            raise _NotUnderstood
        return texts[0]

    def _most(self, who: Column, by: Column, descending: bool, limit: int, *, is_total: bool) -> TableQuery:
        """One row a thing: its row. Several rows a thing: the sum of each, unless single rows would say otherwise."""
        rows = self._settled(by)
        is_single = len({row.values[who.index] for row in rows}) == len(rows) or not by.adds_up
        if is_single and not is_total:
            order = Order(column=by.index, descending=descending)
            return TableQuery(select=_distinct(who, by), where=tuple(self.where), order=order, limit=limit)
        summed = TableQuery(
            where=tuple(self.where),
            measure=Measure(aggregate=Aggregate.SUM, column=by.index),
            group_by=who.index,
            order=Order(column=None, descending=descending),
            limit=limit,
        )
        if is_total:
            return summed
        single, totals = leaders(rows, who, by, descending=descending)
        if not self._is_ledger() and (limit > 1 or single != totals):
            raise _NotUnderstood
        return summed

    def _is_numbered(self) -> bool:
        """Whether the rows are bookings with numbers of their own, so that what else they name comes again and again."""
        return self._is_ledger() and any(
            column.is_unique and column.is_label and column.kind is Kind.TEXT for column in self.table.columns
        )

    def _is_ledger(self) -> bool:
        """Whether rows are bookings that are meant to be added up: with days or numbers of their own, and no other names."""
        unique = [
            column for column in self.table.columns if column.is_unique and column.kind is not Kind.NUMBER
        ]
        has_days = any(column.kind is Kind.DATE for column in self.table.columns)
        return (has_days or bool(unique)) and all(column.is_label for column in unique)

    def _settled(self, by: Column) -> list[Row]:
        """The rows concerned, each of whose cells of that column was read or is empty."""
        rows = self._rows()
        if any(by.index in row.unread for row in rows):
            raise _NotUnderstood
        said = [row for row in rows if row.values[by.index] is not None]
        if not said:
            raise _NotUnderstood
        return said

    # --- counts ---------------------------------------------------------------------------------------------

    def _count(self) -> TableQuery:
        """How many rows or different things; or how much of something there is, where a column says it."""
        group = self._group()
        place = self._place(Cue.HOW_MANY, Cue.PEOPLE)
        is_people = self._at(place) is Cue.PEOPLE
        is_distinct, is_total = self._has(Cue.DISTINCT), self._has(Cue.SUM)
        self._drop(Cue.DISTINCT, Cue.SUM, Cue.HOW_MUCH)
        place = self._place(Cue.HOW_MANY, Cue.PEOPLE)
        if self._at(place + 1) is Cue.PEOPLE:
            del self.items[place]
            is_people = True
        what = self._counted_thing(place)
        if isinstance(what, Column) and what.kind is Kind.NUMBER:
            self.items = [item for item in self.items if item.meaning is not what]
            self._drop_verbs(what)
            self._drop(Cue.HOW_MANY, Cue.WHICH, Cue.LIST)
            self._only(Context)
            return self._amount(what, is_total=is_total)
        self.items = [item for item in self.items if item.meaning is not what]
        has_rows = self._has(Cue.ROWS)
        measured = [c for c in self.where if self.table.columns[c.column].kind is Kind.NUMBER]
        if len({condition.column for condition in measured}) == 1:
            self._drop_verbs(self.table.columns[measured[0].column])
        self._drop(Cue.HOW_MANY, Cue.WHICH, Cue.LIST, Cue.ROWS, Cue.PEOPLE)
        self._only(Context)
        if self.table.has_bands or self.table.has_parts:
            raise _NotUnderstood
        if isinstance(what, Column):
            return self._things(what, group, is_distinct=is_distinct)
        if is_distinct or not (has_rows or (is_people and self._lists_people())):
            raise _NotUnderstood
        return self._row_count(group)

    def _times(self) -> TableQuery:
        """How many rows say something."""
        self._drop(Cue.TIMES, Cue.SUM)
        self._only(Context)
        if not self.where or self.table.has_bands or self.table.has_parts:
            raise _NotUnderstood
        return self._row_count()

    def _counted_thing(self, place: int) -> Column | None:
        """The column right behind "how many", else right before it as in 「产品有多少个」."""
        after, before = self._at(place + 1), self._at(place - 1) if place else None
        behind = self.asked[self.asked.index(self.items[place]) + 1 :][:1]
        if behind and isinstance(behind[0].meaning, Held | Amount | Period):
            raise _NotUnderstood
        for beside in (after, before):
            if isinstance(beside, Column):
                return beside
        return None

    def _amount(self, what: Column, *, is_total: bool) -> TableQuery:
        """How many goals X scored: the one cell that says it, or their sum where a total is asked for."""
        rows = self._settled(what)
        if len(rows) == 1 and self.where:
            return TableQuery(select=(what.index,), where=tuple(self.where))
        if not is_total:
            raise _NotUnderstood
        return TableQuery(
            where=tuple(self.where), measure=Measure(aggregate=Aggregate.SUM, column=what.index)
        )

    def _lists_people(self) -> bool:
        """Whether each row is a person: a column of names says so, and none counts people."""
        counts = any(_COUNTS_PEOPLE.search(column.full_name) for column in self.table.columns)
        return not counts and any(
            _NAMES_PEOPLE.match(c.name) for c in self.table.columns if c.kind is Kind.TEXT
        )

    def _things(self, what: Column, group: Column | None, *, is_distinct: bool) -> TableQuery:
        if any(c.compare is Compare.IN and self.table.columns[c.column].is_unique for c in self.where):
            raise _NotUnderstood  # of one row, "how many" asks for what a cell says
        rows = [row for row in self._rows() if row.values[what.index] is not None]
        different = {row.values[what.index] for row in rows}
        if not rows or (len(different) != len(rows) and not is_distinct and not self._is_numbered()):
            raise _NotUnderstood
        if len({names_several(str(value)) for value in different}) > 1 or (
            len(rows) == 1 and names_several(str(rows[0].values[what.index]))
        ):
            raise _NotUnderstood
        return TableQuery(
            where=tuple(self.where),
            measure=Measure(aggregate=Aggregate.DISTINCT, column=what.index),
            group_by=group.index if group else None,
        )

    def _row_count(self, group: Column | None = None) -> TableQuery:
        if not self._rows():
            raise _NotUnderstood
        return TableQuery(
            where=tuple(self.where),
            measure=Measure(aggregate=Aggregate.COUNT),
            group_by=group.index if group else None,
        )

    # --- sums and averages ----------------------------------------------------------------------------------

    def _aggregate(self) -> TableQuery:
        if self._has(Cue.SUM) and self._has(Cue.AVERAGE):
            raise _NotUnderstood
        aggregate = Aggregate.AVERAGE if self._has(Cue.AVERAGE) else Aggregate.SUM
        group = self._group()
        columns = [column for column in self._columns() if column.kind is Kind.NUMBER]
        if len(columns) != 1:
            raise _NotUnderstood
        (what,) = columns
        self.items = [item for item in self.items if item.meaning is not what]
        self._drop_verbs(what)
        self._drop(Cue.SUM, Cue.AVERAGE, Cue.WHICH, Cue.HOW_MUCH, Cue.LIST)
        self._only(Context)
        self._settled(what)
        return TableQuery(
            where=tuple(self.where),
            measure=Measure(aggregate=aggregate, column=what.index),
            group_by=group.index if group else None,
        )

    def _group(self) -> Column | None:
        """by region, per region, 各地区, 每个地区."""
        for n, item in enumerate(self.items[:-1]):
            after = self.items[n + 1].meaning
            if (
                item.meaning in (Cue.BY, Cue.EACH)
                and isinstance(after, Column)
                and after.kind is not Kind.NUMBER
            ):
                del self.items[n : n + 2]
                return after
        return None

    # --- look-ups -------------------------------------------------------------------------------------------

    def _look_up(self) -> TableQuery:
        """What one column says where others say something."""
        if not self.where or self._has(Cue.DISTINCT, Cue.EACH, Cue.OR, Cue.BY):
            raise _NotUnderstood
        is_list = not self._has(*_ASKING) or any(map(_asks_for_several, self.items))
        what = self._asked_column()
        self.items = [item for item in self.items if not isinstance(item.meaning, Column)]
        self._drop(*_ASKING)
        self._only(Context)
        if any(condition.column == what.index for condition in self.where):
            raise _NotUnderstood
        rows = self._rows()
        said = {row.texts[what.index].strip() for row in rows}
        if not rows or "" in said or len(said) > (MAX_LISTED if is_list else 1):
            raise _NotUnderstood
        return TableQuery(select=(what.index,), where=tuple(self.where))

    def _asked_column(self) -> Column:
        columns = self._columns()
        if len(columns) == 1:
            return columns[0]
        if not columns and self._has(Cue.WHEN):
            dates = [column for column in self.table.columns if column.kind is Kind.DATE]
            if len(dates) == 1:
                return dates[0]
        if not columns and self._has(Cue.WHO):
            return self._first_names()
        raise _NotUnderstood


def _asks_for_several(item: Label) -> bool:
    if isinstance(item.meaning, Column):
        return item.text.endswith("s") and item.text.isascii()
    return item.meaning is Cue.LIST or (item.meaning is Cue.WHO and item.text not in ("who", "谁", "是"))


def _counted(amount: Amount, column: Column) -> Operand:
    """The number as the column counts: a bare one is in the unit that its cells are shown in."""
    if amount.has_scale or not column.scale:
        return amount.value
    return amount.value * SCALES.get(column.scale.lower(), Decimal(1))


def _distinct(*columns: Column) -> tuple[int, ...]:
    return tuple(dict.fromkeys(column.index for column in columns))
