import pytest

from kb_platform.net.errors import Late
from retrieval.reranking.stage import NOT_RERANKED, rerank
from retrieval.values import Candidate, ChannelHit


class Fixed:
    def __init__(self, *scores, error=None):
        self.given, self.error, self.asked = list(scores), error, []

    def scores(self, question, passages):
        self.asked.append((question, list(passages)))
        if self.error:
            raise self.error
        return self.given


def candidates(*keys):
    return [
        Candidate(chunk_id=key, score=9.0 - n, channels={"lexical": ChannelHit(rank=n + 1, score=1.0)})
        for n, key in enumerate(keys)
    ]


TEXTS = {1: "one", 2: "two", 3: "three", "ext:a:b": "away"}


def test_the_first_ones_take_the_order_and_the_scores_of_the_reranker():
    model = Fixed(0.1, 0.9, 0.5)
    done = rerank("q", candidates(1, "ext:a:b", 3, 2), TEXTS, reranker=model, most=3)
    assert model.asked == [("q", ["one", "away", "three"])]
    assert [(one.chunk_id, one.score) for one in done.ranking] == [("ext:a:b", 0.9), (3, 0.5), (1, 0.1)]
    best = done.ranking[0]
    assert best.channels["fusion"] == ChannelHit(rank=2, score=8.0)
    assert best.channels["rerank"] == ChannelHit(rank=1, score=0.9)
    assert best.channels["lexical"].rank == 2


def test_what_is_not_judged_falls_out_with_its_reason():
    done = rerank("q", candidates(1, 2, 3), TEXTS, reranker=Fixed(0.1), most=1)
    assert [one.chunk_id for one in done.ranking] == [1]
    assert done.dropped == {2: NOT_RERANKED, 3: NOT_RERANKED}


def test_equal_scores_keep_the_fused_order():
    done = rerank("q", candidates(3, 1, 2), TEXTS, reranker=Fixed(0.5, 0.5, 0.5), most=10)
    assert [one.chunk_id for one in done.ranking] == [3, 1, 2]


def test_a_late_reranker_leaves_everything_as_it_was():
    before = candidates(1, 2, 3)
    done = rerank("q", before, TEXTS, reranker=Fixed(error=Late()), most=2)
    assert done.ranking == tuple(before)
    assert (done.dropped, done.problem) == ({}, "late")


def test_a_candidate_without_a_text_is_not_sent_and_left_for_the_access_check():
    model = Fixed(0.7)
    done = rerank("q", candidates(8, 1), {1: "one"}, reranker=model, most=10)
    assert model.asked == [("q", ["one"])]
    assert [one.chunk_id for one in done.ranking] == [1, 8]


def test_an_unexpected_fault_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        rerank("q", candidates(1), TEXTS, reranker=Fixed(error=ZeroDivisionError()), most=1)
