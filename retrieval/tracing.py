"""How each search went: timings while it runs, one stored row when it is done, and who may look at it later."""

import logging
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from django.db import DatabaseError, connection
from django.utils import timezone
from psycopg.types.json import Jsonb

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion.models import Chunk
from ingestion.selectors import collections_for, documents_for
from kb_platform.errors import NotFound
from retrieval.channels.external.values import source_of
from retrieval.fusion import Signal
from retrieval.models import SearchTrace
from retrieval.search_settings import SearchSettings
from retrieval.sources.selectors import open_source_uids
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
    shown: tuple[Key, ...] = ()
    signals: Mapping[Key, Signal] = field(default_factory=dict)
    terms: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)
    idf: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A search made to look at it: whose trace it becomes, under which id, and which knobs were set for it alone.

    is_partly_hidden: whether it is made as somebody who sees what the owner does not.
    """

    trace_id: str
    owner: Principal
    changed: tuple[str, ...] = ()
    is_partly_hidden: bool = False


def store_trace(
    request: SearchRequest, outcome: Outcome, *, principal: Principal, replay: Replay | None = None
) -> None:
    """Write the row. A failure is logged and never reaches the reader."""
    owner = replay.owner if replay else principal
    values: dict[str, Any] = {
        "trace_id": outcome.trace_id,
        "user_id": owner.user_id,
        "as_user_id": principal.user_id if owner.user_id != principal.user_id else None,
        "is_partly_hidden": replay is not None and replay.is_partly_hidden,
        "changed": Jsonb(list(replay.changed) if replay else []),
        "query": request.text,
        "mode": request.mode.value,
        "filters": Jsonb(request.filters.as_json()),
        "generation": outcome.generation,
        "degraded": Jsonb(list(outcome.degraded)),
        "timings_ms": Jsonb(outcome.timings_ms),
        "candidates": Jsonb([_as_json(candidate, outcome) for candidate in outcome.candidates]),
        "shown": Jsonb(list(outcome.shown)),
        "offset": request.offset,
        "terms": Jsonb({term: round(weight, 4) for term, weight in outcome.idf.items()}),
        "settings": Jsonb(outcome.settings.as_json()),
        "spans": Jsonb([asdict(span) for span in outcome.spans]),
        "dropped": Jsonb({str(key): reason for key, reason in outcome.dropped.items()}),
        "hidden_count": outcome.hidden_count,
        "evidence": outcome.evidence,
        "explanations": Jsonb(_explanations(outcome) | _confines(owner)),
        "created_at": timezone.now(),
    }
    try:
        with connection.cursor() as cursor:
            cursor.execute(_STORE, values)
    except DatabaseError as error:
        log.warning("a search trace could not be stored", extra={"cause": str(error)})


_COLUMNS = (
    "trace_id", "user_id", "as_user_id", "is_partly_hidden", "changed", "query", "mode", "filters", "generation",
    "degraded", "timings_ms", "candidates", "shown", "offset", "terms", "settings", "spans", "dropped", "hidden_count",
    "evidence", "explanations", "created_at",
)  # fmt: skip
_NAMES = ", ".join(f'"{name}"' for name in _COLUMNS)
_VALUES = ", ".join(f"%({name})s" for name in _COLUMNS)
# One statement, and it waits for no disk: losing the last traces in a crash is fine.
_QUICKLY = "with quick as (select set_config('synchronous_commit', 'off', true)) "
_STORE = f"{_QUICKLY} insert into retrieval_searchtrace ({_NAMES}) select {_VALUES} from quick"  # noqa: S608 - constants


WITHIN = "within"


def _confines(owner: Principal) -> dict[str, Any]:
    """The scopes of the collections to which the token of a search is limited, for `visible_trace` alone."""
    limits = owner.token.collections if owner.token else frozenset()
    return {WITHIN: sorted(limits)} if limits else {}


def _explanations(outcome: Outcome) -> dict[str, Any]:
    """As they were given, less what a document brought in: words that a lone character stood for, cells of a table."""
    kept = dict(outcome.explanations)
    for name, told in kept.items():
        if isinstance(told, Mapping) and "matching" in told:
            kept[name] = {**told, "matching": [word for word in told["matching"] if word in outcome.idf]}
    if direct := kept.get("direct"):
        kept["direct"] = {
            name: value
            for name, value in direct.items()
            if name in _OF_DIRECT or isinstance(value, int | float)
        }
    return kept


_OF_DIRECT = frozenset({"kind", "wants", "topic"})  # texts that are the question's own, or codes


def _as_json(candidate: Candidate, outcome: Outcome) -> dict[str, Any]:
    """Ids, ranks and numbers; of words only those of the question, never one that a document brought in."""
    key = candidate.chunk_id
    entry: dict[str, Any] = {"chunk": key, "score": round(candidate.score, 8)}
    entry |= {name: [hit.rank, round(hit.score, 6)] for name, hit in candidate.channels.items()}
    if signal := outcome.signals.get(key):
        values = {part: getattr(signal, part) for part in _PARTS}
        entry["signal"] = {
            part: round(value, 4) if isinstance(value, float) else value
            for part, value in values.items()
            if value
        }
    if words := [term for term in outcome.terms.get(key, ()) if term in outcome.idf]:
        entry["terms"] = words
    return entry


_PARTS = tuple(part.name for part in fields(Signal))
BESIDES = frozenset({"chunk", "score", "rank", "signal", "terms"})
"""What an entry of a candidate holds besides its channels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTrace:
    """A trace as one reader may see it: candidates that are hidden from them are left out and counted.

    Where a replay was made as somebody who sees more than its maker, all numbers go that depend on what is hidden: scores,
    weights of words, the verdict and what the channels told. Ranks, and how many were left out, remain. The same where
    the question was rewritten with words of a document that is no longer open (is_rewriting_closed). collections: those of
    the synonyms applied that are open: what one's own dictionary says is told to nobody else, whatever was found by it.
    """

    trace: SearchTrace
    candidates: tuple[dict[str, Any], ...]
    left_out: int
    is_rewriting_closed: bool = False
    collections: frozenset[int | None] = frozenset()

    @property
    def is_withheld(self) -> bool:
        is_closed_run = self.trace.as_user_id is not None and self.left_out > 0
        return self.trace.is_partly_hidden or is_closed_run or self.is_rewriting_closed

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(str(candidate["chunk"]) for candidate in self.candidates)

    @property
    def dropped(self) -> dict[str, str]:
        """Why a candidate is not among the results, by key."""
        return {key: reason for key, reason in self.trace.dropped.items() if key in self.keys}

    @property
    def shown(self) -> tuple[str, ...]:
        """Keys of the page that was given, with "" for what is hidden."""
        return tuple(str(key) if str(key) in self.keys else "" for key in self.trace.shown)

    @property
    def evidence(self) -> str:
        return "" if self.is_withheld else self.trace.evidence

    @property
    def terms(self) -> dict[str, float]:
        return {} if self.is_withheld else self.trace.terms

    @property
    def explanations(self) -> dict[str, Any]:
        told = {name: value for name, value in self.trace.explanations.items() if name != WITHIN}
        if synonyms := told.get("synonyms"):
            told["synonyms"] = [one[:3] for one in synonyms if self.collections.issuperset(one[3:])]
        same = {key: above for key, above in told.get("same_text", {}).items() if {key, above} <= self.keys}
        kept = {"cached": told.get("cached", False)} if self.is_withheld else told
        if parts := kept.get("parts"):
            kept = {**kept, "parts": [self._part(part) for part in parts]}
        return {**kept, "same_text": same}

    def _part(self, part: Mapping[str, Any]) -> dict[str, Any]:
        return {**part, "candidates": [key for key in part.get("candidates", ()) if str(key) in self.keys]}


