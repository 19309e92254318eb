import pytest

from retrieval.fusion import fuse, reciprocal_rank_fusion
from retrieval.values import Hit


def test_scores_are_summed_reciprocal_ranks():
    # 7: 1/61 + 1/62;  8: 1/62 + 1/61 (a tie, 7 was seen first);  9: 1/63
    merged = reciprocal_rank_fusion([[7, 8, 9], [8, 7]])
    assert [scored.chunk_id for scored in merged] == [7, 8, 9]
    assert merged[0].score == pytest.approx(1 / 61 + 1 / 62)
    assert merged[2].score == pytest.approx(1 / 63)


def test_a_smaller_k_widens_the_lead_of_the_first_places():
    first, second = reciprocal_rank_fusion([[1, 2]], k=1)
    assert (first.score, second.score) == (1 / 2, 1 / 3)


def test_found_by_both_beats_first_in_one():
    assert reciprocal_rank_fusion([[1, 2], [3, 2]])[0].chunk_id == 2


def test_repetitions_in_one_ranking_count_once():
    assert reciprocal_rank_fusion([[5, 5, 6]])[1].score == pytest.approx(1 / 62)


def test_empty_rankings_are_no_obstacle():
    assert reciprocal_rank_fusion([]) == []
    assert [scored.chunk_id for scored in reciprocal_rank_fusion([[], [4]])] == [4]


def test_k_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        reciprocal_rank_fusion([[1]], k=0)


def test_candidates_keep_rank_and_score_of_each_channel():
    candidates = fuse(
        {
            "dense": [Hit(chunk_id=1, score=0.9), Hit(chunk_id=2, score=0.8)],
            "lexical": [Hit(chunk_id=2, score=7.5)],
        }
    )
    assert [candidate.chunk_id for candidate in candidates] == [2, 1]
    assert (candidates[0].channels["dense"].rank, candidates[0].channels["lexical"].score) == (2, 7.5)
    assert set(candidates[1].channels) == {"dense"}
