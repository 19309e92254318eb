"""Every measure by hand."""

from math import log2

import pytest

from retrieval.evaluation.metrics import (
    Judged,
    differences,
    hit_at,
    mean_of_sets,
    measures,
    measures_by,
    ndcg_at,
    percentile,
    recall_at,
    reciprocal_rank,
)

RANKING = ["a", "b", "c", "d"]


def test_recall_is_the_share_of_the_relevant_ones_that_is_found():
    assert recall_at(1, RANKING, {"b"}) == 0
    assert recall_at(2, RANKING, {"b", "z"}) == 0.5
    assert recall_at(10, RANKING, {"a", "d"}) == 1


def test_reciprocal_rank_counts_the_first_relevant_one():
    assert reciprocal_rank(10, RANKING, {"c", "d"}) == pytest.approx(1 / 3)
    assert reciprocal_rank(2, RANKING, {"c"}) == 0


def test_ndcg_compares_with_the_best_ranking():
    # relevant at ranks 1 and 3 of two: (1 + 1/2) / (1 + 1/log2(3))
    assert ndcg_at(10, RANKING, {"a", "c"}) == pytest.approx((1 + 1 / 2) / (1 + 1 / log2(3)))
    assert ndcg_at(10, RANKING, {"a", "b"}) == pytest.approx(1)
    assert ndcg_at(1, RANKING, {"a", "b"}) == 1  # no ranking of one could hold more
    assert ndcg_at(10, RANKING, {"z"}) == 0


def test_measures_are_means_over_questions_and_by_group():
    judged = [
        Judged(kind="exact", language="en", ranking=["a"], relevant={"a"}),
        Judged(kind="exact", language="zh", ranking=["b", "a"], relevant={"a"}),
        Judged(kind="semantic", language="zh", ranking=[], relevant={"a"}),
    ]
    assert measures(judged) == {
        "queries": 3, "recall@1": 0.3333, "recall@5": 0.6667, "recall@10": 0.6667, "mrr@10": 0.5,
        "ndcg@10": round((1 + 1 / log2(3)) / 3, 4), "hit@5": 0.6667,
    }  # fmt: skip
    assert measures_by("kind", judged)["semantic"]["recall@10"] == 0
    assert list(measures_by("language", judged)) == ["en", "zh"]
    assert measures([]) == {"queries": 0}


def test_percentiles_take_the_nearest_rank():
    assert percentile([3, 1, 2], 0.5) == 2
    assert percentile([5], 0.95) == 5


def test_a_hit_is_any_relevant_one():
    assert hit_at(2, RANKING, {"b", "z"}) == 1
    assert hit_at(1, RANKING, {"b"}) == 0


def judged(dataset, *first):
    return [
        Judged(kind="exact", language="en", dataset=dataset, ranking=[name], relevant={"a"}) for name in first
    ]


def test_a_large_set_counts_no_more_than_a_small_one():
    assert mean_of_sets([*judged("large", "a", "a", "a"), *judged("small", "b")])["recall@1"] == 0.5
    assert mean_of_sets([]) == {}


def test_a_difference_comes_with_the_interval_that_chance_explains():
    better, worse = judged("one", *"a" * 40), judged("one", *"ab" * 20)
    mean, low, high = differences(better, worse)["recall@1"]
    assert mean == 0.5
    assert 0.3 < low < 0.5 < high < 0.7
    assert differences(better, better)["recall@1"] == (0, 0, 0)
    assert differences(better, worse) == differences(better, worse)
    one_of_forty = judged("one", *"a" * 39, "b")
    assert differences(better, one_of_forty)["recall@1"][1] == 0  # not proven
