"""A collection's own metadata fields: defining, renaming, removing and bringing back; checking values against them.

Values lie in `Document.metadata` under a field's key, which renaming keeps. Removing a field hides it from forms and
filters and leaves every value where it is; so does taking a choice away. Keys that no field defines are kept as well.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from math import isfinite
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _

from accounts.permissions.visibility import require
from accounts.values import Permission, Principal
from ingestion.conditions import PREFIX, split_name
from ingestion.models import Collection, Document, MetadataField
from kb_platform.audit import record
from kb_platform.errors import Conflict, InvalidInput, NotFound
from kb_platform.json_values import is_storable

Kind = MetadataField.Kind
PICKED = (Kind.CHOICE, Kind.BOOLEAN)  # fields that are filtered by picking one of the values in use
MAX_FIELDS = 50
MAX_CHOICES = 100
MAX_LABEL, MAX_CHOICE, MAX_TEXT = 60, 100, 1000
LARGEST = 1e15
YES = frozenset({"true", "yes", "y", "1", "是"})
NO = frozenset({"false", "no", "n", "0", "否"})


# --- reading ------------------------------------------------------------------------------------------------


def fields_of(collection: Collection) -> list[MetadataField]:
    """The fields in use, in the order they were made."""
    return list(collection.fields.filter(removed_at=None))


def removed_fields(collection: Collection) -> list[MetadataField]:
    return list(collection.fields.exclude(removed_at=None))


def get_field(collection: Collection, key: str) -> MetadataField:
    """Also a removed one. The collection has been read as somebody. Raises NotFound."""
    found = collection.fields.filter(key=key).first() if is_storable(key) else None
    if found is None:
        raise NotFound()
    return found


def fields_by_key(collections: Iterable[int]) -> dict[str, MetadataField]:
    """The fields in use of all these collections, one for each key: the oldest."""
    rows = MetadataField.objects.filter(collection__in=collections, removed_at=None).order_by("-id")
    return dict(sorted(((row.key, row) for row in rows), key=lambda pair: pair[1].pk))


def shown_values(document: Document) -> list[tuple[str, MetadataField | None, Any]]:
    """Label, field and value of all that the document's metadata holds, fields in use first. None for no field in use."""
    values = document.metadata if isinstance(document.metadata, dict) else {}
    known = {field.key: field for field in document.collection.fields.all()} if values else {}
    in_use = {key: field for key, field in known.items() if field.removed_at is None}
    shown = [(field.label, field, values[key]) for key, field in in_use.items() if key in values]
    rest = [
        (known[key].label if key in known else key, None, value)
        for key, value in values.items()
        if key not in in_use
    ]
    return [*shown, *rest]


# --- defining -----------------------------------------------------------------------------------------------


@transaction.atomic
def define_field(
    *, actor: Principal, collection: Collection, label: str, kind: str, choices: Sequence[str] = ()
) -> MetadataField:
    """A field for the documents of the collection. Its key is made from the label and never changes."""
    require(actor, Permission.MANAGE, collection.scope_id)
    if kind not in Kind.values:
        raise InvalidInput(
            fields={"kind": _("Choose one of: %(kinds)s.") % {"kinds": ", ".join(Kind.values)}}
        )
    label = _label(label)
    _refuse_taken(collection, label)
    if collection.fields.count() >= MAX_FIELDS:
        raise InvalidInput(
            fields={"label": _("At most %(most)d fields in a collection.") % {"most": MAX_FIELDS}}
        )
    field = MetadataField.objects.create(
        collection=collection,
        key=_free_key(collection, label),
        label=label,
        kind=kind,
        choices=_choices(choices) if kind == Kind.CHOICE else [],
    )
    record(actor, "collection.field_added", collection, field=label, kind=kind)
    return field


