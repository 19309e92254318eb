"""Which values documents have, and how many have each: what lists are narrowed by, always of documents read as somebody.

One query counts every facet that is asked for; the caller gives only documents that the reader may see, so that no value
of a hidden document is offered or counted.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Count as CountRows
from django.db.models import F, QuerySet, Sum, TextField, Value
from django.db.models.functions import Cast, Coalesce, NullIf

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion.conditions import PREFIX
from ingestion.models import Document
from ingestion.selectors import state_of_documents, verdict_of_documents

COLUMNS: dict[str, Callable[[], Any]] = {
    "state": state_of_documents,
    "quality": verdict_of_documents,
    "type": lambda: F("doc_type"),
    "department": lambda: F("department"),
    "level": lambda: F("security_level"),
    "language": lambda: F("language"),
    "owner": lambda: Cast("owner_id", TextField()),
}
MOST_OPTIONS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """label: the value as it is shown, where that is something else."""

    value: str
    count: int
    label: str = ""


Counts = dict[str, list[Count]]


def count_facets(
    documents: QuerySet[Document], names: Collection[str], *, own_keys: Sequence[str] | None = ()
) -> Counts:
    """By name: the values that occur, those of most documents first.

    names: of COLUMNS, or "tag". own_keys: of own fields whose texts and truth values are counted under `metadata.<key>`;
    None for all there are.
    """
    wanted = [name for name in COLUMNS if name in names]
    parts = [_column_counts(wanted)] if wanted else []
    found: Counts = {name: [] for name in wanted}
    if "tag" in names:
        found["tag"] = []
        parts.append("select -1, tag, '', count(*) from d, unnest(d.f_tags) as tag group by tag")
    if own_keys is None or own_keys:
        found |= {PREFIX + key: [] for key in own_keys or ()}
        parts.append(OWN_COUNTS)
    if not parts:
        return found
    for mark, value, label, count in _rows(documents, wanted, parts, own_keys):
        name = "tag" if mark == -1 else PREFIX + label if mark == -2 else wanted[_place(mark, len(wanted))]
        rows = found.setdefault(name, [])
        if value and len(rows) < MOST_OPTIONS:
            rows.append(Count(value=value, count=count, label=label if name == "owner" else ""))
    return found


OWN_COUNTS = (
    "select -2, e.value #>> '{}', e.key, count(*) from d, jsonb_each(d.f_metadata) as e "
    "where jsonb_typeof(d.f_metadata) = 'object' and (%s::text[] is null or e.key = any(%s)) "
    "and jsonb_typeof(e.value) in ('string', 'boolean') group by e.key, 2"
)


def _column_counts(wanted: Sequence[str]) -> str:
    """SQL made of names of this module alone. In each row one column has a value, and GROUPING tells which."""
    columns = [f"f_{name}" for name in wanted]
    owner = "coalesce(f_owner_name, '')" if "owner" in wanted else "''"
    sets = [f"({name}, f_owner_name)" if name == "f_owner" else f"({name})" for name in columns]
    listed = ", ".join(columns)
    return (
        f"select grouping({listed}), coalesce({listed}, ''), {owner}, count(*) from d "  # noqa: S608
        f"group by grouping sets ({', '.join(sets)})"
    )


def _place(mark: int, width: int) -> int:
    """Which column a row counts: GROUPING sets the bit of every other one, the first column's bit being the highest."""
    missing = ~mark & ((1 << width) - 1)
    return width - missing.bit_length()


def _rows(
    documents: QuerySet[Document], wanted: Sequence[str], parts: Sequence[str], own_keys: Sequence[str] | None
) -> list[tuple[int, str, str, int]]:
    """(mark, value, label, count), the greatest counts first; none when it is known that there are none."""
    columns = {f"f_{name}": COLUMNS[name]() for name in wanted}
    columns |= {"f_tags": F("tags"), "f_metadata": F("metadata")}
    if "owner" in wanted:
        named = NullIf("owner__name", Value(""))
        columns["f_owner_name"] = Coalesce(named, "owner__email", output_field=TextField())
    try:
        inner, values = documents.order_by().values(**columns).query.sql_with_params()
    except EmptyResultSet:
        return []
    parameters: list[Any] = list(values)
    if OWN_COUNTS in parts:
        keys = None if own_keys is None else list(own_keys)
        parameters += [keys, keys]
    with connection.cursor() as cursor:
        cursor.execute(
            f"with d as ({inner}) {' union all '.join(parts)} order by 4 desc, 2",
            parameters,
        )
        return list(cursor.fetchall())


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """totals: documents, and the passages, pages and bytes of what is in force. counts: by facet, own fields by `metadata.`"""

    totals: dict[str, int]
    counts: Counts


def summary_of(documents: QuerySet[Document]) -> Summary:
    """Documents read as somebody, summed up."""
    totals = documents.order_by().aggregate(
        documents=CountRows("pk"),
        passages=Sum("active_version__chunk_count", default=0),
        pages=Sum("active_version__page_count", default=0),
        size_bytes=Sum("active_version__size_bytes", default=0),
    )
    counts = count_facets(documents, {*COLUMNS, "tag"} - {"owner"}, own_keys=None)
    return Summary(totals=totals, counts=counts)


SUGGESTED = {"type": "doc_type", "department": "department", "level": "security_level", "tag": "tags"}


def suggestions_for(principal: Principal) -> dict[str, list[str]]:
    """By attribute: the values that the documents open to the principal have, to be offered while one types."""
    counts = count_facets(Document.objects.filter(scope_id__in=visible_scopes(principal)), SUGGESTED)
    return {attribute: [row.value for row in counts[name]] for name, attribute in SUGGESTED.items()}
