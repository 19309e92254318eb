"""The labels of one question while their roles are found, and the roles of most of them: the conditions on rows. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from retrieval.tables.cells import SCALES
from retrieval.tables.labels import Amount, Held, Label, Meaning, Period
from retrieval.tables.lexicon import Cue
from retrieval.tables.matching import is_listed_in, meets_all
from retrieval.tables.plan import Compare, Condition, Operand
from retrieval.tables.typed import Column, Kind, Row, TypedTable
from retrieval.tables.words import keys_of

_BOUNDS = {
    Cue.GREATER: Compare.GREATER,
    Cue.AT_LEAST: Compare.AT_LEAST,
    Cue.LESS: Compare.LESS,
    Cue.AT_MOST: Compare.AT_MOST,
}
_AFTERWARDS = {Cue.OR_MORE: Compare.AT_LEAST, Cue.OR_LESS: Compare.AT_MOST}
EXTREMES = {
    Cue.MOST: True,
    Cue.MORE: True,
    Cue.LATEST: True,
    Cue.LEAST: False,
    Cue.FEWER: False,
    Cue.EARLIEST: False,
    Cue.FIRST: False,
    Cue.LAST: True,
}
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
ASKING = (Cue.WHICH, Cue.WHO, Cue.WHEN, Cue.LIST, Cue.HOW_MUCH)


class NotUnderstood(Exception):
    """No single reading."""


@dataclass(slots=True, kw_only=True)
class Items:
    """What has got its role is taken out of `items`; `asked` are the labels as they were. `where`: the conditions found."""

    table: TypedTable
    items: list[Label]
    asked: tuple[Label, ...] = ()
    where: list[Condition] = field(default_factory=list)

    def take_conditions(self) -> None:
        """Comparisons, dates, cells and numbers become conditions."""
        self._take_comparisons()
        self._take_values()
        self._read_top()

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
            raise NotUnderstood
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
            raise NotUnderstood

    def _rows(self) -> list[Row]:
        """The rows that meet the conditions; what one of them says must have been read."""
        asked = {condition.column for condition in self.where}
        if any(row.unread & asked for row in self.table.rows):
            raise NotUnderstood
        return [row for row in self.table.rows if meets_all(row, self.where)]

    def _read_top(self) -> None:
        """「金额前3的订单」: the first ones are those with the most."""
        for n, item in enumerate(self.items):
            before = self._at(n - 1) if n else None
            is_measure = isinstance(before, Column) and before.kind is Kind.NUMBER
            if item.meaning is Cue.TOP and is_measure and not self._has(*EXTREMES):
                self.items.insert(n, replace(item, meaning=Cue.MOST, text="前"))
                return

    # --- conditions -----------------------------------------------------------------------------------------

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
            raise NotUnderstood
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
        except NotUnderstood:
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
            raise NotUnderstood
        self.items[n] = replace(self.items[n], meaning=Amount(value=Decimal(when.first.year)))
        return True

    def _number_near(self, start: int, end: int) -> tuple[Column, int, int]:
        """The column of numbers that a comparison is about: right behind it, right before it, or the only one named."""
        after, before = self._at(end), self._at(start - 1) if start else None
        if isinstance(after, Column) and after.kind is Kind.NUMBER:
            return after, start, end + 1
        if isinstance(before, Column) and before.kind is Kind.NUMBER:
            return before, start - 1, end
        raise NotUnderstood

    def _date_near(self, start: int, end: int) -> tuple[Column, int, int]:
        """The column of dates beside a period, else the only one that the table has."""
        dates = [column for column in self.table.columns if column.kind is Kind.DATE]
        before = self._at(start - 1) if start else None
        if isinstance(before, Column) and before in dates:
            return before, start - 1, end
        if len(dates) != 1:
            raise NotUnderstood
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
        raise NotUnderstood

    def _names_its(self, column: int, place: int, n: int) -> bool:
        """Whether the item beside a cell only says what the cell is: "region East", 「华东地区」."""
        beside = self._at(place) if place >= 0 else None
        asks = self._at(place - 1) if place > 0 else None
        is_asked = place < n and isinstance(asks, Cue) and asks in (*ASKING, Cue.HOW_MANY, Cue.EACH, Cue.BY)
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
                raise NotUnderstood

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
        raise NotUnderstood

    def _is_limit(self, n: int) -> bool:
        """How many are wanted of those with the most: beside "top", or before a column of texts."""
        if not self._has(*EXTREMES, Cue.TOP):
            return False
        after, before = self._at(n + 1), self._at(n - 1) if n else None
        is_free = before is None or isinstance(before, Cue)  # in "series 10" the number says which
        return before is Cue.TOP or (is_free and isinstance(after, Column) and after.kind is Kind.TEXT)


def _counted(amount: Amount, column: Column) -> Operand:
    """The number as the column counts: a bare one is in the unit that its cells are shown in."""
    if amount.has_scale or not column.scale:
        return amount.value
    return amount.value * SCALES.get(column.scale.lower(), Decimal(1))
