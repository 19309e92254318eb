"""Understood conditions in words, for the chips of pages: what applies, and what the reader has taken back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from retrieval.facets import NAMES, option_label

FACETS = {
    "collections": "collection",
    "language": "language",
    "doc_type": "type",
    "department": "department",
    "security_level": "level",
    "tags": "tag",
    "modified": "updated",
}
SIGNS = {"gte": "≥", "lte": "≤", "gt": ">", "lt": "<"}
NOTES = {
    "conditions_dropped": gettext_lazy(
        "With the conditions in your question nothing was found that answers it, so they were left out."
    )
}
MOST_TAKEN_BACK, LONGEST_KEY = 20, 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionChip:
    """label: in words. without: keys of all that would be taken back after a click on it. is_removed: taken back now."""

    label: str
    without: tuple[str, ...]
    is_removed: bool = False


def condition_chips(
    conditions: Iterable[Mapping[str, Any]], removed: Sequence[Mapping[str, Any]]
) -> list[ConditionChip]:
    """Conditions as `condition_json` gives them, those that apply first."""
    gone = [condition["key"] for condition in removed]
    chips = [
        ConditionChip(label=condition_label(condition), without=(*gone, condition["key"]))
        for condition in conditions
    ]
    return chips + [
        ConditionChip(
            label=condition_label(condition),
            without=tuple(key for key in gone if key != condition["key"]),
            is_removed=True,
        )
        for condition in removed
    ]


def condition_label(condition: Mapping[str, Any]) -> str:
    """ "Department: HR", "Changed: from 1 Mar 2023", "Amount: > 10000"."""
    name = condition["name"]
    facet = FACETS.get(name)
    field = condition["label"] or (NAMES[facet]() if facet else name)
    return _("%(field)s: %(value)s") % {"field": field, "value": _value(name, condition)}


def note_sentences(notes: Iterable[str]) -> list[str]:
    return [str(NOTES[note]) for note in notes if note in NOTES]


def taken_back(keys: Iterable[str]) -> frozenset[str]:
    """Keys as they come from an address or a form; what cannot be one names no condition, and does no harm."""
    return frozenset([key[:LONGEST_KEY] for key in keys if key][:MOST_TAKEN_BACK])


def _value(name: str, condition: Mapping[str, Any]) -> str:
    stated = condition["stated"]
    if name == "modified":
        return _period(stated.get("modified_after"), stated.get("modified_before"))
    if name == "language":
        return option_label("language", stated["language"][0])
    if condition["shown"]:
        return str(condition["shown"])
    bounds = stated[name]
    return ", ".join(f"{SIGNS.get(operator, '=')} {value}" for operator, value in bounds.items())


def _period(after: str | None, before: str | None) -> str:
    if after and before:
        last = date.fromisoformat(before) - timedelta(days=1)
        return (
            f"{_day(date.fromisoformat(after))} – {_day(last)}" if last.isoformat() != after else _day(last)
        )
    told = _("from %(day)s") if after else _("before %(day)s")
    return told % {"day": _day(date.fromisoformat(after or before or ""))}


def _day(day: date) -> str:
    chinese = (get_language() or "").startswith("zh")
    return date_format(day, "Y-m-d" if chinese else "j M Y")
