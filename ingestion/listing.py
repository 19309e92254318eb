"""The page that lists documents: which rows, in which order, who can see them, and what the filters offer.

Read as somebody, in a number of queries that does not grow with the documents: the reader's scopes are read once.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, FilteredRelation, Q, QuerySet, Value
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import BuiltinGroup, GroupScopeGrant, UserScopeGrant
from accounts.permissions.visibility import scope_levels
from accounts.values import Permission, Principal
from ingestion.conditions import MAX_CONDITIONS, PREFIX, conditions_in
from ingestion.facets import COLUMNS, Asked, Counts, count_together
from ingestion.fields import PICKED
from ingestion.models import Collection, Document, MetadataField, SavedView
from ingestion.selectors import (
    DocumentFilters,
    documents_in,
    filter_documents,
    read_share_of_documents,
    state_of_documents,
)

ROWS = 25
NAMES_SHOWN = 2
FIELDS = {
    "collection": "collection",
    "state": "state",
    "quality": "verdict",
    "type": "doc_type",
    "department": "department",
    "level": "security_level",
    "language": "language",
    "owner": "owner",
    "q": "text",
    "view": "view",
}
ORDERS: dict[str, Callable[[], Any]] = {
    "title": lambda: F("title"),
    "state": state_of_documents,
    "quality": read_share_of_documents,
    "passages": lambda: F("active_version__chunk_count"),
    "changed": lambda: F("updated_at"),
}
DEFAULT_ORDER = "-changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """What the address of the list says: filters and an order. `number` is the page, from 1.

    own: names and values of the conditions on own fields, as they stand in the address.
    """

    filters: DocumentFilters
    order: str = DEFAULT_ORDER
    number: int = 1
    own: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, query: Mapping[str, str], principal: Principal) -> "ListQuery":
        """From a query string; an order that is none counts as not given."""
        named: dict[str, Any] = {attribute: query.get(name, "")[:300] for name, attribute in FIELDS.items()}
        tag = query.get("tag", "")[:300]
        own = [(name[:300], query[name][:300]) for name in query if name.startswith(PREFIX) and query[name]]
        own = sorted(own)[:MAX_CONDITIONS]
        order = query.get("sort", "")
        page = query.get("page", "")
        return cls(
            filters=DocumentFilters(
                **named,
                tags=(tag,) if tag else (),
                conditions=conditions_in(own),
                user_id=principal.user_id,
            ),
            order=order if order.removeprefix("-") in ORDERS else DEFAULT_ORDER,
            number=int(page) if page.isascii() and page.isdecimal() and 0 < len(page) < 7 else 1,
            own=tuple(own),
        )

    @property
    def values(self) -> dict[str, str]:
        """The filters that are set, by their names in the address."""
        named = {name: getattr(self.filters, attribute) for name, attribute in FIELDS.items()}
        named["tag"] = next(iter(self.filters.tags), "")
        return {name: value for name, value in (named | dict(self.own)).items() if value}

    @property
    def is_filtered(self) -> bool:
        return bool(self.values)

    @property
    def address(self) -> str:
        """The filters and the order as a query string, without the page: what is saved, or sent with a bulk form."""
        order = {} if self.order == DEFAULT_ORDER else {"sort": self.order}
        return urlencode(self.values | order)

    def matching(self, documents: QuerySet[Document]) -> QuerySet[Document]:
        return filter_documents(documents, self.filters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Who can see a document, in short words: as its collection, or a list of its own; names only for its managers."""

    words: str
    is_own: bool


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The list as one principal sees it; every part is read when it is asked for, and once."""

    principal: Principal
    query: ListQuery
    levels: Mapping[int, Permission] = dataclass_field(default_factory=dict)

    def at_least(self, level: Permission) -> set[int]:
        return {scope for scope, held in self.levels.items() if held in level.and_above}

    @cached_property
    def contributable(self) -> set[int]:
        return self.at_least(Permission.CONTRIBUTE)

    @cached_property
    def manageable(self) -> set[int]:
        return self.at_least(Permission.MANAGE)

    @cached_property
    def visible(self) -> QuerySet[Document]:
        return documents_in(self.levels)

    @cached_property
    def _counts(self) -> dict[str, int]:
        doubtful = filter_documents(self._plain, DocumentFilters(view="doubtful")).values("pk")
        wanted = {"visible": Count("pk"), "doubtful": Count("pk", filter=Q(pk__in=doubtful))}
        if self.query.is_filtered:
            matching = self.query.matching(self._plain).values("pk")
            wanted["matching"] = Count("pk", filter=Q(pk__in=matching))
        return self._plain.aggregate(**wanted)

    @property
    def _plain(self) -> QuerySet[Document]:
        """What is visible, with no more tables than the access check needs."""
        return Document.objects.filter(scope_id__in=list(self.levels), is_faq=False).order_by()

    @property
    def visible_count(self) -> int:
        return self._counts["visible"]

    @property
    def total(self) -> int:
        return self._counts.get("matching", self._counts["visible"])

    @property
    def doubtful_count(self) -> int:
        """How many of the visible documents look badly read."""
        return self._counts["doubtful"]

    @cached_property
    def rows(self) -> list[Document]:
        """The documents of the page, each with `state`."""
        return list(self.page.object_list)

    @cached_property
    def page(self) -> Page[Document]:
        """The page is found on narrow rows, with no more tables than the filters and the order need; then it is read."""
        order, backwards = self.query.order.removeprefix("-"), self.query.order.startswith("-")
        column = ORDERS[order]()
        first = column.desc(nulls_last=True) if backwards else column.asc(nulls_last=True)
        ordered = self.query.matching(self._plain).order_by(first, "-pk" if backwards else "pk")
        paginator: Paginator[Document] = Paginator([], ROWS)
        paginator.count = self.total  # counted together with what is visible
        page = paginator.get_page(self.query.number)
        start = (page.number - 1) * ROWS
        found = self.visible.filter(pk__in=ordered.values("pk")[start : start + ROWS])
        page.object_list = list(found.order_by(first, "-pk" if backwards else "pk"))
        return page

    @cached_property
    def _collections_with_fields(self) -> list[Collection]:
        """A row for each field in use, joined as `field_row`, and one for a collection without any."""
        in_use = FilteredRelation("fields", condition=Q(fields__removed_at=None))
        rows = Collection.objects.filter(scope_id__in=list(self.levels)).annotate(field_row=in_use)
        return list(rows.select_related("field_row").order_by("name", "pk"))  # type: ignore[misc]

    @cached_property
    def collections(self) -> list[Collection]:
        return list({row.pk: row for row in self._collections_with_fields}.values())

    @cached_property
    def targets(self) -> list[Collection]:
        """The collections that the reader may contribute to."""
        return [row for row in self.collections if row.scope_id in self.contributable]

    @cached_property
    def saved_views(self) -> list[SavedView]:
        return list(SavedView.objects.filter(user_id=self.principal.user_id))

    @cached_property
    def field_rows(self) -> list[MetadataField]:
        """The fields in use of all visible collections, oldest first."""
        fields = [getattr(row, "field_row", None) for row in self._collections_with_fields]
        return sorted((field for field in fields if field), key=lambda field: field.pk)

    @cached_property
    def own_fields(self) -> dict[str, MetadataField]:
        """By key: what the visible collections define, or the one that is looked at; the oldest of a key."""
        wanted = self.query.filters.collection
        shown = {row.pk for row in self.collections if not wanted or str(row.uid) == wanted}
        fields: dict[str, MetadataField] = {}
        for field in self.field_rows:
            if field.collection_id in shown:
                fields.setdefault(field.key, field)
        return fields

    @cached_property
    def facets(self) -> Counts:
        """The values that each filter can be set to, with how many documents that leaves beside the other filters."""
        own = [key for key, field in self.own_fields.items() if field.kind in PICKED]
        return count_together([self._asked(without, own) for without in self._combinations(own)])

    def _asked(self, without: str, own: Sequence[str]) -> Asked:
        """What a filter that is set offers, or with "" all the others."""
        query = without_filter(self.query, without) if without else self.query
        names = {without} if without else {*COLUMNS, "tag", *(PREFIX + key for key in own)}
        if not without:
            names -= set(self.query.values)
        keys = [name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)]
        return Asked(documents=query.matching(self._plain), names=names, own_keys=keys)

    def _combinations(self, own: Sequence[str]) -> list[str]:
        """Nothing, for the filters that are not set, and each filter that is set and offers values."""
        offered = {*COLUMNS, "tag", *(PREFIX + key for key in own)}
        return ["", *(name for name in self.query.values if name in offered)]

    @cached_property
    def audiences(self) -> dict[int, Audience]:
        """By document id, for the page's rows."""
        known = {row.scope_id for row in self.rows} & self.manageable
        names = _holders(known) if known else {}
        return {row.pk: _audience(row, names.get(row.scope_id)) for row in self.rows}


