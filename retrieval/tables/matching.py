"""Plain checks on rows that tell whether a reading of a question is the only one. Answers themselves come from the sandbox."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal

from retrieval.tables.plan import Compare, Condition
from retrieval.tables.typed import Column, Row, Value
from retrieval.tables.words import keys_of

_LISTED = re.compile(r"\s*(?:[,、;；/&|]| and | und |\+|和|与)\s*")


def meets_all(row: Row, conditions: Iterable[Condition]) -> bool:
    return all(_meets(row.values[condition.column], condition) for condition in conditions)


def _meets(value: Value, condition: Condition) -> bool:
    """An empty cell meets nothing, as in SQL."""
    if value is None:
        return False
    if condition.compare is Compare.IN:
        return value in condition.values
    if condition.compare is Compare.NOT_IN:
        return value not in condition.values
    bound = condition.values[0]
    if condition.compare is Compare.GREATER:
        return bool(value > bound)  # type: ignore[operator]
    if condition.compare is Compare.AT_LEAST:
        return bool(value >= bound)  # type: ignore[operator]
    if condition.compare is Compare.LESS:
        return bool(value < bound)  # type: ignore[operator]
    return bool(value <= bound)  # type: ignore[operator]


def is_listed_in(value: str, said: str) -> bool:
    """Whether a cell names the value among other things: A in "A, B" and "A / B"."""
    parts = _LISTED.split(said)
    return len(parts) > 1 and keys_of(value) in {keys_of(part) for part in parts}


def names_several(said: str) -> bool:
    """Whether a cell may name more than one thing."""
    return len(_LISTED.split(said)) > 1


def leaders(
    rows: Sequence[Row], who: Column, by: Column, *, descending: bool
) -> tuple[set[Value], set[Value]]:
    """Who is first by a single row, and who by the sum of its rows."""
    single: dict[Value, Decimal] = {}
    total: dict[Value, Decimal] = defaultdict(Decimal)
    pick = max if descending else min
    for row in rows:
        value, name = row.values[by.index], row.values[who.index]
        if isinstance(value, Decimal) and name is not None:
            single[name] = pick(single.get(name, value), value)
            total[name] += value
    return _first(single, descending), _first(total, descending)


def _first(amounts: dict[Value, Decimal], descending: bool) -> set[Value]:
    best = (max if descending else min)(amounts.values(), default=None)
    return {name for name, amount in amounts.items() if amount == best}
