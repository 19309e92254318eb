"""Scores of different sources on one scale. Pure.

A source that says how well a record fits on a scale from 0 to 1, as the Dify contract does, is taken at its word. Sums
without an upper end, such as BM25 in Elasticsearch, become s / (s + 10): 10 is a fair hit and counts one half, and no score
reaches 1. Where a source gives no usable numbers, its order counts: the first one half, the second a third, and so on.
"""

from collections.abc import Sequence

HALF_AT = 10.0
FIRST_BY_ORDER = 2  # 1 / 2 for the first


def normalised(scores: Sequence[float | None], *, is_bounded: bool) -> list[float]:
    """Each score in 0..1, in the given order. is_bounded: the source speaks of a scale from 0 to 1."""
    known = [score for score in scores if score is not None]
    if len(known) < len(scores) or not known:
        return [1 / (place + FIRST_BY_ORDER) for place in range(len(scores))]
    if is_bounded and all(0.0 <= score <= 1.0 for score in known):
        return known
    return [max(score, 0.0) / (max(score, 0.0) + HALF_AT) for score in known]
