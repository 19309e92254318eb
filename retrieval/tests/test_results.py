from retrieval.results import NEARNESS_FLOOR, SCORE_FLOOR, above_floor
from retrieval.values import Candidate, ChannelHit


def found(chunk_id, score, *, cosine=None, has_words=False):
    channels = {"dense": ChannelHit(rank=1, score=cosine)} if cosine is not None else {}
    if has_words:
        channels["lexical"] = ChannelHit(rank=1, score=4.0)
    return Candidate(chunk_id=chunk_id, score=score, channels=channels)


def listed(*candidates):
    return [candidate.chunk_id for candidate in above_floor(candidates)]


def test_without_a_word_in_common_nearness_decides_whatever_words_bring_to_the_best():
    best = found(1, 9.0, cosine=0.5, has_words=True)
    near, far = found(2, 5.0, cosine=0.5 - NEARNESS_FLOOR / 2), found(3, 4.0, cosine=0.45 - NEARNESS_FLOOR)
    assert listed(best, near, far) == [1, 2]


def test_with_a_word_in_common_the_score_decides():
    best = found(1, 9.0, cosine=0.5, has_words=True)
    good, weak = found(2, 9.0 - SCORE_FLOOR, has_words=True), found(3, 8.9 - SCORE_FLOOR, has_words=True)
    assert listed(best, good, weak) == [1, 2]


def test_a_search_by_words_alone_keeps_everything():
    assert listed(found(1, 0.016, has_words=True), found(2, 0.006, has_words=True)) == [1, 2]
    assert listed() == []
