"""A question as a query over one table, by rules, in Chinese and English: start reading at `read_question`.

Precision before recall: every word must be explained, every role filled in one way, and readings that could give two
different numbers are no reading.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import date

from retrieval.tables.conditions import ASKING, EXTREMES, Items, NotUnderstood
from retrieval.tables.labels import (
    Ambiguous,
    Amount,
    Context,
    Held,
    Label,
    Period,
    Unknown,
    label,
)
from retrieval.tables.lexicon import Cue
from retrieval.tables.matching import leaders, names_several
from retrieval.tables.plan import (
    MAX_LIMIT,
    Aggregate,
    Compare,
    InvalidQuery,
    Measure,
    Order,
    TableQuery,
    checked,
)
from retrieval.tables.typed import Column, Kind, Row, TypedTable

MAX_LISTED = 20
_NAMES_PEOPLE = re.compile(r"^(?:姓名|名字|员工|人员|员工姓名|学生|学生姓名|full name|name|employee(?: name)?|person|student(?: name)?)$", re.IGNORECASE)  # fmt: skip
_COUNTS_PEOPLE = re.compile(r"人数|人次|\bpeople\b|\bpersons\b|head ?count|\(人\)", re.IGNORECASE)
_COUNTED_BY = ("most", "the", "least")  # with these, what there is most of is named behind, or rows are meant


def read_question(question: str, table: TypedTable, *, context: Iterable[str] = ()) -> TableQuery | None:
    """What is asked of the table, or None whenever that is not certain.

    context: titles that are known to be about the table, such as its document's; their words need no explanation.
    """
    try:
        labels = label(question, table, context=context)
        if any(isinstance(found.meaning, Unknown) for found in labels):
            return None
        return checked(_Reading(table=table, items=list(labels), asked=tuple(labels)).query(), table)
    except (Ambiguous, NotUnderstood, InvalidQuery):
        return None


class _Reading(Items):
    """The forms of questions: what remains besides the conditions says what is asked for."""

    def query(self) -> TableQuery:
        self.take_conditions()
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
        if self._has(*ASKING) or not any(isinstance(item.meaning, Cue) for item in self.items):
            return self._look_up()
        raise NotUnderstood

    # --- superlatives ---------------------------------------------------------------------------------------

    def _extreme(self) -> Cue | None:
        found = [item.meaning for item in self.items if isinstance(item.meaning, Cue)]
        extremes = [cue for cue in found if cue in EXTREMES]
        if len(extremes) > 1:
            raise NotUnderstood
        return extremes[0] if extremes else None

    def _superlative(self, cue: Cue) -> TableQuery:
        """Who has the most of something; or what the most is."""
        limit = self._limit()
        starts_with_count = self._at(0) in (Cue.HOW_MANY, Cue.PEOPLE)
        is_total = self._has(Cue.SUM)
        compared = self._compared() if cue in (Cue.MORE, Cue.FEWER) else None
        if starts_with_count or self._has(Cue.AVERAGE, Cue.DISTINCT, Cue.OR, Cue.TIMES):
            raise NotUnderstood
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
                raise NotUnderstood
            self._drop(Cue.WHEN)
        self._drop_verbs(by)
        who = compared or (None if is_value else self._entity(by))
        self._drop(cue, Cue.WHICH, Cue.WHO, Cue.LIST, Cue.TOP)
        self._only(Context)
        descending = EXTREMES[cue]
        if is_value:
            self._settled(by)
            aggregate = Aggregate.MAX if descending else Aggregate.MIN
            return TableQuery(where=tuple(self.where), measure=Measure(aggregate=aggregate, column=by.index))
        if who is None:
            raise NotUnderstood
        return self._most(who, by, descending, limit, is_total=is_total)

    def _compared(self) -> Column:
        """Which has more X, A or B: the column of A and B, which are all that is asked about."""
        pairs = [found for found in self.where if found.compare is Compare.IN and len(found.values) == 2]
        if len(pairs) != 1 or not self._has(Cue.WHICH, Cue.WHO):
            raise NotUnderstood
        column = self.table.columns[pairs[0].column]
        if {row.values[column.index] for row in self._rows()} != set(pairs[0].values):
            raise NotUnderstood
        self._drop(Cue.OR)
        self.items = [item for item in self.items if item.meaning is not column]
        return column

    def _limit(self) -> int:
        for n, item in enumerate(self.items):
            if isinstance(item.meaning, Amount):
                if not self._is_limit(n) or not 1 <= item.meaning.value <= MAX_LIMIT:
                    raise NotUnderstood
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
                    raise NotUnderstood  # the highest rank may be the first or the last
                return beside
        if kinds == (Kind.DATE,):
            dates = [column for column in self.table.columns if column.kind is Kind.DATE]
            if len(dates) == 1:
                return dates[0]
        raise NotUnderstood

    def _in_order(self) -> Column:
        """The dates by which the rows are in order, so that the first in time is the first that is listed too."""
        dates = [column for column in self.table.columns if column.kind is Kind.DATE]
        if len(dates) != 1:
            raise NotUnderstood
        days = [row.values[dates[0].index] for row in self._rows()]
        said = [day for day in days if isinstance(day, date)]
        if len(said) < len(days) or said != sorted(said) or len({*said[:2]}) < 2 or len({*said[-2:]}) < 2:
            raise NotUnderstood
        return dates[0]

    def _asks_for_value(self, place: int) -> bool:
        """What the highest X is: no other column is named, and nobody is asked for."""
        before = [item.meaning for item in self.items[:place]]
        return not self._columns() and all(meaning is Cue.WHICH for meaning in before)

    def _asks_only_when(self) -> bool:
        """When the first one was: the date itself, unless what happened then is named and may be any of several things."""
        if self._columns() or self._has(Cue.DOES, Cue.WHO):
            raise NotUnderstood
        return True

    def _most_often(self, cue: Cue, place: int, limit: int) -> TableQuery | None:
        """Which firm is listed the most: the one with most rows."""
        is_last = place == len(self.items) - 1 or self._at(place + 1) is Cue.ROWS
        columns = self._columns()
        if cue not in (Cue.MOST, Cue.LEAST) or not is_last or self.items[place].text not in _COUNTED_BY:
            return None
        if len(columns) != 1 or columns[0].kind is not Kind.TEXT or columns[0].is_unique:
            raise NotUnderstood
        self.items = [item for item in self.items if not isinstance(item.meaning, Column)]
        self._drop(cue, Cue.WHICH, Cue.ROWS)
        self._only(Context)
        self._rows()
        return TableQuery(
            where=tuple(self.where),
            measure=Measure(aggregate=Aggregate.COUNT),
            group_by=columns[0].index,
            order=Order(column=None, descending=EXTREMES[cue]),
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
            raise NotUnderstood
        return self._first_names()

    def _first_names(self) -> Column:
        """Whom the rows are about: the first column of texts, if each row has its own."""
        texts = [column for column in self.table.columns if column.kind is Kind.TEXT and not column.is_label]
        if not texts or not texts[0].is_unique:
            raise NotUnderstood
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
            raise NotUnderstood
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
            raise NotUnderstood
        said = [row for row in rows if row.values[by.index] is not None]
        if not said:
            raise NotUnderstood
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
            raise NotUnderstood
        if isinstance(what, Column):
            return self._things(what, group, is_distinct=is_distinct)
        if is_distinct or not (has_rows or (is_people and self._lists_people())):
            raise NotUnderstood
        return self._row_count(group)

    def _times(self) -> TableQuery:
        """How many rows say something."""
        self._drop(Cue.TIMES, Cue.SUM)
        self._only(Context)
        if not self.where or self.table.has_bands or self.table.has_parts:
            raise NotUnderstood
        return self._row_count()

    def _counted_thing(self, place: int) -> Column | None:
        """The column right behind "how many", else right before it as in 「产品有多少个」."""
        after, before = self._at(place + 1), self._at(place - 1) if place else None
        behind = self.asked[self.asked.index(self.items[place]) + 1 :][:1]
        if behind and isinstance(behind[0].meaning, Held | Amount | Period):
            raise NotUnderstood
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
            raise NotUnderstood
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
            raise NotUnderstood  # of one row, "how many" asks for what a cell says
        rows = [row for row in self._rows() if row.values[what.index] is not None]
        different = {row.values[what.index] for row in rows}
        if not rows or (len(different) != len(rows) and not is_distinct and not self._is_numbered()):
            raise NotUnderstood
        if len({names_several(str(value)) for value in different}) > 1 or (
            len(rows) == 1 and names_several(str(rows[0].values[what.index]))
        ):
            raise NotUnderstood
        return TableQuery(
            where=tuple(self.where),
            measure=Measure(aggregate=Aggregate.DISTINCT, column=what.index),
            group_by=group.index if group else None,
        )

    def _row_count(self, group: Column | None = None) -> TableQuery:
        if not self._rows():
            raise NotUnderstood
        return TableQuery(
            where=tuple(self.where),
            measure=Measure(aggregate=Aggregate.COUNT),
            group_by=group.index if group else None,
        )

    # --- sums and averages ----------------------------------------------------------------------------------

    def _aggregate(self) -> TableQuery:
        if self._has(Cue.SUM) and self._has(Cue.AVERAGE):
            raise NotUnderstood
        aggregate = Aggregate.AVERAGE if self._has(Cue.AVERAGE) else Aggregate.SUM
        group = self._group()
        columns = [column for column in self._columns() if column.kind is Kind.NUMBER]
        if len(columns) != 1:
            raise NotUnderstood
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
            raise NotUnderstood
        is_list = not self._has(*ASKING) or any(map(_asks_for_several, self.items))
        what = self._asked_column()
        self.items = [item for item in self.items if not isinstance(item.meaning, Column)]
        self._drop(*ASKING)
        self._only(Context)
        if any(condition.column == what.index for condition in self.where):
            raise NotUnderstood
        rows = self._rows()
        said = {row.texts[what.index].strip() for row in rows}
        if not rows or "" in said or len(said) > (MAX_LISTED if is_list else 1):
            raise NotUnderstood
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
        raise NotUnderstood


def _asks_for_several(item: Label) -> bool:
    if isinstance(item.meaning, Column):
        return item.text.endswith("s") and item.text.isascii()
    return item.meaning is Cue.LIST or (item.meaning is Cue.WHO and item.text not in ("who", "谁", "是"))


def _distinct(*columns: Column) -> tuple[int, ...]:
    return tuple(dict.fromkeys(column.index for column in columns))