@transaction.atomic
def change_field(
    *, actor: Principal, field: MetadataField, label: str | None = None, choices: Sequence[str] | None = None
) -> MetadataField:
    """Another label, or other choices. Documents keep their values, also of a choice that is offered no more."""
    require(actor, Permission.MANAGE, field.collection.scope_id)
    before = {"label": field.label, "choices": list(field.choices)}
    if label is not None and (cleaned := _label(label)) != field.label:
        _refuse_taken(field.collection, cleaned, but=field)
        field.label = cleaned
    if choices is not None:
        if field.kind != Kind.CHOICE:
            raise InvalidInput(fields={"choices": _("Only a field of kind “choice” has choices.")})
        field.choices = _choices(choices)
    field.save()
    after = {"label": field.label, "choices": list(field.choices)}
    if after != before:
        record(actor, "collection.field_changed", field.collection, before=before, after=after)
    return field


@transaction.atomic
def remove_field(*, actor: Principal, field: MetadataField) -> None:
    """Take a field out of forms and filters; documents keep their values, and it can be brought back."""
    require(actor, Permission.MANAGE, field.collection.scope_id)
    if field.removed_at is None:
        field.removed_at = timezone.now()
        field.save(update_fields=["removed_at"])
        record(actor, "collection.field_removed", field.collection, field=field.label)


@transaction.atomic
def restore_field(*, actor: Principal, field: MetadataField) -> None:
    require(actor, Permission.MANAGE, field.collection.scope_id)
    if field.removed_at is not None:
        _refuse_taken(field.collection, field.label, but=field)
        field.removed_at = None
        field.save(update_fields=["removed_at"])
        record(actor, "collection.field_restored", field.collection, field=field.label)


def _label(text: str) -> str:
    label = " ".join(text.replace("\x00", "").split())
    if not label or not is_storable(label):
        raise InvalidInput(fields={"label": _("Give the field a name.")})
    if len(label) > MAX_LABEL:
        raise InvalidInput(fields={"label": _("At most %(limit)d characters.") % {"limit": MAX_LABEL}})
    return label


def _refuse_taken(collection: Collection, label: str, but: MetadataField | None = None) -> None:
    taken = collection.fields.filter(label__iexact=label, removed_at=None)
    if taken.exclude(pk=but.pk if but else 0).exists():
        raise Conflict(
            _("The collection has a field “%(name)s” already.") % {"name": label},
            fields={"label": _("The collection has a field of this name already.")},
            code="field_exists",
        )


def _free_key(collection: Collection, label: str) -> str:
    """The label in small letters without spaces and signs; numbered when that is taken, also by a removed field."""
    stem = re.sub(r"\W+", "_", label.casefold()).strip("_")[:50] or "field"
    taken = set(collection.fields.values_list("key", flat=True))
    number = 1
    key = stem
    while key in taken:
        number += 1
        key = f"{stem}_{number}"
    return key


def _choices(choices: Sequence[str]) -> list[str]:
    cleaned = list(dict.fromkeys(" ".join(str(choice).replace("\x00", "").split()) for choice in choices))
    cleaned = [choice for choice in cleaned if choice and is_storable(choice)]
    if not cleaned:
        raise InvalidInput(fields={"choices": _("Give at least one choice.")})
    if len(cleaned) > MAX_CHOICES or any(len(choice) > MAX_CHOICE for choice in cleaned):
        limits = {"most": MAX_CHOICES, "limit": MAX_CHOICE}
        raise InvalidInput(
            fields={"choices": _("At most %(most)d choices of %(limit)d characters each.") % limits}
        )
    return cleaned


# --- values -------------------------------------------------------------------------------------------------


