"""Fusion: one ranking out of what the channels found. Pure.

By evidence (the default): nearness by meaning on a fixed scale plus the share of the question's words, both known for
every candidate, whichever channel found it. By rank (RRF): where one of the two is missing, or by choice. By choice
also by stretched scores (weighted min-max), or one channel after the other (cascade).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from retrieval.values import Candidate, ChannelHit, Hit, Key
from retrieval.weights import DEFAULT_WEIGHTS, EvidenceWeights


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    chunk_id: Key
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """What is known of a candidate beyond ranks.

    cosine: to the question, None when meaning was not compared. coverage: share of the question's idf mass that it holds,
    0..1. codes: the part of it that whole codes make up. phrases: share of the question's quoted phrases that it holds
    word for word. is_foreign: written in another language than the question, so that words in common cannot be expected.
    """

    cosine: float | None
    coverage: float
    codes: float = 0.0
    phrases: float = 0.0
    is_foreign: bool = False

    def score(self, weights: EvidenceWeights) -> float:
        return (
            (self.cosine or 0.0) / weights.spread
            + weights.words * self.coverage
            + weights.codes * self.codes
            + weights.phrases * self.phrases
            + (weights.foreign if self.is_foreign else 0.0)
        )


def reciprocal_rank_fusion(rankings: Sequence[Sequence[Key]], *, k: int = 60) -> list[Scored]:
    """Merge rankings by summed reciprocal rank, best first.

    rankings: chunk ids, best first, one list per retriever; lists may be empty or overlap.
    k: rank offset >= 1; a larger k flattens the lead of the first places.
    Returns unitless scores in (0, len(rankings) / (k + 1)]; ties keep first-seen order.
    Raises ValueError if k < 1. Source: Cormack, Clarke, Büttcher, SIGIR 2009.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    scores: dict[Key, float] = {}
    for ranking in rankings:
        for rank, chunk_id in enumerate(dict.fromkeys(ranking), start=1):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + 1 / (k + rank)
    best_first = sorted(scores.items(), key=lambda pair: -pair[1])
    return [Scored(chunk_id=chunk_id, score=score) for chunk_id, score in best_first]


def fuse_by_rank(hits_by_channel: Mapping[str, Sequence[Hit]], *, k: int = 60) -> tuple[Candidate, ...]:
    """Candidates by RRF, best first, each with its rank and score in every channel that found it.

    hits_by_channel: hits, best first; the order of the channels breaks ties.
    """
    found = _channel_hits(hits_by_channel)
    merged = reciprocal_rank_fusion(
        [[hit.chunk_id for hit in hits] for hits in hits_by_channel.values()], k=k
    )
    return tuple(
        Candidate(chunk_id=scored.chunk_id, score=scored.score, channels=found[scored.chunk_id])
        for scored in merged
    )


def fuse_by_evidence(
    hits_by_channel: Mapping[str, Sequence[Hit]],
    signals: Mapping[Key, Signal],
    *,
    weights: EvidenceWeights = DEFAULT_WEIGHTS,
) -> tuple[Candidate, ...]:
    """Candidates by the score of their signal, best first; ties in RRF's order.

    signals: for every chunk that any channel found; one that has none (it left the index) is dropped.
    """
    known = [one for one in fuse_by_rank(hits_by_channel) if one.chunk_id in signals]
    return _rescored(known, {one.chunk_id: signals[one.chunk_id].score(weights) for one in known})


def fuse_by_scores(
    hits_by_channel: Mapping[str, Sequence[Hit]], *, weights: Mapping[str, float] = MappingProxyType({})
) -> tuple[Candidate, ...]:
    """Candidates by the weighted sum of each channel's scores, stretched from its worst hit (0) to its best (1).

    weights: by channel, 0 or more, 1 for one that is not named. A channel that missed a candidate gives it 0. Scores
    lie in 0..1; ties keep RRF's order.
    """
    shares = _shares(hits_by_channel, weights)
    scores: dict[Key, float] = {}
    for name, hits in hits_by_channel.items():
        for hit, stretched in zip(hits, _stretched(hits), strict=True):
            scores[hit.chunk_id] = scores.get(hit.chunk_id, 0.0) + shares[name] * stretched
    return _rescored(fuse_by_rank(hits_by_channel), scores)


def fuse_in_cascade(
    hits_by_channel: Mapping[str, Sequence[Hit]],
    *,
    order: Sequence[str] = (),
    bounds: Mapping[str, float] = MappingProxyType({}),
) -> tuple[Candidate, ...]:
    """Candidates in the order of the first channel that is sure of them, then those of the next one, and so on.

    order: channels, the most trusted first; those that are not named follow. bounds: the least score of its own scale
    with which a channel is sure of a hit; one without a bound is sure of all. What no channel is sure of comes last.
    Scores lie in 0..channels + 1: the number of channels that come after, and more for a better place in the channel.
    """
    names = list(dict.fromkeys([name for name in order if name in hits_by_channel] + list(hits_by_channel)))
    scores: dict[Key, float] = {}
    for place, name in enumerate(names):
        for rank, hit in enumerate(hits_by_channel[name], start=1):
            if hit.score >= bounds.get(name, float("-inf")):
                scores.setdefault(hit.chunk_id, len(names) - place + 1 / (1 + rank))
    return _rescored(fuse_by_rank(hits_by_channel), scores)


def _shares(
    hits_by_channel: Mapping[str, Sequence[Hit]], weights: Mapping[str, float]
) -> Mapping[str, float]:
    given = {name: max(weights.get(name, 1.0), 0.0) for name in hits_by_channel}
    total = sum(given.values())
    return {name: weight / total if total else 0.0 for name, weight in given.items()}


def _stretched(hits: Sequence[Hit]) -> list[float]:
    best, worst = max((hit.score for hit in hits), default=0.0), min((hit.score for hit in hits), default=0.0)
    return [(hit.score - worst) / (best - worst) if best > worst else 1.0 for hit in hits]


def _rescored(candidates: Sequence[Candidate], scores: Mapping[Key, float]) -> tuple[Candidate, ...]:
    """With other scores (0 for what has none), best first; the former order breaks ties."""
    rescored = [
        Candidate(
            chunk_id=candidate.chunk_id,
            score=scores.get(candidate.chunk_id, 0.0),
            channels=candidate.channels,
        )
        for candidate in candidates
    ]
    return tuple(sorted(rescored, key=lambda candidate: -candidate.score))


def _channel_hits(hits_by_channel: Mapping[str, Sequence[Hit]]) -> dict[Key, dict[str, ChannelHit]]:
    found: dict[Key, dict[str, ChannelHit]] = {}
    for name, hits in hits_by_channel.items():
        for rank, hit in enumerate(hits, start=1):
            found.setdefault(hit.chunk_id, {})[name] = ChannelHit(rank=rank, score=hit.score)
    return found
