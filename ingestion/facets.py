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


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be counted, and of which documents.

    names: of COLUMNS, or "tag". own_keys: of own fields whose texts and truth values are counted under `metadata.<key>`;
    None for all there are.
    """

    documents: QuerySet[Document]
    names: Collection[str]
    own_keys: Sequence[str] | None = ()

    @property
    def columns(self) -> list[str]:
        return [name for name in COLUMNS if name in self.names]

    @property
    def has_own(self) -> bool:
        return self.own_keys is None or bool(self.own_keys)

    def name_of(self, mark: int, label: str) -> str:
        """Which facet a row of the answer counts."""
        if mark == -1:
            return "tag"
        return PREFIX + label if mark == -2 else self.columns[_place(mark, len(self.columns))]

    def nothing(self) -> Counts:
        """All that is asked for, as if there were no document."""
        names = [*self.columns, *(["tag"] if "tag" in self.names else [])]
        return {name: [] for name in (*names, *(PREFIX + key for key in self.own_keys or ()))}


def count_facets(
    documents: QuerySet[Document], names: Collection[str], *, own_keys: Sequence[str] | None = ()
) -> Counts:
    """By name: the values that occur, those of most documents first."""
    return count_together([Asked(documents=documents, names=names, own_keys=own_keys)])


def count_together(asked: Sequence[Asked]) -> Counts:
    """The same of several sets of documents, each asked for other names, in one query."""
    found: Counts = {}
    for each in asked:
        found |= each.nothing()
    for number, mark, value, label, count in _rows(asked):
        name = asked[number].name_of(mark, label)
        rows = found.setdefault(name, [])
        if value and len(rows) < MOST_OPTIONS:
            rows.append(Count(value=value, count=count, label=label if name == "owner" else ""))
    return found


def _parts(each: Asked, number: int) -> tuple[list[str], list[Any]]:
    """SQL that counts the rows of the table `d<number>`, and its parameters."""
    parts: list[str] = [_column_counts(each.columns, number)] if each.columns else []
    if "tag" in each.names:
        parts.append(
            f"select {number}, -1, tag, '', count(*) from d{number}, unnest(f_tags) as tag group by tag"  # noqa: S608
        )
    if not each.has_own:
        return parts, []
    parts.append(
        f"select {number}, -2, e.value #>> '{{}}', e.key, count(*) from d{number}, jsonb_each(f_metadata) as e "  # noqa: S608
        "where jsonb_typeof(f_metadata) = 'object' and (%s::text[] is null or e.key = any(%s)) "
        "and jsonb_typeof(e.value) in ('string', 'boolean') group by e.key, 3"
    )
    keys = None if each.own_keys is None else list(each.own_keys)
    return parts, [keys, keys]


def _column_counts(wanted: Sequence[str], number: int) -> str:
    """SQL made of names of this module alone. In each row one column has a value, and GROUPING tells which."""
    columns = [f"f_{name}" for name in wanted]
    owner = "coalesce(f_owner_name, '')" if "owner" in wanted else "''"
    sets = [f"({name}, f_owner_name)" if name == "f_owner" else f"({name})" for name in columns]
    listed = ", ".join(columns)
    return (
        f"select {number}, grouping({listed}), coalesce({listed}, ''), {owner}, count(*) from d{number} "  # noqa: S608
        f"group by grouping sets ({', '.join(sets)})"
    )


def _place(mark: int, width: int) -> int:
    """Which column a row counts: GROUPING sets the bit of every other one, the first column's bit being the highest."""
    missing = ~mark & ((1 << width) - 1)
    return width - missing.bit_length()


def _rows(asked: Sequence[Asked]) -> list[tuple[int, int, str, str, int]]:
    """(place in `asked`, mark, value, label, count), the greatest counts first; none of what is known to be empty."""
    tables: list[str] = []
    counts: list[str] = []
    of_tables: list[Any] = []
    of_counts: list[Any] = []
    for number, each in enumerate(asked):
        parts, values = _parts(each, number)
        try:
            inner, parameters = _table(each).query.sql_with_params()
        except EmptyResultSet:
            continue
        if parts:
            tables.append(f"d{number} as ({inner})")
            counts += parts
            of_tables += parameters
            of_counts += values
    if not counts:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            f"with {', '.join(tables)} {' union all '.join(counts)} order by 5 desc, 3",
            [*of_tables, *of_counts],
        )
        return list(cursor.fetchall())


def _table(each: Asked) -> QuerySet[Document, Any]:
    columns = {f"f_{name}": COLUMNS[name]() for name in each.columns}
    columns |= {"f_tags": F("tags"), "f_metadata": F("metadata")}
    if "owner" in each.columns:
        named = NullIf("owner__name", Value(""))
        columns["f_owner_name"] = Coalesce(named, "owner__email", output_field=TextField())
    return each.documents.order_by().values(**columns)


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
