"""What a change of metadata comes to for each of many documents, and writing it in few statements.

Rights have been looked at, and the rows are locked. Own fields are set where a document's collection defines them.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext as _

from ingestion.fields import clean_values, fields_of, merged
from ingestion.models import Document, MetadataField
from ingestion.values import MetadataChange
from kb_platform.errors import InvalidInput

Attributes = dict[str, Any]


def planned(rows: Sequence[Document], change: MetadataChange) -> dict[int, Attributes]:
    """By document id: the attributes that the change makes different, as they would be.

    Raises InvalidInput for a value that does not fit its field, and for a field that none of the collections defines.
    """
    values = _values_by_collection({row.collection_id for row in rows}, change.values)
    plan: dict[int, Attributes] = {}
    for row in rows:
        wanted: Attributes = {**change.words(), "tags": change.tags_after(list(row.tags))}
        if own := values.get(row.collection_id):
            wanted["metadata"] = merged(row.metadata, own)
        different = {name: value for name, value in wanted.items() if value != getattr(row, name)}
        if different:
            plan[row.pk] = different
    return plan


def _values_by_collection(
    collections: Collection[int], values: Mapping[str, Any]
) -> dict[int, dict[str, Any]]:
    """By collection id: the values of the fields that it defines, checked."""
    if not values:
        return {}
    fields: dict[int, list[MetadataField]] = defaultdict(list)
    for field in MetadataField.objects.filter(
        collection__in=collections, key__in=list(values), removed_at=None
    ):
        fields[field.collection_id].append(field)
    unknown = set(values) - {field.key for own in fields.values() for field in own}
    if unknown and collections:
        reason = _("None of the collections has this field.")
        raise InvalidInput(reason, fields={f"metadata.{key}": reason for key in sorted(unknown)})
    return {
        collection: clean_values(own, {field.key: values[field.key] for field in own})
        for collection, own in fields.items()
    }


def before(rows: Iterable[Document], plan: Mapping[int, Attributes]) -> dict[int, dict[str, Attributes]]:
    """What a plan changes, as it was and as it will be: kept for the way back."""
    return {
        row.pk: {"was": {name: getattr(row, name) for name in plan[row.pk]}, "now": plan[row.pk]}
        for row in rows
        if row.pk in plan
    }


def taken_back(rows: Iterable[Document], stored: Mapping[str, Any]) -> dict[int, Attributes]:
    """The plan that undoes a change: only what still stands as the change left it."""
    plan: dict[int, Attributes] = {}
    for row in rows:
        was, now = stored[str(row.pk)]["was"], stored[str(row.pk)]["now"]
        same = {name: value for name, value in was.items() if getattr(row, name) == now[name]}
        if same:
            plan[row.pk] = same
    return plan


def write(plan: Mapping[int, Attributes]) -> None:
    """One statement for each different value, and one for all own fields together."""
    by_value: dict[tuple[str, str], list[int]] = defaultdict(list)
    own: dict[int, str] = {}
    for pk, attributes in plan.items():
        for name, value in attributes.items():
            if name == "metadata":
                own[pk] = json.dumps(value)
            else:
                by_value[name, json.dumps(value)].append(pk)
    now = timezone.now()
    for (name, value), keys in by_value.items():
        Document.objects.filter(pk__in=keys).update(**{name: json.loads(value)})
    if own:
        with connection.cursor() as cursor:
            cursor.execute(
                "update ingestion_document as d set metadata = r.value::jsonb "
                "from unnest(%s::bigint[], %s::text[]) as r(pk, value) where d.id = r.pk",
                [list(own), list(own.values())],
            )
    Document.objects.filter(pk__in=list(plan)).update(updated_at=now)


def apply_to(document: Document, change: MetadataChange) -> None:
    """Change one document that the caller has locked and may change, and save it. Fields removed since are passed over."""
    known = {field.key for field in fields_of(document.collection)} if change.values else set()
    kept = {key: value for key, value in change.values.items() if key in known}
    different = planned([document], replace(change, values=kept)).get(document.pk, {})
    for name, value in different.items():
        setattr(document, name, value)
    if different:
        document.save(update_fields=[*different, "updated_at"])
