"""From a question to the passages a reader may see: start reading here.

recall (lexical while the question is embedded, then dense; one snapshot) -> rank -> hydrate (second access check, in a
new snapshot) -> judge the evidence -> trace. There is no second way to find a passage.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from django.conf import settings
from django.db import DatabaseError
from django.db.backends.utils import CursorWrapper

from accounts.values import Principal
from ingestion.indexing.analyzer import distinct_query_terms, lone_character
from ingestion.indexing.generations import active_generation
from ingestion.models import IndexGeneration
from kb_platform.trace import new_trace_id, trace_id
from retrieval.channels.dense import choose_plan, read_cosines, search_dense
from retrieval.channels.lexical import (
    TermStatistics,
    Traits,
    read_statistics,
    read_terms_with,
    read_traits,
    search_lexical,
)
from retrieval.evidence import Support, assess, code_coverage, coverage, is_chinese
from retrieval.fusion import Signal, fuse_by_evidence, fuse_by_rank
from retrieval.hydration import HydratedPage, PageRequest, hydrate
from retrieval.question_vector import PendingVector, QuestionVector
from retrieval.reach import Reach, resolve_reach
from retrieval.snapshot import read_snapshot
from retrieval.tracing import Outcome, Timings, store_trace
from retrieval.values import Candidate, Evidence, Hit, SearchRequest, SearchResult

log = logging.getLogger(__name__)
DENSE, LEXICAL = "dense", "lexical"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What the channels found in one generation, best first. `idf`: the weight of each distinct question term.

    signals: what is known of every chunk found. terms: the question's tokens in it.
    vector: None when the question was not embedded. degraded: channels that were asked for and did not work.
    """

    generation: int
    hits: Mapping[str, list[Hit]] = field(default_factory=dict)
    signals: Mapping[int, Signal] = field(default_factory=dict)
    terms: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    idf: Mapping[str, float] = field(default_factory=dict)
    vector: QuestionVector | None = None
    degraded: tuple[str, ...] = ()


def search(
    request: SearchRequest, *, principal: Principal, generation: IndexGeneration | None = None
) -> SearchResult:
    """The page of passages that fit the request best, of those open to the principal now.

    generation: another one than the active, for evaluation. Raises Unavailable before the index is set up.
    """
    timings = Timings()
    recalled, ranking, page = _find(request, principal, generation, timings)
    if page.is_stale:  # a document changed under the search; a new snapshot has its new version
        recalled, ranking, page = _find(request, principal, generation, timings)
    evidence = judge(recalled, page)
    outcome = Outcome(
        trace_id=trace_id() or new_trace_id(),
        generation=recalled.generation,
        candidates=ranking,
        degraded=recalled.degraded,
        timings_ms=timings.finish(),
    )
    store_trace(request, outcome, principal=principal)
    return SearchResult(
        passages=page.passages,
        evidence=evidence,
        degraded=outcome.degraded,
        total_estimate=page.readable_count,
        trace_id=outcome.trace_id,
        timings_ms=outcome.timings_ms,
        idf=recalled.idf,
        query_vector=recalled.vector.vector if recalled.vector else None,
    )


def recall(
    request: SearchRequest,
    *,
    principal: Principal,
    generation: IndexGeneration | None = None,
    timings: Timings | None = None,
) -> Recall:
    """Candidates of every channel that the mode allows. Access and filters are part of each channel's query."""
    ask = _Ask(
        request=request,
        principal=principal,
        generation=generation,
        terms=distinct_query_terms(request.text) if request.has_words else [],
        character=lone_character(request.text) if request.has_words else None,
        pending=PendingVector(request.text) if request.mode.uses(DENSE) and request.has_words else None,
        timings=timings or Timings(),
    )
    try:
        return _recall(ask, failed=())
    except _ChannelFailed as failure:  # its transaction is lost; a new one goes on without it
        log.warning("a channel failed", extra={"channel": failure.channel, "cause": str(failure.__cause__)})
        return _recall(ask, failed=(failure.channel,))


def rank(recalled: Recall) -> tuple[Candidate, ...]:
    """One ranking out of the channels' hits, best first."""
    hits = {name: recalled.hits[name] for name in (DENSE, LEXICAL) if name in recalled.hits}
    if len(hits) == 2 and settings.FUSION == "evidence":
        return fuse_by_evidence(hits, recalled.signals)
    return fuse_by_rank(hits)


def judge(recalled: Recall, page: HydratedPage) -> Evidence:
    """The evidence verdict over the first passages of the ranking."""
    signals = [recalled.signals[passage.chunk_id] for passage in page.judged]
    supports = [
        Support(terms=frozenset(passage.terms), cosine=signal.cosine, is_same_language=not signal.is_foreign)
        for passage, signal in zip(page.judged, signals, strict=True)
    ]
    return assess(supports, recalled.idf)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """terms: the question's tokens. character: the one it consists of, which stands for all terms that contain it."""

    request: SearchRequest
    principal: Principal
    generation: IndexGeneration | None
    terms: list[str]
    character: str | None
    pending: PendingVector | None
    timings: Timings


