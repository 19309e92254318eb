"""From a question to the passages a reader may see: start reading here.

understand -> recall (every channel, one snapshot; external sources beside it) -> rank -> rerank -> hydrate (second access check, in a new snapshot)
-> judge the evidence -> trace. There is no second way to find a passage.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections

from accounts.values import Principal
from ingestion.models import IndexGeneration
from kb_platform.trace import new_trace_id, trace_id
from retrieval.channels.dense import read_vectors
from retrieval.channels.external.channel import EXTERNAL, ExternalSearch, ask_outside
from retrieval.channels.faq import FAQ
from retrieval.channels.index import DENSE, LEXICAL
from retrieval.direct import find_direct
from retrieval.diversity import DEPTH, diversify
from retrieval.evidence import Support, assess
from retrieval.fusion import fuse_by_evidence, fuse_by_rank, fuse_by_scores, fuse_in_cascade
from retrieval.hydration import HydratedPage, PageRequest, hydrate, read_texts
from retrieval.iteration import PartFound, find_parts, merged
from retrieval.query.conditions import narrowed
from retrieval.query.understand import understand
from retrieval.query.values import Route, Understanding, without_documents_words
from retrieval.recall import Recall, recall
from retrieval.reranking.stage import RERANK, Reranked, rerank_as_configured
from retrieval.search_settings import Fusion, SearchSettings, current
from retrieval.snapshot import read_snapshot
from retrieval.tracing import Outcome, Replay, Timings, store_trace
from retrieval.values import (
    Candidate,
    Evidence,
    EvidenceLevel,
    Key,
    Passage,
    SearchRequest,
    SearchResult,
)
from retrieval.weights import DEFAULT_BOUNDS, EvidenceBounds

CONDITIONS_DROPPED = "conditions_dropped"
AT_ONCE = 4  # searches of a batch side by side, each with a connection of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One pass from recall to page. ranking: the results, and behind them what fell out; dropped: why it did.

    degraded: what was asked for and did not work.
    """

    recalled: Recall
    ranking: tuple[Candidate, ...]
    page: HydratedPage
    dropped: Mapping[Key, str] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    parts: tuple[PartFound, ...] = ()
    bounds: EvidenceBounds = DEFAULT_BOUNDS

    @property
    def evidence(self) -> Evidence:
        return judge(self.recalled, self.page, self.bounds)


def search(
    request: SearchRequest,
    *,
    principal: Principal,
    generation: IndexGeneration | None = None,
    replay: Replay | None = None,
) -> SearchResult:
    """The page of passages that fit the request best, of those open to the principal now.

    generation: another one than the active, for evaluation. replay: whose trace it becomes, when not the principal's.
    Raises Unavailable before the index is set up.
    """
    timings = Timings()
    settings = request.settings or current()
    with timings.measure("understand"):
        understood = understand(
            request.text,
            principal=principal,
            settings=settings,
            history=request.history,
            filters=request.filters,
            without=request.without,
        )
    run = Run(request=request, principal=principal, settings=settings, generation=generation, timings=timings)
    found, understood, notes = _find_understood(run, understood)
    recalled, page, evidence = found.recalled, found.page, found.evidence
    with timings.measure("direct"):
        direct = find_direct(
            understood,
            request.filters,
            principal=principal,
            recalled=recalled,
            settings=settings,
            passages=() if request.offset else page.passages,
        )
    outcome = Outcome(
        trace_id=replay.trace_id if replay else trace_id() or new_trace_id(),
        generation=recalled.generation,
        candidates=found.ranking,
        degraded=found.degraded,
        timings_ms=timings.finish(),
        settings=settings,
        spans=timings.spans,
        dropped={**found.dropped, **dict.fromkeys(page.folded, "same_text")},
        hidden_count=page.hidden_count,
        evidence=evidence.level.value,
        explanations={
            **recalled.explanations,
            "cached": recalled.is_cached,
            "database": recalled.database,
            "synonyms": [
                [one.said, one.means, one.weight, one.collection] for one in recalled.question.expansions
            ],
            **_explained(understood, found, notes),
            **({"direct": {"kind": direct.kind, **direct.detail}} if direct else {}),
            "same_text": _texts(page.folded),
            "evidence": {"cosine": evidence.cosine, "coverage": round(evidence.coverage, 4)},
        },
        shown=tuple(passage.chunk_id for passage in page.passages),
        signals=recalled.signals,
        terms=recalled.terms,
        idf=recalled.idf,
    )
    store_trace(request, outcome, principal=principal, replay=replay)
    return SearchResult(
        passages=page.passages,
        evidence=evidence,
        degraded=outcome.degraded,
        direct=direct,
        notes=notes,
        understanding=understood,
        total_estimate=page.readable_count,
        trace_id=outcome.trace_id,
        timings_ms=outcome.timings_ms,
        idf=recalled.idf,
        expansions=recalled.question.expansions,
        query_vector=recalled.vector.vector if recalled.vector else None,
    )


