"""Fusion: one ranking out of the channels' rankings, by rank alone. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from retrieval.values import Candidate, ChannelHit, Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    chunk_id: int
    score: float


def reciprocal_rank_fusion(rankings: Sequence[Sequence[int]], *, k: int = 60) -> list[Scored]:
    """Merge rankings by summed reciprocal rank, best first.

    rankings: chunk ids, best first, one list per retriever; lists may be empty or overlap.
    k: rank offset >= 1; a larger k flattens the lead of the first places.
    Returns unitless scores in (0, len(rankings) / (k + 1)]; ties keep first-seen order.
    Raises ValueError if k < 1. Source: Cormack, Clarke, Büttcher, SIGIR 2009.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, chunk_id in enumerate(dict.fromkeys(ranking), start=1):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + 1 / (k + rank)
    best_first = sorted(scores.items(), key=lambda pair: -pair[1])
    return [Scored(chunk_id=chunk_id, score=score) for chunk_id, score in best_first]


def fuse(hits_by_channel: Mapping[str, Sequence[Hit]]) -> tuple[Candidate, ...]:
    """Candidates, best first, each with its rank and score in every channel that found it.

    hits_by_channel: hits, best first; the order of the channels breaks ties.
    """
    channels: dict[int, dict[str, ChannelHit]] = {}
    for name, hits in hits_by_channel.items():
        for rank, hit in enumerate(hits, start=1):
            channels.setdefault(hit.chunk_id, {})[name] = ChannelHit(rank=rank, score=hit.score)
    merged = reciprocal_rank_fusion([[hit.chunk_id for hit in hits] for hits in hits_by_channel.values()])
    return tuple(
        Candidate(chunk_id=scored.chunk_id, score=scored.score, channels=channels[scored.chunk_id])
        for scored in merged
    )
