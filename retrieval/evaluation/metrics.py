"""Measures of a ranking of documents against the relevant ones. Relevance is yes or no. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from statistics import fmean

CUTS = (1, 5, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One question's ranking, best first without repetitions, and the documents that are relevant (at least one)."""

    kind: str
    language: str
    ranking: Sequence[str]
    relevant: Collection[str]


def recall_at(k: int, ranking: Sequence[str], relevant: Collection[str]) -> float:
    """Share of the relevant documents among the first k, 0..1."""
    return sum(document in relevant for document in ranking[:k]) / len(relevant)


def reciprocal_rank(k: int, ranking: Sequence[str], relevant: Collection[str]) -> float:
    """1 / rank of the first relevant document among the first k, else 0."""
    return next((1 / rank for rank, document in enumerate(ranking[:k], start=1) if document in relevant), 0.0)


def ndcg_at(k: int, ranking: Sequence[str], relevant: Collection[str]) -> float:
    """Discounted gain of the first k over that of the best ranking, 0..1. Source: Järvelin, Kekäläinen, TOIS 2002."""
    gain = sum(
        1 / log2(rank + 1) for rank, document in enumerate(ranking[:k], start=1) if document in relevant
    )
    best = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(relevant)) + 1))
    return gain / best


def measures(judged: Sequence[Judged]) -> dict[str, float]:
    """Means over questions: recall@1, @5, @10, mrr@10, ndcg@10, and how many questions they rest on."""
    if not judged:
        return {"queries": 0}
    means = {f"recall@{k}": fmean(recall_at(k, one.ranking, one.relevant) for one in judged) for k in CUTS}
    means["mrr@10"] = fmean(reciprocal_rank(10, one.ranking, one.relevant) for one in judged)
    means["ndcg@10"] = fmean(ndcg_at(10, one.ranking, one.relevant) for one in judged)
    return {"queries": len(judged), **{name: round(value, 4) for name, value in means.items()}}


def measures_by(attribute: str, judged: Sequence[Judged]) -> Mapping[str, dict[str, float]]:
    """`measures` for each value of `kind` or `language`, in order of the value."""
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        groups.setdefault(getattr(one, attribute), []).append(one)
    return {value: measures(groups[value]) for value in sorted(groups)}


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the sorted values lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