class _ChannelFailed(Exception):
    def __init__(self, channel: str) -> None:
        super().__init__(channel)
        self.channel = channel


def _recall(ask: _Ask, *, failed: tuple[str, ...]) -> Recall:
    """One snapshot: what may be read, the words' statistics, the channels, and both measures of what they found."""
    with read_snapshot() as cursor:
        index = ask.generation or active_generation()
        reach = resolve_reach(ask.principal, ask.request.filters)
        if reach.is_empty or not ask.request.has_words:
            return Recall(generation=index.number)
        terms = ask.terms
        if ask.character:
            terms = read_terms_with(cursor, index.number, reach.scopes, ask.character) or terms
        statistics = read_statistics(cursor, index.number, reach.scopes, terms)
        hits: dict[str, list[Hit]] = {}
        if ask.request.mode.uses(LEXICAL) and LEXICAL not in failed:
            with _channel(LEXICAL, ask.timings):
                hits[LEXICAL] = search_lexical(
                    cursor, index.number, statistics, reach, settings.CANDIDATE_POOL
                )
        vector = _question_vector(ask, index) if DENSE not in failed else None
        if vector:
            with _channel(DENSE, ask.timings):
                hits[DENSE] = _dense(cursor, index.number, vector, statistics, reach)
        with ask.timings.measure("signals"):
            found = list(dict.fromkeys(hit.chunk_id for name in hits for hit in hits[name]))
            traits = read_traits(cursor, index.number, found, terms)
            cosines = _cosines(cursor, index.number, vector, hits)
    idf = statistics.idf()
    if ask.character:  # any of the terms is all that was asked for
        traits = {chunk_id: _as_one(chunk, ask.character) for chunk_id, chunk in traits.items()}
        idf = {ask.character: max(idf.values())}
    other_language = "en" if is_chinese(ask.request.text) else "zh"
    signals = {
        chunk_id: Signal(
            cosine=cosines.get(chunk_id),
            coverage=coverage(frozenset(chunk.terms), idf),
            codes=code_coverage(frozenset(chunk.terms), idf),
            is_foreign=chunk.language == other_language,
        )
        for chunk_id, chunk in traits.items()
    }
    asked = {name for name in (DENSE, LEXICAL) if ask.request.mode.uses(name)}
    return Recall(
        generation=index.number,
        hits=hits,
        signals=signals,
        terms={chunk_id: chunk.terms for chunk_id, chunk in traits.items()},
        idf=idf,
        vector=vector,
        degraded=tuple(sorted(asked - hits.keys())),
    )


def _as_one(chunk: Traits, character: str) -> Traits:
    """A chunk with any of the widened terms holds the character too."""
    return replace(chunk, terms=tuple(dict.fromkeys((*chunk.terms, character)))) if chunk.terms else chunk


def _question_vector(ask: _Ask, index: IndexGeneration) -> QuestionVector | None:
    if ask.pending is None:
        return None
    with ask.timings.measure("wait_for_vector"):
        vector = ask.pending.wait(fingerprint=index.embedder)
    if vector:
        ask.timings.note("embed", vector.seconds)
    return vector


def _find(
    request: SearchRequest, principal: Principal, generation: IndexGeneration | None, timings: Timings
) -> tuple[Recall, tuple[Candidate, ...], HydratedPage]:
    with timings.measure("recall"):
        recalled = recall(request, principal=principal, generation=generation, timings=timings)
    ranking = rank(recalled)
    asked = PageRequest(offset=request.offset, limit=request.top_k, terms=recalled.terms)
    with timings.measure("hydrate"):
        page = hydrate(ranking, asked, principal=principal, generation=recalled.generation)
    return recalled, ranking, page


def _dense(
    cursor: CursorWrapper, generation: int, vector: QuestionVector, statistics: TermStatistics, reach: Reach
) -> list[Hit]:
    reachable = statistics.chunk_count if reach.filtered_chunks is None else reach.filtered_chunks
    plan = choose_plan(reachable=reachable, everything=statistics.all_chunks)
    return search_dense(cursor, generation, vector.vector, reach, plan=plan, limit=settings.CANDIDATE_POOL)


def _cosines(
    cursor: CursorWrapper, generation: int, vector: QuestionVector | None, hits: Mapping[str, list[Hit]]
) -> dict[int, float]:
    """The cosine of every chunk found, exactly, also where the dense channel missed it; empty without a vector."""
    if vector is None:
        return {}
    cosines = {hit.chunk_id: hit.score for hit in hits.get(DENSE, ())}
    missing = [hit.chunk_id for hit in hits.get(LEXICAL, ()) if hit.chunk_id not in cosines]
    return cosines | read_cosines(cursor, generation, vector.vector, missing)


@contextmanager
def _channel(name: str, timings: Timings) -> Iterator[None]:
    """One channel's query. Raises _ChannelFailed if the database refuses it."""
    try:
        with timings.measure(name):
            yield
    except DatabaseError as error:
        raise _ChannelFailed(name) from error
