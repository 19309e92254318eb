"""From a question to the passages a reader may see: start reading here.

recall (lexical while the question is embedded, then dense; one snapshot) -> fuse -> hydrate (second access check, in a
new snapshot) -> judge the evidence -> trace. There is no second way to find a passage.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.backends.utils import CursorWrapper

from accounts.values import Principal
from ingestion.embedding.centring import cjk_share
from ingestion.indexing.analyzer import distinct_query_terms
from ingestion.indexing.generations import active_generation
from ingestion.models import IndexGeneration
from kb_platform.trace import new_trace_id, trace_id
from retrieval.channels.dense import choose_plan, search_dense
from retrieval.channels.lexical import TermStatistics, read_statistics, search_lexical
from retrieval.evidence import CHINESE_SHARE, Support, assess
from retrieval.fusion import fuse
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

    vector: None when the question was not embedded. degraded: channels that were asked for and did not work.
    """

    generation: int
    hits: Mapping[str, list[Hit]] = field(default_factory=dict)
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
    with timings.measure("judge"):
        evidence = judge(request.text, recalled, page)
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
    timings = timings or Timings()
    pending = PendingVector(request.text) if request.mode.uses(DENSE) and request.has_words else None
    terms = distinct_query_terms(request.text) if request.has_words else []
    hits: dict[str, list[Hit]] = {}
    degraded: list[str] = []
    vector: QuestionVector | None = None
    with read_snapshot() as cursor:
        index = generation or active_generation()
        reach = resolve_reach(principal, request.filters)
        if reach.is_empty or not request.has_words:
            return Recall(generation=index.number)
        statistics = read_statistics(cursor, index.number, reach.scopes, terms)
        if request.mode.uses(LEXICAL):
            with _channel(LEXICAL, timings, degraded):
                hits[LEXICAL] = search_lexical(
                    cursor, index.number, statistics, reach, settings.CANDIDATE_POOL
                )
        if pending:
            with timings.measure("wait_for_vector"):
                vector = pending.wait(fingerprint=index.embedder)
        if vector:
            timings.note("embed", vector.seconds)
            with _channel(DENSE, timings, degraded):
                hits[DENSE] = _dense(cursor, index.number, vector, statistics, reach)
        elif pending:
            degraded.append(DENSE)
    return Recall(
        generation=index.number,
        hits=hits,
        idf=statistics.idf(),
        vector=vector,
        degraded=tuple(degraded),
    )


def rank(recalled: Recall) -> tuple[Candidate, ...]:
    """One ranking out of the channels' hits, best first."""
    return fuse({name: recalled.hits[name] for name in (DENSE, LEXICAL) if name in recalled.hits})


def judge(question: str, recalled: Recall, page: HydratedPage) -> Evidence:
    """The evidence verdict over the first passages of the ranking."""
    is_chinese = cjk_share(question) > CHINESE_SHARE
    cosines = _raw_cosines(question, recalled.vector, page)
    supports = [
        Support(
            terms=frozenset(passage.terms),
            cosine=cosines.get(passage.chunk_id),
            is_same_language=(cjk_share(passage.text) > CHINESE_SHARE) is is_chinese,
        )
        for passage, _vector in page.judged
    ]
    return assess(supports, recalled.idf)


def _find(
    request: SearchRequest, principal: Principal, generation: IndexGeneration | None, timings: Timings
) -> tuple[Recall, tuple[Candidate, ...], HydratedPage]:
    with timings.measure("recall"):
        recalled = recall(request, principal=principal, generation=generation, timings=timings)
    ranking = rank(recalled)
    asked = PageRequest(offset=request.offset, limit=request.top_k, terms=tuple(recalled.idf))
    with timings.measure("hydrate"):
        page = hydrate(ranking, asked, principal=principal, generation=recalled.generation)
    return recalled, ranking, page


def _dense(
    cursor: CursorWrapper, generation: int, vector: QuestionVector, statistics: TermStatistics, reach: Reach
) -> list[Hit]:
    reachable = statistics.chunk_count if reach.filtered_chunks is None else reach.filtered_chunks
    plan = choose_plan(reachable=reachable, everything=statistics.all_chunks)
    return search_dense(cursor, generation, vector.vector, reach, plan=plan, limit=settings.CANDIDATE_POOL)


def _raw_cosines(question: str, vector: QuestionVector | None, page: HydratedPage) -> dict[int, float]:
    known = [(passage, stored) for passage, stored in page.judged if stored is not None]
    if vector is None or not known:
        return {}
    cosines = vector.embedder.raw_cosines(
        question,
        vector.vector,
        [passage.embedding_text for passage, _stored in known],
        np.stack([stored for _passage, stored in known]),
    )
    return {
        passage.chunk_id: float(cosine) for (passage, _stored), cosine in zip(known, cosines, strict=True)
    }


@contextmanager
def _channel(name: str, timings: Timings, degraded: list[str]) -> Iterator[None]:
    """One channel's query; if the database refuses it, the search goes on without it."""
    try:
        with timings.measure(name), transaction.atomic():
            yield
    except DatabaseError as error:
        log.warning("a channel failed", extra={"channel": name, "cause": str(error)})
        degraded.append(name)
