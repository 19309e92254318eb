"""The step between fusion and the threshold: the first candidates in the reranker's order, or the fused order if it fails."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kb_platform.errors import KnowledgeBaseError
from retrieval.reranking.configured import reranker as configured_reranker
from retrieval.reranking.protocol import Reranker
from retrieval.values import Candidate, ChannelHit, Key

log = logging.getLogger(__name__)
FUSION, RERANK = "fusion", "rerank"
NOT_RERANKED = "not_reranked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranked:
    """ranking: best first; its scores are the reranker's, unless it failed: then everything is as it was.

    dropped: why a candidate is not in the ranking any more, by key. problem: the code of what went wrong, else "".
    """

    ranking: tuple[Candidate, ...]
    dropped: Mapping[Key, str] = field(default_factory=dict)
    problem: str = ""


def rerank_as_configured(
    question: str,
    ranking: Sequence[Candidate],
    read_texts: Callable[[Sequence[Key]], Mapping[Key, str]],
    *,
    most: int,
) -> Reranked:
    """`rerank` by the reranker of the settings; without one everything stays as it is.

    read_texts: keys -> the texts of those that the reader may read.
    """
    try:
        model = configured_reranker()
    except KnowledgeBaseError as error:
        return Reranked(ranking=tuple(ranking), problem=error.code)
    if model is None or not ranking:
        return Reranked(ranking=tuple(ranking))
    texts = read_texts([candidate.chunk_id for candidate in ranking[:most]])
    return rerank(question, ranking, texts, reranker=model, most=most)


def rerank(
    question: str,
    ranking: Sequence[Candidate],
    texts: Mapping[Key, str],
    *,
    reranker: Reranker,
    most: int,
) -> Reranked:
    """The first `most` candidates, of those that have a text, in the reranker's order; ties keep the fused order.

    texts: of the candidates that the reader may read. The others of the first ones stay, at the end and unscored, for the
    access check to count. What stands behind the first ones falls out: no score of another kind compares with theirs.
    """
    head = ranking[:most]
    first = [candidate for candidate in head if candidate.chunk_id in texts]
    try:
        scores = reranker.scores(question, [texts[candidate.chunk_id] for candidate in first])
    except KnowledgeBaseError as error:
        log.warning("the reranker gave nothing", extra={"cause": error.code})
        return Reranked(ranking=tuple(ranking), problem=error.code)
    judged = sorted(zip(first, scores, strict=True), key=lambda pair: -pair[1])
    places = {candidate.chunk_id: rank for rank, candidate in enumerate(ranking, start=1)}
    new = [
        _judged(candidate, score, rank=rank, fused_rank=places[candidate.chunk_id])
        for rank, (candidate, score) in enumerate(judged, start=1)
    ]
    unread = [replace(one, score=0.0) for one in head if one.chunk_id not in texts]
    behind = [one.chunk_id for one in ranking[most:]]
    return Reranked(ranking=(*new, *unread), dropped=dict.fromkeys(behind, NOT_RERANKED))


def _judged(candidate: Candidate, score: float, *, rank: int, fused_rank: int) -> Candidate:
    """The candidate with its new score; where fusion had put it stays to be seen."""
    steps = {
        FUSION: ChannelHit(rank=fused_rank, score=candidate.score),
        RERANK: ChannelHit(rank=rank, score=score),
    }
    return replace(candidate, score=score, channels={**candidate.channels, **steps})
