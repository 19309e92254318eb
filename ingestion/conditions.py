"""Conditions on a document's own fields (`Document.metadata`): parsed from JSON or from an address, applied in SQL.

In JSON a condition is a value, a list of values (any of them), or an object of operators: `{"gte": 5, "lt": 10}`,
`{"contains": "text"}`. In an address the operator is the end of the name: `metadata.amount.gte=5`. Numbers compare with
numbers and texts with texts, which orders ISO dates; a value of another kind never matches.
"""

import json
from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from django.db.models import BooleanField, F, Func, Q, Value
from django.utils.translation import gettext as _

PREFIX = "metadata."
COMPARISONS = {"gte": ">=", "lte": "<=", "gt": ">", "lt": "<"}
OPERATORS = (*COMPARISONS, "contains")
MAX_VALUES = 200
MAX_TEXT = 300
MAX_CONDITIONS = 20
Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCondition:
    """All of it must hold. any_of: allowed values; bounds: (operator, number or text).

    contains: a part of the text, in any case of letters.
    """

    key: str
    any_of: tuple[Scalar, ...] = ()
    bounds: tuple[tuple[str, Scalar], ...] = ()
    contains: str = ""

    def as_json(self) -> Any:
        """The form that `parse_condition` reads."""
        if self.any_of:
            return list(self.any_of)
        stated: dict[str, Any] = dict(self.bounds)
        return stated | ({"contains": self.contains} if self.contains else {})

    def lookup(self) -> Q:
        """The condition on documents."""
        condition = Q()
        if self.any_of:
            any_of = Q()
            for value in self.any_of:
                any_of |= Q(metadata__contains={self.key: value})
            condition &= any_of
        for name, value in self.bounds:
            condition &= self._exists(f"@ {COMPARISONS[name]} {json.dumps(value)}")
        if self.contains:
            condition &= self._exists(f'@ like_regex {json.dumps(self.contains)} flag "iq"')
        return condition

    def _exists(self, test: str) -> Q:
        return Q(JsonPathExists(F("metadata"), Value(f"$.{json.dumps(self.key)} ? ({test})")))


class JsonPathExists(Func):
    """Whether a JSON column holds what a path looks for; every literal in the path is written by `json.dumps`."""

    function = "jsonb_path_exists"
    template = "%(function)s(%(expressions)s::jsonpath, '{}', true)"
    output_field = BooleanField()


def matching(conditions: Iterable[FieldCondition]) -> Q:
    combined = Q()
    for condition in conditions:
        combined &= condition.lookup()
    return combined


# --- from JSON ----------------------------------------------------------------------------------------------


def refuse_too_many(conditions: Sized) -> None:
    """Raises ValueError: each condition makes the query longer."""
    if len(conditions) > MAX_CONDITIONS:
        raise ValueError(_("At most %(most)d conditions.") % {"most": MAX_CONDITIONS})


def parse_condition(key: str, value: Any) -> FieldCondition:
    """Raises ValueError with a sentence that says what may be given."""
    if not isinstance(value, Mapping):
        return FieldCondition(key=storable(key), any_of=_scalars(value))
    if not value or not all(name in OPERATORS for name in value):
        known = ", ".join(OPERATORS)
        raise ValueError(_("Give a value, a list of values, or an object of: %(known)s.") % {"known": known})
    bounds = [(name, _bound(value[name])) for name in COMPARISONS if name in value]
    contains = value.get("contains", "")
    if not isinstance(contains, str) or ("contains" in value and not contains):
        raise ValueError(_("Give a text for “contains”."))
    return FieldCondition(key=storable(key), bounds=tuple(bounds), contains=storable(contains)[:MAX_TEXT])


def _scalars(value: Any) -> tuple[Scalar, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    if not values or len(values) > MAX_VALUES or not all(map(_is_scalar, values)):
        raise ValueError(_("Give a text, a number, true or false, or a list of them."))
    return tuple(storable(item) if isinstance(item, str) else item for item in values)


def _is_scalar(item: Any) -> bool:
    return isinstance(item, str | int) or (isinstance(item, float) and isfinite(item))


def _bound(value: Any) -> Scalar:
    if isinstance(value, bool) or not _is_scalar(value):
        raise ValueError(_("Give a number, or a date as in 2026-03-31."))
    bound: Scalar = storable(value) if isinstance(value, str) else value
    return bound


def storable(text: str) -> str:
    """PostgreSQL holds neither NUL nor lone surrogates, so no document's value has them."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


# --- from an address ------------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class _Draft:
    any_of: list[Scalar] = field(default_factory=list)
    bounds: dict[str, Scalar] = field(default_factory=dict)
    contains: str = ""


def conditions_in(pairs: Iterable[tuple[str, str]]) -> tuple[FieldCondition, ...]:
    """From the names and values of an address; other names and empty values are passed over.

    A value that reads as a number or as a truth value stands for the text too: an address knows no types.
    """
    drafts: dict[str, _Draft] = {}
    for name, value in pairs:
        if not name.startswith(PREFIX) or not value or len(drafts) >= MAX_CONDITIONS:
            continue
        key, operator = split_name(name)
        draft = drafts.setdefault(key, _Draft())
        text = storable(value)[:MAX_TEXT]
        if operator == "contains":
            draft.contains = text
        elif operator:
            draft.bounds[operator] = _readings(text)[-1]  # a number where it can be one
        else:
            draft.any_of += [*_readings(text), *TRUTHS.get(text, ())]
    return tuple(
        FieldCondition(
            key=key,
            any_of=tuple(draft.any_of[:MAX_VALUES]),
            bounds=tuple(draft.bounds.items()),
            contains=draft.contains,
        )
        for key, draft in drafts.items()
    )


TRUTHS: dict[str, tuple[bool, ...]] = {"true": (True,), "false": (False,)}


def split_name(name: str) -> tuple[str, str]:
    """The key and the operator of `metadata.<key>` or `metadata.<key>.<operator>`."""
    key = storable(name.removeprefix(PREFIX))[:MAX_TEXT]
    stem, dot, end = key.rpartition(".")
    return (stem, end) if dot and end in OPERATORS else (key, "")


def _readings(text: str) -> tuple[Scalar, ...]:
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return (text,)
    if not isfinite(number):
        return (text,)
    return (text, int(number) if number.is_integer() and abs(number) < 1e15 else number)
