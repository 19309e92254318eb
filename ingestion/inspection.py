"""What was made of a document, for its own page: chunks beside the page or the text they come from, and the processing log.

The document has been read as somebody already.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Max, Min, QuerySet

from ingestion.files import has_page_images
from ingestion.models import (
    IN_FORCE,
    UNFINISHED,
    Chunk,
    Document,
    DocumentVersion,
    Element,
    ProcessingEvent,
    VersionState,
)

CHUNKS = 20
A4 = (595.0, 842.0)
BOX_KINDS = {
    "title": "el-head",
    "heading": "el-head",
    "table": "el-table",
    "caption": "el-cap",
    "note": "el-cap",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the address asks for. `chunk`: order of the selected one; `everything`: all chunks, not only the page's."""

    page: int | None = None
    chunk: int | None = None
    text: str = ""
    everything: bool = False
    list_page: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """An element's rectangle on the shown page, in points, and the chunk that it is part of."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    chunk: int | None

    @property
    def label_y(self) -> float:
        return round(self.y + 9, 1)


@dataclass(frozen=True, kw_only=True)
class Content:
    """Chunks and where they stand. Everything is read when it is asked for, and once."""

    document: Document
    version: DocumentVersion
    place: Place

    @property
    def is_paged(self) -> bool:
        return has_page_images(self.version)

    @property
    def page_count(self) -> int:
        return self.version.page_count or 1

    @cached_property
    def chunks(self) -> QuerySet[Chunk]:
        chunks = Chunk.objects.filter(document=self.document, version=self.version).order_by("order")
        return chunks.select_related("correction__made_by")

    @cached_property
    def total(self) -> int:
        return self.chunks.count()

    @cached_property
    def selected(self) -> Chunk | None:
        return None if self.place.chunk is None else self.chunks.filter(order=self.place.chunk).first()

    @cached_property
    def page_number(self) -> int:
        """The page of a paged document that is shown, from 1."""
        wanted = self.place.page
        if wanted is None:
            first = self.selected or self.chunks.exclude(page=None).first()
            wanted = (first.page if first else None) or 1
        return min(max(wanted, 1), self.page_count)

    @property
    def only_page(self) -> bool:
        return self.is_paged and not self.place.everything and not self.place.text

    @cached_property
    def listed(self) -> Page[Chunk]:
        """The chunks of the shown page, or a page of all that hold the text."""
        chunks = self.chunks
        if self.only_page:
            bounds = self._on_page.aggregate(first=Min("order"), last=Max("order"))
            if bounds["first"] is None:
                return Paginator(chunks.none(), CHUNKS).get_page(1)
            here = chunks.filter(first_element__lte=bounds["last"], last_element__gte=bounds["first"])
            return Paginator(here, 200).get_page(1)
        if self.place.text:
            chunks = chunks.filter(text__icontains=self.place.text)
        paginator = Paginator(chunks, CHUNKS)
        wanted = self.place.list_page
        if not wanted and self.selected is not None and not self.place.text:
            wanted = str(chunks.filter(order__lt=self.selected.order).count() // CHUNKS + 1)
        return paginator.get_page(wanted or 1)

    @property
    def _on_page(self) -> QuerySet[Element]:
        return self.version.elements.filter(page=self.page_number).order_by()

    @cached_property
    def elements(self) -> list[Element]:
        """The elements beside the chunks: those of the page, or those that the listed chunks are made of."""
        elements = self.version.elements.order_by("order")
        if self.is_paged:
            return list(elements.filter(page__in=[self.page_number - 1, self.page_number]))
        shown = list(self.listed)
        if not shown:
            return list(elements[:CHUNKS])
        first = min(chunk.first_element for chunk in shown)
        if self.listed.number == 1 and not self.place.text:
            first = 0
        return list(elements.filter(order__gte=first, order__lte=max(c.last_element for c in shown)))

    def chunk_of(self, order: int) -> int | None:
        """The order of the first listed chunk that holds the element."""
        return next((c.order for c in self.listed if c.first_element <= order <= c.last_element), None)

    @cached_property
    def placed(self) -> list[tuple[Element, int | None]]:
        return [(element, self.chunk_of(element.order)) for element in self.elements]

    @cached_property
    def _raw_boxes(self) -> list[tuple[Element, dict[str, Any]]]:
        here = self.page_number
        return [(element, box) for element in self.elements for box in element.boxes if box["page"] == here]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the shown page in points: any box on it knows; without one it is A4."""
        if not self._raw_boxes:
            return A4
        box = self._raw_boxes[0][1]
        return box["page_width"], box["page_height"]

    @cached_property
    def boxes(self) -> list[Box]:
        return [
            Box(
                x=round(box["x0"] - 2, 1),
                y=round(box["y0"] - 1, 1),
                width=round(box["x1"] - box["x0"] + 4, 1),
                height=round(box["y1"] - box["y0"] + 2, 1),
                kind=BOX_KINDS.get(element.kind, ""),
                chunk=self.chunk_of(element.order),
            )
            for element, box in self._raw_boxes
        ]

    @property
    def labels(self) -> list[Box]:
        """The first box of each chunk, where its number stands."""
        first: dict[int, Box] = {}
        for box in self.boxes:
            if box.chunk is not None:
                first.setdefault(box.chunk, box)
        return list(first.values())