def _texts(folded: Mapping[Key, Key]) -> dict[str, str]:
    """Keys as JSON has them."""
    return {str(key): str(above) for key, above in folded.items()}


async def search_async(request: SearchRequest, *, principal: Principal) -> SearchResult:
    """`search` for coroutines: in a thread with a database connection of its own."""
    return await sync_to_async(_search_and_close, thread_sensitive=False)(request, principal)


def search_batch(requests: Sequence[SearchRequest], *, principal: Principal) -> list[SearchResult]:
    """Several searches side by side, in the order of the requests. The first error of one is raised."""
    if len(requests) < 2:
        return [search(request, principal=principal) for request in requests]
    with ThreadPoolExecutor(max_workers=min(AT_ONCE, len(requests)), thread_name_prefix="search") as threads:
        return list(threads.map(lambda request: _search_and_close(request, principal), requests))


def _search_and_close(request: SearchRequest, principal: Principal) -> SearchResult:
    try:
        return search(request, principal=principal)
    finally:  # nobody else gives back what a thread outside of a request holds of the pool
        connections.close_all()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one search is made with."""

    request: SearchRequest
    principal: Principal
    settings: SearchSettings
    generation: IndexGeneration | None
    timings: Timings
    parts: tuple[str, ...] = ()
    outside: ExternalSearch = field(default_factory=ExternalSearch)


def _find_understood(run: Run, understood: Understanding) -> tuple[Found, Understanding, tuple[str, ...]]:
    """With the conditions of the question; without them, and a note, where they leave nothing that answers it."""
    found = _find_fresh(_understood(run, understood))
    if not understood.conditions or understood.route is Route.CATALOGUE:
        return found, understood, ()
    if found.evidence.level is not EvidenceLevel.NONE:
        return found, understood, ()
    plain = replace(
        understood,
        search_text=understood.text,
        conditions=(),
        removed=(*understood.removed, *understood.conditions),
    )
    wider = _find_fresh(_understood(run, plain))
    if wider.evidence.level is EvidenceLevel.NONE and found.page.passages:
        return found, understood, ()
    return wider, plain, (CONDITIONS_DROPPED,)


def _understood(run: Run, understood: Understanding) -> Run:
    filters = narrowed(run.request.filters, understood.conditions)
    request = replace(run.request, text=understood.search_text, filters=filters)
    return replace(run, request=request, parts=understood.parts)


def _find_fresh(run: Run) -> Found:
    if run.generation is None:
        run = replace(run, outside=ask_outside(run.request, run.settings, principal=run.principal))
    found = find(run)
    if found.page.is_stale:  # a document changed under the search; a new snapshot has its new version
        found = find(run, may_lag=False)
    return found


def _explained(understood: Understanding, found: Found, notes: Sequence[str]) -> dict[str, Any]:
    parts = [part.as_json() for part in found.parts]
    if understood.sources:
        parts = [{**part, "text": ""} for part in parts]
    told = {"understanding": without_documents_words(understood), "parts": parts, "notes": list(notes)}
    return {name: value for name, value in told.items() if value}


def find(run: Run, *, may_lag: bool = True) -> Found:
    """One pass over the index for the request of the run. may_lag: whether recall may ask a read replica."""
    whole = _ranked(run, run.request.text, may_lag=may_lag, outside=run.outside)
    recalled, ranking = whole.recalled, whole.ranking
    parts: tuple[PartFound, ...] = ()
    if run.parts:
        with run.timings.measure("parts"):
            parts = find_parts(run.parts, partial(_look, run, may_lag=may_lag), partial(_read, run))
        recalled, ranking = merged(recalled, ranking, parts)
    kept = _above(ranking, run.settings.threshold)
    asked = PageRequest(
        offset=run.request.offset,
        limit=run.request.top_k,
        terms=recalled.terms,
        fold=run.settings.fold,
        brought=recalled.passages,
    )
    with run.timings.measure("hydrate"):
        page = hydrate(kept, asked, principal=run.principal, generation=recalled.generation)
    reached = {one.chunk_id for one in kept}
    below = {one.chunk_id: "below_threshold" for one in ranking if one.chunk_id not in reached}
    fallen = [one for one in whole.fallen if one.chunk_id not in reached and one.chunk_id not in below]
    return Found(
        recalled=recalled,
        ranking=(*ranking, *fallen),
        page=page,
        dropped={**{one.chunk_id: whole.dropped[one.chunk_id] for one in fallen}, **below},
        degraded=(*recalled.degraded, *whole.degraded),
        parts=parts,
        bounds=run.settings.bounds,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    """One question's candidates in their final order. fallen: those that the reranker took out, and `dropped` why."""

    recalled: Recall
    ranking: tuple[Candidate, ...]
    fallen: tuple[Candidate, ...] = ()
    dropped: Mapping[Key, str] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()