def clean_values(
    fields: Iterable[MetadataField], values: Mapping[str, Any], *, stored: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The values as they are stored: those of the fields by their kinds, others as they come; None where it empties.

    stored: what the document has, which stays allowed as it is. Raises InvalidInput naming `metadata.<key>`.
    """
    known = {field.key: field for field in fields}
    cleaned: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for key, value in values.items():
        field = known.get(key)
        if field is None or (stored is not None and key in stored and stored[key] == value):
            cleaned[key] = value
            continue
        try:
            cleaned[key] = clean_value(field, value)
        except ValueError as error:
            wrong[f"metadata.{key}"] = str(error)
    if wrong:
        raise InvalidInput(" ".join(wrong.values()), fields=wrong)
    return cleaned


def clean_value(field: MetadataField, value: Any) -> Any:
    """One value by the field's kind, or None for nothing. Raises ValueError with a sentence."""
    if isinstance(value, str):
        value = value.replace("\x00", "").strip()
    if value is None or value == "":
        return None
    return CLEANERS[Kind(field.kind)](field, value)


def _text(field: MetadataField, value: Any) -> str:
    if not isinstance(value, str) or not is_storable(value):
        raise ValueError(_("“%(name)s” must be a text.") % {"name": field.label})
    if len(value) > MAX_TEXT:
        raise ValueError(
            _("“%(name)s” may have at most %(limit)d characters.") % {"name": field.label, "limit": MAX_TEXT}
        )
    return value


def _number(field: MetadataField, value: Any) -> int | float:
    text = value.replace(",", "").replace("，", "").replace(" ", "") if isinstance(value, str) else value
    try:
        number = float(text) if not isinstance(text, bool) else float("nan")
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not isfinite(number) or abs(number) > LARGEST:
        raise ValueError(_("“%(name)s” must be a number, as in 1200.50.") % {"name": field.label})
    return int(number) if number.is_integer() else number


def _date(field: MetadataField, value: Any) -> str:
    try:
        day = value if isinstance(value, date) else parse_date(value) if isinstance(value, str) else None
    except ValueError:
        day = None
    if day is None:
        raise ValueError(_("“%(name)s” must be a date, as in 2026-03-31.") % {"name": field.label})
    return day.isoformat()[:10]


def _boolean(field: MetadataField, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = value.casefold() if isinstance(value, str) else ""
    if text not in YES | NO:
        raise ValueError(_("“%(name)s” must be yes or no.") % {"name": field.label})
    return text in YES


def _choice(field: MetadataField, value: Any) -> str:
    if value not in field.choices:
        choices = ", ".join(field.choices[:20])
        raise ValueError(
            _("“%(name)s” must be one of: %(choices)s.") % {"name": field.label, "choices": choices}
        )
    return str(value)


CLEANERS = {
    Kind.TEXT: _text,
    Kind.NUMBER: _number,
    Kind.DATE: _date,
    Kind.BOOLEAN: _boolean,
    Kind.CHOICE: _choice,
}


def merged(stored: Any, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The stored values with the changes laid over them; None takes a value away."""
    values = {**(stored if isinstance(stored, dict) else {}), **changes}
    return {key: value for key, value in values.items() if value is not None}


def count_values(documents: Any, field: MetadataField) -> int:
    """How many of the documents have a value; they are read as somebody."""
    return int(documents.filter(Q(collection=field.collection_id), metadata__has_key=field.key).count())


# --- filters as people set them -------------------------------------------------------------------------------


def typed_filters(fields: Mapping[str, MetadataField], values: Mapping[str, str]) -> list[dict[str, Any]]:
    """The fields that are narrowed by typing, a part of a text or two ends: kind, and name, label and value of each end.

    values: what is set now, by name.
    """
    return [
        {
            "kind": field.kind,
            "ends": [
                {"name": name, "label": label, "value": values.get(name, "")} for name, label in _ends(field)
            ],
        }
        for field in fields.values()
        if field.kind not in PICKED
    ]


def _ends(field: MetadataField) -> list[tuple[str, str]]:
    name, told = PREFIX + field.key, {"field": field.label}
    if field.kind == Kind.TEXT:
        return [(f"{name}.contains", _("%(field)s contains") % told)]
    return [(f"{name}.gte", _("%(field)s from") % told), (f"{name}.lte", _("%(field)s up to") % told)]


def condition_text(fields: Mapping[str, MetadataField], name: str, value: str) -> str:
    """A condition of an address in words: "Amount ≥ 5"."""
    if not name.startswith(PREFIX):
        return f"“{value}”"
    key, operator = split_name(name)
    label = fields[key].label if key in fields else key
    signs = {"gte": "≥", "lte": "≤", "gt": ">", "lt": "<", "contains": "∋"}
    return f"{label} {signs.get(operator, '=')} {value}"
