"""Maximal marginal relevance: a ranking in which each passage also differs from those above it. Pure.

Source: Carbonell and Goldstein, The Use of MMR, SIGIR 1998.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval.values import Candidate, Key

DEPTH = 50  # candidates that change places; those behind them stay


def diversify(
    ranking: Sequence[Candidate], vectors: Mapping[Key, NDArray[np.float32]], *, share: float
) -> tuple[Candidate, ...]:
    """The first DEPTH candidates in the order of `(1 - share) · fit - share · likeness`, the others behind them.

    vectors: float32 (dimension,), L2 norm 1; a candidate without one counts as unlike all others. share: 0 keeps the
    ranking, 1 looks at likeness alone. Fit is the score scaled to 0..1 over the candidates that change places.
    """
    left, rest = list(ranking[:DEPTH]), ranking[DEPTH:]
    if share <= 0 or len(left) < 2:
        return tuple(ranking)
    high, low = left[0].score, min(candidate.score for candidate in left)
    fit = {one.chunk_id: (one.score - low) / (high - low) if high > low else 1.0 for one in left}
    likeness: dict[Key, float] = {one.chunk_id: 0.0 for one in left}
    chosen: list[Candidate] = []
    while left:
        best = max(left, key=lambda one: (1 - share) * fit[one.chunk_id] - share * likeness[one.chunk_id])
        left.remove(best)
        chosen.append(best)
        if (vector := vectors.get(best.chunk_id)) is None:
            continue
        for one in left:
            if (other := vectors.get(one.chunk_id)) is not None:
                likeness[one.chunk_id] = max(likeness[one.chunk_id], float(vector @ other))
    return (*chosen, *rest)
