"""What was read for an answer: the passages its search put first, as far as the reader may see them now."""

from collections.abc import Iterable
from dataclasses import dataclass

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion.models import IN_FORCE, Chunk
from retrieval.chat.service import PASSAGES
from retrieval.links import source_url
from retrieval.models import SearchTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPassage:
    """A passage with its place; it meets `links.Place`."""

    document_uid: str
    version_number: int
    first_element: int
    last_element: int
    title: str
    heading_path: tuple[str, ...]
    page: int | None

    @property
    def heading(self) -> str:
        """The nearest heading above it that says more than the title."""
        return next((part for part in reversed(self.heading_path) if part != self.title), "")

    @property
    def url(self) -> str:
        return source_url(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """passages: best first. seconds: of the whole search."""

    passages: tuple[ReadPassage, ...]
    seconds: float

    @property
    def document_count(self) -> int:
        return len({passage.document_uid for passage in self.passages})


def readings_of(principal: Principal, trace_ids: Iterable[str]) -> dict[str, Reading]:
    """The readings behind one's own answers by trace id; a search that left no readable passage has none."""
    wanted = {trace_id for trace_id in trace_ids if trace_id}
    traces = (
        list(SearchTrace.objects.filter(trace_id__in=wanted, user_id=principal.user_id)) if wanted else []
    )
    ranked = {trace.trace_id: [candidate["chunk"] for candidate in trace.candidates] for trace in traces}
    open_now = _readable(principal, {key for keys in ranked.values() for key in keys if isinstance(key, int)})
    readings: dict[str, Reading] = {}
    for trace in traces:
        chunk_ids = [chunk_id for chunk_id in ranked[trace.trace_id] if chunk_id in open_now][:PASSAGES]
        if chunk_ids:
            readings[trace.trace_id] = Reading(
                passages=tuple(open_now[chunk_id] for chunk_id in chunk_ids),
                seconds=float(trace.timings_ms.get("total", 0)) / 1000,
            )
    return readings


def _readable(principal: Principal, chunk_ids: set[int]) -> dict[int, ReadPassage]:
    if not chunk_ids:
        return {}
    chunks = Chunk.objects.filter(
        id__in=chunk_ids,
        document__scope_id__in=visible_scopes(principal),
        document__archived_at=None,
        version__state__in=IN_FORCE,
    ).select_related("document", "version")
    return {
        chunk.pk: ReadPassage(
            document_uid=str(chunk.document.uid),
            version_number=chunk.version.number,
            first_element=chunk.first_element,
            last_element=chunk.last_element,
            title=chunk.document.title,
            heading_path=tuple(chunk.heading_path),
            page=chunk.page,
        )
        for chunk in chunks.only(
            "first_element", "last_element", "heading_path", "page",
            "document__uid", "document__title", "version__number",
        )
    }  # fmt: skip
