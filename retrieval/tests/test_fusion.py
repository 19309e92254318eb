import pytest

from retrieval.fusion import (
    Signal,
    fuse_by_evidence,
    fuse_by_rank,
    fuse_by_scores,
    fuse_in_cascade,
    reciprocal_rank_fusion,
)
from retrieval.search_settings import SearchSettings, current
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
    candidates = fuse_by_rank(
        {
            "dense": [Hit(chunk_id=1, score=0.9), Hit(chunk_id=2, score=0.8)],
            "lexical": [Hit(chunk_id=2, score=7.5)],
        }
    )
    assert [candidate.chunk_id for candidate in candidates] == [2, 1]
    assert (candidates[0].channels["dense"].rank, candidates[0].channels["lexical"].score) == (2, 7.5)
    assert set(candidates[1].channels) == {"dense"}


def test_evidence_adds_nearness_and_words_on_fixed_scales():
    hits = {
        "dense": [Hit(chunk_id=1, score=0.40), Hit(chunk_id=2, score=0.36)],
        "lexical": [Hit(chunk_id=3, score=9.0)],
    }
    signals = {
        1: Signal(cosine=0.40, coverage=0.0),  # 5.0
        2: Signal(cosine=0.36, coverage=0.5),  # 4.5 + 1.5
        3: Signal(cosine=0.16, coverage=0.9),  # 2.0 + 2.7
    }
    candidates = fuse_by_evidence(hits, signals)
    assert [candidate.chunk_id for candidate in candidates] == [2, 1, 3]
    assert [candidate.score for candidate in candidates] == pytest.approx([6.0, 5.0, 4.7])
    assert set(candidates[2].channels) == {"lexical"}


def test_a_weak_word_in_common_does_not_outrank_the_nearest_meaning():
    """By rank, a chunk that both channels know beats the best of one; by evidence it must earn it."""
    hits = {
        "dense": [Hit(chunk_id=1, score=0.5), Hit(chunk_id=2, score=0.1)],
        "lexical": [Hit(chunk_id=2, score=1)],
    }
    signals = {1: Signal(cosine=0.5, coverage=0), 2: Signal(cosine=0.1, coverage=0.2)}
    assert fuse_by_rank(hits)[0].chunk_id == 2
    assert fuse_by_evidence(hits, signals)[0].chunk_id == 1


def test_equal_evidence_keeps_the_order_by_rank():
    hits = {"dense": [Hit(chunk_id=5, score=0.1), Hit(chunk_id=4, score=0.1)]}
    signals = {4: Signal(cosine=0.1, coverage=0), 5: Signal(cosine=0.1, coverage=0)}
    assert [candidate.chunk_id for candidate in fuse_by_evidence(hits, signals)] == [5, 4]


def test_a_passage_of_another_language_is_not_held_to_words():
    hits = {"dense": [Hit(chunk_id=1, score=0.3), Hit(chunk_id=2, score=0.3)]}
    signals = {
        1: Signal(cosine=0.3, coverage=0.1),
        2: Signal(cosine=0.3, coverage=0, is_foreign=True),
    }
    assert [candidate.chunk_id for candidate in fuse_by_evidence(hits, signals)] == [2, 1]


HITS = {
    "dense": [Hit(chunk_id=1, score=0.5), Hit(chunk_id=2, score=0.4), Hit(chunk_id=3, score=0.1)],
    "lexical": [Hit(chunk_id=4, score=30.0), Hit(chunk_id=2, score=25.0), Hit(chunk_id=1, score=10.0)],
}


def test_scores_are_stretched_by_channel_and_weighed():
    # dense: 1, .75, 0;  lexical: 1, .75, 0
    by_id = {one.chunk_id: one.score for one in fuse_by_scores(HITS, weights={"dense": 3, "lexical": 1})}
    assert by_id == pytest.approx({1: 0.75, 2: 0.75, 3: 0, 4: 0.25})
    assert [one.chunk_id for one in fuse_by_scores(HITS)] == [2, 1, 4, 3]
    assert fuse_by_scores({"dense": [Hit(chunk_id=1, score=0.2)]})[0].score == 1
    assert [one.score for one in fuse_by_scores(HITS, weights={"dense": 0, "lexical": 0})] == [0] * 4


def test_a_cascade_asks_the_next_channel_for_what_the_first_is_not_sure_of():
    sure = fuse_in_cascade(HITS, order=("lexical",), bounds={"lexical": 20, "dense": 0.3})
    assert [one.chunk_id for one in sure] == [4, 2, 1, 3]
    scores = [one.score for one in sure]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] == 0  # nobody is sure of it
    assert [one.chunk_id for one in fuse_in_cascade(HITS)] == [1, 2, 3, 4]
    assert fuse_in_cascade({}) == fuse_by_scores({}) == ()


@pytest.mark.django_db
def test_the_settings_pages_begin_with_what_was_measured():
    assert (current().weights, current().bounds) == (SearchSettings().weights, SearchSettings().bounds)
