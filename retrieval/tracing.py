"""How each search went: timings while it runs, one stored row when it is done, and who may look at it later."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db import DatabaseError, connection, transaction

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion.models import Chunk
from kb_platform.errors import NotFound
from retrieval.models import SearchTrace
from retrieval.search_settings import SearchSettings
from retrieval.values import Candidate, Key, SearchRequest

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One step: milliseconds since the search began, and how deep it lies in other steps."""

    step: str
    start_ms: float
    ms: float
    depth: int = 0


@dataclass(slots=True)
class Timings:
    """The steps of one search, in the order in which they ended."""

    started: float = field(default_factory=time.perf_counter)
    spans: list[Span] = field(default_factory=list)
    _depth: int = 0

    @contextmanager
    def measure(self, step: str) -> Iterator[None]:
        begun = time.perf_counter()
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            self._add(step, begun, time.perf_counter() - begun)

    def note(self, step: str, seconds: float) -> None:
        """A step beside the others that has just ended."""
        self._add(step, time.perf_counter() - seconds, seconds)

    def _add(self, step: str, begun: float, seconds: float) -> None:
        start = round((begun - self.started) * 1000, 2)
        self.spans.append(
            Span(step=step, start_ms=max(start, 0.0), ms=round(seconds * 1000, 2), depth=self._depth)
        )

    def finish(self) -> dict[str, float]:
        """Milliseconds by step, repeated ones added up, and `total` since the beginning."""
        steps: dict[str, float] = {}
        for span in self.spans:
            steps[span.step] = round(steps.get(span.step, 0.0) + span.ms, 2)
        return {**steps, "total": round((time.perf_counter() - self.started) * 1000, 2)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a trace keeps of a search beside its request: numbers and ids, no text of any document.

    dropped: why a candidate is not among the results, by key. hidden_count: candidates that were no longer the reader's
    to read when their text was fetched; which ones is not kept.
    """

    trace_id: str
    generation: int
    candidates: tuple[Candidate, ...]
    degraded: tuple[str, ...]
    timings_ms: dict[str, float]
    settings: SearchSettings
    spans: Sequence[Span] = ()
    dropped: Mapping[Key, str] = field(default_factory=dict)
    hidden_count: int = 0
    evidence: str = ""
    explanations: Mapping[str, Any] = field(default_factory=dict)


def store_trace(request: SearchRequest, outcome: Outcome, *, principal: Principal) -> None:
    """Write the row. A failure is logged and never reaches the reader."""
    try:
        with transaction.atomic():
            with (
                connection.cursor() as cursor
            ):  # losing the last traces in a crash is fine, waiting for the disk is not
                cursor.execute("set local synchronous_commit = off")
            SearchTrace.objects.create(
                trace_id=outcome.trace_id,
                user_id=principal.user_id,
                query=request.text,
                mode=request.mode.value,
                filters=request.filters.as_json(),
                generation=outcome.generation,
                degraded=list(outcome.degraded),
                timings_ms=outcome.timings_ms,
                candidates=[_as_json(candidate) for candidate in outcome.candidates],
                settings=outcome.settings.as_json(),
                spans=[asdict(span) for span in outcome.spans],
                dropped={str(key): reason for key, reason in outcome.dropped.items()},
                hidden_count=outcome.hidden_count,
                evidence=outcome.evidence,
                explanations=dict(outcome.explanations),
            )
    except DatabaseError as error:
        log.warning("a search trace could not be stored", extra={"cause": str(error)})


def _as_json(candidate: Candidate) -> dict[str, Any]:
    channels = {name: [hit.rank, round(hit.score, 6)] for name, hit in candidate.channels.items()}
    return {"chunk": candidate.chunk_id, "score": round(candidate.score, 8), **channels}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTrace:
    """A trace as one reader may see it: candidates that are hidden from them are left out."""

    trace: SearchTrace
    candidates: tuple[dict[str, Any], ...]


def visible_trace(principal: Principal, trace_id: str) -> ShownTrace:
    """One's own trace. Raises NotFound for all others, also to administrators: a trace holds what somebody asked."""
    traces = SearchTrace.objects.filter(trace_id=trace_id.replace("\x00", ""), user_id=principal.user_id)
    trace = traces.select_related("user").first()
    if trace is None:
        raise NotFound()
    return ShownTrace(
        trace=trace, candidates=_visible_candidates(trace.candidates, visible_scopes(principal))
    )


def _visible_candidates(
    candidates: Sequence[dict[str, Any]], scopes: Sequence[int]
) -> tuple[dict[str, Any], ...]:
    visible = set(
        Chunk.objects.filter(
            id__in=[candidate["chunk"] for candidate in candidates], document__scope_id__in=scopes
        ).values_list("id", flat=True)
    )
    return tuple(
        {**candidate, "rank": rank}
        for rank, candidate in enumerate(candidates, start=1)
        if candidate["chunk"] in visible
    )
