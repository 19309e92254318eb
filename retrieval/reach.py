"""What one search may touch: the reader's access scopes, and the documents that meet the filters.

Metadata filters become document ids here, in the snapshot of the recall, and work inside every channel's query.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion.conditions import matching
from ingestion.models import IN_FORCE, Document
from ingestion.selectors import changed_at
from retrieval.filters import Filters


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """scopes: ids, ascending. document_ids: None without filters. filtered_chunks: chunks of those documents."""

    scopes: tuple[int, ...]
    document_ids: tuple[int, ...] | None = None
    filtered_chunks: int | None = None

    @property
    def is_empty(self) -> bool:
        return not self.scopes or self.document_ids == ()

    def condition(self) -> tuple[str, list[list[int]]]:
        """The SQL condition on an index table, and its parameters. Always literal arrays: the planner counts them."""
        if self.document_ids is None:
            return "scope_id = any(%s::int[])", [list(self.scopes)]
        return (
            "scope_id = any(%s::int[]) and document_id = any(%s::bigint[])",
            [list(self.scopes), list(self.document_ids)],
        )


def resolve_reach(principal: Principal, filters: Filters) -> Reach:
    """The reach of a search by this principal, as of the transaction it is called in."""
    scopes = visible_scopes(principal)
    if not scopes or not filters:
        return Reach(scopes=scopes)
    documents = matching_documents(filters, scopes)
    return Reach(
        scopes=scopes,
        document_ids=tuple(document_id for document_id, _chunks in documents),
        filtered_chunks=sum(chunks for _document, chunks in documents),
    )


def matching_documents(filters: Filters, scopes: Sequence[int]) -> list[tuple[int, int]]:
    """(document id, chunks of its version in force) for all that meet the filters in the given access scopes."""
    documents = Document.objects.filter(
        _conditions(filters), scope_id__in=scopes, archived_at=None, active_version__state__in=IN_FORCE
    )
    if filters.modified_after or filters.modified_before:
        documents = documents.annotate(modified_at=changed_at()).filter(_period(filters))
    return list(documents.order_by("id").values_list("id", "active_version__chunk_count"))


def _conditions(filters: Filters) -> Q:
    condition = Q()
    if filters.collections is not None:
        condition &= Q(collection__uid__in=[uid for text in filters.collections if (uid := _uid(text))])
    for name in ("doc_type", "department", "security_level", "language"):
        if values := getattr(filters, name):
            condition &= Q(**{f"{name}__in": values})
    if filters.tags:
        condition &= Q(tags__overlap=list(filters.tags))
    return condition & matching(filters.metadata)


def _period(filters: Filters) -> Q:
    period = Q()
    if filters.modified_after:
        period &= Q(modified_at__gte=filters.modified_after)
    if filters.modified_before:
        period &= Q(modified_at__lt=filters.modified_before)
    return period


def _uid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
