"""Measures of a ranking of documents against the relevant ones. Relevance is yes or no. Pure."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import log2
from statistics import fmean

import numpy as np

CUTS = (1, 5, 10)
DRAWS = 3_000  # of a bootstrap


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One question's ranking, best first without repetitions, and the documents that are relevant (at least one).

    dataset: the set of questions it comes from.
    """

    kind: str
    language: str
    dataset: str = ""
    ranking: Sequence[str]
    relevant: Collection[str]


def recall_at(k: int, ranking: Sequence[str], relevant: Collection[str]) -> float:
    """Share of the relevant documents among the first k, 0..1."""
    return sum(document in relevant for document in ranking[:k]) / len(relevant)


def reciprocal_rank(k: int, ranking: Sequence[str], relevant: Collection[str]) -> float:
    """1 / rank of the first relevant document among the first k, else 0."""
    return next((1 / rank for rank, document in enumerate(ranking[:k], start=1) if document in relevant), 0.0)


def hit_at(k: int, ranking: Sequence[str], relevant: Collection[str]) -> float:
    """1 if any relevant document is among the first k, else 0: where many are, no k finds all of them."""
    return float(any(document in relevant for document in ranking[:k]))


def ndcg_at(k: int, ranking: Sequence[str], relevant: Collection[str]) -> float:
    """Discounted gain of the first k over that of the best ranking, 0..1. Source: Järvelin, Kekäläinen, TOIS 2002."""
    gain = sum(
        1 / log2(rank + 1) for rank, document in enumerate(ranking[:k], start=1) if document in relevant
    )
    best = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(relevant)) + 1))
    return gain / best


Measure = Callable[[Sequence[str], Collection[str]], float]
MEASURES: Mapping[str, Measure] = {
    **{f"recall@{k}": partial(recall_at, k) for k in CUTS},
    "mrr@10": partial(reciprocal_rank, 10),
    "ndcg@10": partial(ndcg_at, 10),
    "hit@5": partial(hit_at, 5),
}


def measures(judged: Sequence[Judged]) -> dict[str, float]:
    """Means over questions of all MEASURES, and how many questions they rest on."""
    if not judged:
        return {"queries": 0}
    means = {
        name: fmean(measure(one.ranking, one.relevant) for one in judged)
        for name, measure in MEASURES.items()
    }
    return {"queries": len(judged), **{name: round(value, 4) for name, value in means.items()}}


def measures_by(attribute: str, judged: Sequence[Judged]) -> Mapping[str, dict[str, float]]:
    """`measures` for each value of `kind`, `language` or `dataset`, in order of the value."""
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        groups.setdefault(getattr(one, attribute), []).append(one)
    return {value: measures(groups[value]) for value in sorted(groups)}


def mean_of_sets(judged: Sequence[Judged]) -> dict[str, float]:
    """Each measure as the mean of the sets' means: a large set counts no more than a small one."""
    sets = [figures for figures in measures_by("dataset", judged).values() if figures["queries"]]
    return {name: round(fmean(one[name] for one in sets), 4) for name in MEASURES} if sets else {}


def differences(
    ours: Sequence[Judged], theirs: Sequence[Judged], *, draws: int = DRAWS, seed: int = 7
) -> dict[str, tuple[float, float, float]]:
    """Measure -> (mean of sets of ours minus theirs, and the ends of its 95 % interval).

    A paired bootstrap: questions are drawn again within their set, both rankings of a question together; the same seed
    gives the same interval. ours, theirs: the same questions in the same order. An interval that holds 0 proves nothing.
    """
    random = np.random.default_rng(seed)
    sets: dict[str, list[int]] = {}
    for index, one in enumerate(ours):
        sets.setdefault(one.dataset, []).append(index)
    draws_by_set = [random.choice(indexes, size=(draws, len(indexes))) for indexes in sets.values()]
    found = {}
    for name, measure in MEASURES.items():
        gain = np.array(
            [
                measure(a.ranking, a.relevant) - measure(b.ranking, b.relevant)
                for a, b in zip(ours, theirs, strict=True)
            ]
        )
        mean = float(np.mean([gain[indexes].mean() for indexes in sets.values()]))
        drawn = np.mean([gain[drawn].mean(axis=1) for drawn in draws_by_set], axis=0)
        low, high = np.quantile(drawn, (0.025, 0.975))
        found[name] = (round(mean, 4), round(float(low), 4), round(float(high), 4))
    return found


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the sorted values lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
