from retrieval.results import FLOOR, above_floor
from retrieval.values import Candidate, ChannelHit

HIT = ChannelHit(rank=1, score=0.5)


def found(chunk_id, score, *channels):
    return Candidate(chunk_id=chunk_id, score=score, channels=dict.fromkeys(channels, HIT))


def listed(*candidates):
    return [candidate.chunk_id for candidate in above_floor(candidates)]


def test_passages_far_below_the_best_without_a_word_in_common_are_left_out():
    best, near = found(1, 9.0, "dense", "lexical"), found(2, 9.0 - FLOOR, "dense")
    far, far_with_words = found(3, 8.9 - FLOOR, "dense"), found(4, 1.0, "lexical")
    assert listed(best, near, far, far_with_words) == [1, 2, 4]


def test_a_fusion_by_rank_keeps_everything():
    assert listed(found(1, 0.016, "dense"), found(2, 0.006, "dense")) == [1, 2]
    assert listed() == []