def list_documents(principal: Principal, query: ListQuery) -> Listing:
    return Listing(principal=principal, query=query, levels=scope_levels(principal))


def matching_documents(principal: Principal, query: ListQuery) -> QuerySet[Document]:
    """All that the filters let through, for changes of everything that matches."""
    return query.matching(documents_in(scope_levels(principal)).filter(is_faq=False))


def without_filter(query: ListQuery, name: str) -> ListQuery:
    if name.startswith(PREFIX):
        own = tuple(pair for pair in query.own if pair[0] != name)
        return replace(query, own=own, filters=replace(query.filters, conditions=conditions_in(own)))
    cleared: dict[str, Any] = {"tags": ()} if name == "tag" else {FIELDS[name]: ""}
    return replace(query, filters=replace(query.filters, **cleared))


def _holders(scopes: Iterable[int]) -> dict[int, list[str]]:
    """Names of those who hold a grant in force on each scope, groups first."""
    live = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    groups = GroupScopeGrant.objects.filter(live, content_object__in=scopes)
    people = UserScopeGrant.objects.filter(live, content_object__in=scopes, user__is_active=True)
    held = groups.values_list("content_object_id", Value(0), "group__name", "group__builtin__role").union(
        people.values_list("content_object_id", Value(1), "user__name", "user__email")
    )
    names: dict[int, list[str]] = defaultdict(list)
    for scope, is_person, name, more in sorted(held, key=lambda row: (row[1], row[2])):
        if is_person:
            names[scope].append(name or more)
        else:
            names[scope].append(str(BuiltinGroup.Role(more).label) if more else name)
    return names


def _audience(document: Document, names: list[str] | None) -> Audience:
    is_own = document.scope_id != document.collection.scope_id
    if not names:
        return Audience(words=_("Own list") if is_own else _("As its collection"), is_own=is_own)
    words = ", ".join(names)
    if len(names) > NAMES_SHOWN:
        rest = len(names) - 1
        words = ngettext("%(first)s and %(n)d more", "%(first)s and %(n)d more", rest) % {
            "first": names[0],
            "n": rest,
        }
    return Audience(words=words, is_own=is_own)
