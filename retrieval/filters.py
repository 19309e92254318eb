"""Conditions on documents, parsed strictly. Pure values; `retrieval.reach` applies them.

A list means "any of these". An unknown condition is refused, never ignored.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext as _

from ingestion.conditions import PREFIX, FieldCondition, parse_condition, refuse_too_many, storable
from kb_platform.errors import InvalidInput

MAX_VALUES = 200
WORD_FIELDS = ("doc_type", "department", "security_level", "tags", "language")
MOMENT_FIELDS = ("modified_after", "modified_before")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions that a document must meet, all of them; empty means no condition.

    collections: uids; None for all. An unknown uid matches nothing, like a hidden one.
    modified_after is inclusive, modified_before exclusive. metadata: conditions on own fields.
    """

    collections: tuple[str, ...] | None = None
    doc_type: tuple[str, ...] = ()
    department: tuple[str, ...] = ()
    security_level: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    language: tuple[str, ...] = ()
    modified_after: datetime | None = None
    modified_before: datetime | None = None
    metadata: tuple[FieldCondition, ...] = ()

    def __bool__(self) -> bool:
        return self != Filters()

    def as_json(self) -> dict[str, Any]:
        """The conditions that are set, in the form that `parse_filters` reads."""
        stated: dict[str, Any] = {}
        if self.collections is not None:
            stated["collections"] = list(self.collections)
        stated |= {name: list(getattr(self, name)) for name in WORD_FIELDS if getattr(self, name)}
        stated |= {name: getattr(self, name).isoformat() for name in MOMENT_FIELDS if getattr(self, name)}
        return stated | {PREFIX + condition.key: condition.as_json() for condition in self.metadata}


def parse_filters(
    conditions: Mapping[str, Any] | None, *, collections: Sequence[str] | None = None
) -> Filters:
    """Filters from JSON values. Raises InvalidInput that names each condition it cannot use."""
    wrong: dict[str, str] = {}
    parsed: dict[str, Any] = {}
    metadata: list[FieldCondition] = []
    flat = _flat(conditions or {})
    _refuse_too_many(flat)
    for name, value in flat.items():
        try:
            if name.startswith(PREFIX):
                metadata.append(parse_condition(name.removeprefix(PREFIX), value))
            else:
                parsed[name] = _reader(name)(value)
        except ValueError as error:
            wrong[f"filters.{name}"] = str(error)
    if collections is not None:
        try:
            parsed["collections"] = _words(list(collections))
        except ValueError as error:
            wrong["collections"] = str(error)
    if wrong:
        raise InvalidInput(fields=wrong, code="invalid_filter")
    return Filters(**parsed, metadata=tuple(sorted(metadata, key=lambda condition: condition.key)))


def _flat(conditions: Mapping[str, Any]) -> dict[str, Any]:
    """`{"metadata": {"region": "EU"}}` says the same as `{"metadata.region": "EU"}`; null is no condition."""
    flat: dict[str, Any] = {}
    for name, value in conditions.items():
        if name == "metadata" and isinstance(value, Mapping):
            flat |= {PREFIX + str(key): inner for key, inner in value.items()}
        else:
            flat[str(name)] = value
    return {name: value for name, value in flat.items() if value is not None}


def _refuse_too_many(flat: Mapping[str, Any]) -> None:
    try:
        refuse_too_many([name for name in flat if name.startswith(PREFIX)])
    except ValueError as error:
        raise InvalidInput(fields={"filters.metadata": str(error)}, code="invalid_filter") from error


def _reader(name: str) -> Callable[[Any], Any]:
    if name in WORD_FIELDS:
        return _words
    if name in MOMENT_FIELDS:
        return _moment
    known = ", ".join((*WORD_FIELDS, *MOMENT_FIELDS, "metadata.*"))
    raise ValueError(_("Unknown filter. Known are: %(known)s.") % {"known": known})


def _words(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    if not values or len(values) > MAX_VALUES or not all(isinstance(item, str) and item for item in values):
        raise ValueError(
            _("Give a text or a list of 1 to %(limit)d texts; leave it out for no condition.")
            % {"limit": MAX_VALUES}
        )
    return tuple(dict.fromkeys(storable(item) for item in values))


def _moment(value: Any) -> datetime:
    """An ISO 8601 date or time; without a zone it is in the site's."""
    if isinstance(value, datetime):
        moment: datetime | None = value
    else:
        text = value if isinstance(value, str) else ""
        try:
            day = parse_date(text)
            moment = datetime(day.year, day.month, day.day) if day else parse_datetime(text)
        except ValueError:
            moment = None
    if moment is None:
        raise ValueError(_("Give a date or a time as in 2026-03-31 or 2026-03-31T08:00:00Z."))
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment)