def content_of(document: Document, place: Place, *, may_edit: bool = False) -> Content | None:
    """The version that readers get, else for those who edit the newest that has been read; None if there is neither."""
    version = document.active_version
    if version is None and may_edit:
        version = document.versions.filter(chunks__isnull=False).order_by("-number").first()
    return Content(document=document, version=version, place=place) if version else None


# --- the log ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRow:
    """One step of a version's way. `outcome`: "done", "running", "interrupted", "failed" or "cancelled"."""

    stage: str
    started: datetime
    ended: datetime | None = None
    attempt: int = 1
    done: int = 0
    unit: str = ""
    outcome: str = "running"
    reason_code: str = ""
    reason_params: dict[str, Any] | None = None

    @property
    def duration(self) -> timedelta | None:
        return self.ended - self.started if self.ended else None


def log_of(events: Iterable[ProcessingEvent]) -> list[LogRow]:
    """The events of one version, in order, as steps with a start and an end."""
    rows: list[LogRow] = []
    for event in events:
        if rows and rows[-1].outcome == "running":
            rows[-1] = _closed(rows[-1], event)
        if event.kind == ProcessingEvent.Kind.RECEIVED:
            rows.append(
                LogRow(
                    stage="received",
                    started=event.at,
                    ended=event.at,
                    outcome="done",
                    reason_code=event.reason_code,
                )
            )
        elif event.kind == ProcessingEvent.Kind.STARTED:
            rows.append(LogRow(stage=event.stage, started=event.at, attempt=event.attempt))
        elif event.kind == ProcessingEvent.Kind.ENDED and not _tells_of(rows, event):
            rows.append(_end_alone(event))
    return rows


def durations_of(version: DocumentVersion) -> list[LogRow]:
    """The steps of the last run that were done, each with how long it took; one of no length to speak of is left out."""
    rows = log_of(version.events.all())
    begun = max((place for place, row in enumerate(rows) if row.stage == "received"), default=-1)
    done = [row for row in rows[begun + 1 :] if row.outcome == "done" and row.duration]
    return [row for row in done if row.duration and row.duration.total_seconds() >= 0.001]


def _tells_of(rows: Sequence[LogRow], event: ProcessingEvent) -> bool:
    """Whether the last step says already how it ended."""
    return bool(rows) and rows[-1].ended == event.at and rows[-1].stage != "received"


def _closed(row: LogRow, event: ProcessingEvent) -> LogRow:
    """The step as the next event ends it."""
    outcome = "done"
    if (
        event.kind == ProcessingEvent.Kind.FAULT
        or (event.kind == ProcessingEvent.Kind.STARTED and _begins_anew(row, event))
        or event.kind == ProcessingEvent.Kind.RECEIVED
    ):
        outcome = "interrupted"
    elif event.kind == ProcessingEvent.Kind.ENDED:
        outcome = _outcome(event)
    return replace(
        row,
        ended=event.at,
        outcome=outcome,
        done=event.done,
        unit=event.unit,
        reason_code=event.reason_code,
        reason_params=event.reason_params,
    )


def _begins_anew(row: LogRow, event: ProcessingEvent) -> bool:
    """Whether the step was broken off without a word: its worker died, and another took over."""
    return event.stage == row.stage or event.attempt > row.attempt


def _outcome(event: ProcessingEvent) -> str:
    if event.outcome in IN_FORCE:
        return "done"
    return "cancelled" if event.outcome == VersionState.CANCELLED else "failed"


def _end_alone(event: ProcessingEvent) -> LogRow:
    return LogRow(
        stage="ended",
        started=event.at,
        ended=event.at,
        outcome=_outcome(event),
        done=event.done,
        unit=event.unit,
        reason_code=event.reason_code,
        reason_params=event.reason_params,
    )


def unfinished(version: DocumentVersion | None) -> bool:
    return version is not None and version.state in UNFINISHED