def _ranked(run: Run, text: str, *, may_lag: bool, outside: ExternalSearch | None = None) -> _Ranked:
    with run.timings.measure("recall"):
        recalled = recall(
            replace(run.request, text=text),
            principal=run.principal,
            settings=run.settings,
            generation=run.generation,
            timings=run.timings,
            may_lag=may_lag,
        )
    if outside and outside.is_asked:
        with run.timings.measure(EXTERNAL):
            recalled = outside.joined(recalled)
    with run.timings.measure("rank"):
        fused = rank(recalled, run.settings)
    reranked = _reranked(run, text, fused, recalled.passages)
    with run.timings.measure("spread"):
        ranking = _spread(reranked.ranking, recalled, run.settings)
    return _Ranked(
        recalled=recalled,
        ranking=ranking,
        fallen=tuple(one for one in fused if one.chunk_id in reranked.dropped),
        dropped=reranked.dropped,
        degraded=(RERANK,) if reranked.problem else (),
    )


def _look(run: Run, text: str, *, may_lag: bool) -> tuple[Recall, tuple[Candidate, ...]]:
    found = _ranked(run, text, may_lag=may_lag)
    return found.recalled, found.ranking


def _read(run: Run, recalled: Recall, ranking: tuple[Candidate, ...]) -> tuple[Passage, ...]:
    """The first passages of a part, as far as the reader may see them."""
    asked = PageRequest(offset=0, limit=len(ranking) or 1, terms=recalled.terms)
    return hydrate(ranking, asked, principal=run.principal, generation=recalled.generation).passages


def rank(recalled: Recall, settings: SearchSettings) -> tuple[Candidate, ...]:
    """One ranking out of the channels' hits, best first."""
    hits = {name: recalled.hits[name] for name in (DENSE, LEXICAL, FAQ, EXTERNAL) if name in recalled.hits}
    if not {DENSE, LEXICAL} <= hits.keys() or settings.fusion is Fusion.RRF:
        return fuse_by_rank(hits, k=settings.rrf_k)
    if settings.fusion is Fusion.MINMAX:
        share = settings.meaning_share
        return fuse_by_scores(hits, weights={DENSE: share, LEXICAL: 1 - share, EXTERNAL: share})
    if settings.fusion is Fusion.CASCADE:
        return fuse_in_cascade(hits, bounds={DENSE: settings.evidence_cosine})
    return fuse_by_evidence(hits, recalled.signals, weights=settings.weights)


def _reranked(
    run: Run, text: str, ranking: tuple[Candidate, ...], brought: Mapping[Key, Passage]
) -> Reranked:
    if not run.settings.rerank:
        return Reranked(ranking=ranking)
    texts = {key: passage.embedding_text for key, passage in brought.items()}
    with run.timings.measure(RERANK):
        return rerank_as_configured(
            text,
            ranking,
            lambda keys: read_texts(keys, principal=run.principal) | texts,
            most=run.settings.rerank_candidates,
        )


def _spread(
    ranking: tuple[Candidate, ...], recalled: Recall, settings: SearchSettings
) -> tuple[Candidate, ...]:
    """The ranking with the variety that is set."""
    if not settings.diversity:
        return ranking
    keys = [one.chunk_id for one in ranking[:DEPTH] if isinstance(one.chunk_id, int)]
    with read_snapshot() as cursor:
        vectors = read_vectors(cursor, recalled.generation, keys)
    return diversify(ranking, vectors, share=settings.diversity)


def _above(ranking: tuple[Candidate, ...], threshold: float | None) -> tuple[Candidate, ...]:
    """Those that reach the threshold, which is applied here alone, to the final score."""
    return ranking if threshold is None else tuple(one for one in ranking if one.score >= threshold)


def judge(recalled: Recall, page: HydratedPage, bounds: EvidenceBounds) -> Evidence:
    """The evidence verdict over the first passages of the ranking."""
    signals = [recalled.signals[passage.chunk_id] for passage in page.judged]
    supports = [
        Support(
            terms=recalled.says(passage.chunk_id),
            cosine=signal.cosine,
            is_same_language=not signal.is_foreign,
        )
        for passage, signal in zip(page.judged, signals, strict=True)
    ]
    return assess(supports, recalled.idf, bounds)
