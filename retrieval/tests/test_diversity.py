"""Maximal marginal relevance."""

import numpy as np

from retrieval.diversity import DEPTH, diversify
from retrieval.values import Candidate


def candidates(*scores):
    return [Candidate(chunk_id=n, score=score, channels={}) for n, score in enumerate(scores)]


def test_what_repeats_the_first_moves_behind_what_differs():
    same, other = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
    ranking = candidates(3.0, 2.9, 2.0, 1.0)
    order = diversify(ranking, {0: same, 1: same, 2: other, 3: other}, share=0.5)
    assert [one.chunk_id for one in order] == [0, 2, 1, 3]


def test_a_share_of_zero_keeps_the_ranking():
    ranking = candidates(3.0, 2.9)
    assert diversify(ranking, {}, share=0) == tuple(ranking)


def test_everything_stays_in_the_list_and_the_tail_in_its_place():
    ranking = candidates(*np.linspace(9, 1, DEPTH + 5).tolist())
    order = diversify(ranking, {0: np.array([1, 0], np.float32)}, share=1.0)
    assert sorted(one.chunk_id for one in order) == list(range(DEPTH + 5))
    assert order[DEPTH:] == tuple(ranking[DEPTH:])