def visible_trace(principal: Principal, trace_id: str) -> ShownTrace:
    """One's own trace. Raises NotFound for all others, also to administrators: a trace holds what somebody asked.

    One that was made as somebody else is open to its maker while they administer. A token that is limited to collections
    opens those alone that were made within its limits: all that a trace tells depends on what the search could see.
    """
    traces = SearchTrace.objects.filter(trace_id=trace_id.replace("\x00", ""), user_id=principal.user_id)
    trace = traces.select_related("user", "as_user").first()
    if trace is None or (trace.as_user_id is not None and not principal.is_administrator):
        raise NotFound()
    if not _is_within_limits(trace, principal):
        raise NotFound()
    candidates = _visible_candidates(trace, principal)
    shown = ShownTrace(
        trace=trace,
        candidates=candidates,
        left_out=len(trace.candidates) - len(candidates),
        is_rewriting_closed=not _all_open(trace.explanations, principal),
        collections=_open_collections(trace.explanations, principal),
    )
    if not shown.is_withheld:
        return shown
    kept = _RANKS if shown.is_rewriting_closed else _RANKS | {"terms"}
    return replace(shown, candidates=tuple(_ranks_only(entry, kept) for entry in candidates))


def _is_within_limits(trace: SearchTrace, principal: Principal) -> bool:
    limits = principal.token.collections if principal.token else frozenset()
    within = set(trace.explanations.get(WITHIN, ()))
    return not limits or (bool(within) and within <= limits)


def _all_open(explanations: Mapping[str, Any], principal: Principal) -> bool:
    """Whether every document whose words went into the question is open."""
    understood = explanations.get("understanding")
    sources = set(understood.get("sources", ())) if isinstance(understood, Mapping) else set()
    return not sources or documents_for(principal).filter(uid__in=sources).count() == len(sources)


def _open_collections(explanations: Mapping[str, Any], principal: Principal) -> frozenset[int | None]:
    """Of the collections whose own synonyms were applied; None for those that hold everywhere."""
    asked = {place for one in explanations.get("synonyms", ()) for place in one[3:]} - {None}
    if not asked:
        return frozenset({None})
    found = collections_for(principal).filter(pk__in=asked).values_list("pk", flat=True)
    return frozenset({None, *found})


def _visible_candidates(trace: SearchTrace, principal: Principal) -> tuple[dict[str, Any], ...]:
    """With their rank. A passage from elsewhere is its asker's own, found with their rights there, while these last."""
    ranked = [{**candidate, "rank": rank} for rank, candidate in enumerate(trace.candidates, start=1)]
    chunk_ids = [entry["chunk"] for entry in ranked if isinstance(entry["chunk"], int)]
    visible = set(
        Chunk.objects.filter(id__in=chunk_ids, document__scope_id__in=visible_scopes(principal)).values_list(
            "id", flat=True
        )
    )
    named = {source_of(entry["chunk"]) for entry in ranked} - {""}
    sources = open_source_uids(principal, named) if trace.as_user_id is None else frozenset()
    return tuple(
        entry for entry in ranked if entry["chunk"] in visible or source_of(entry["chunk"]) in sources
    )


_RANKS = frozenset({"chunk", "rank"})


def _ranks_only(entry: dict[str, Any], kept: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name in kept} | {
        name: [value[0], None]
        for name, value in entry.items()
        if name not in BESIDES and isinstance(value, list)
    }
