import numpy as np
import pytest

from retrieval.generation.nearness import nearness_of
from retrieval.generation.statements import statements_of
from retrieval.tests.generation.test_statements import passage
from retrieval.values import ChannelHit

QUESTION = np.array([1, 0], dtype=np.float32)
NEAR, FAR, NONE = [1, 0], [0, 1], [0, 0]
TEXT = "Breakfast is paid by everyone. The nightly cap is 145 euros."


def nearness(found, *vectors):
    sentences = {0: np.array(vectors, dtype=np.float32)} if vectors else {}
    return nearness_of(statements_of(0, found, []), [found], QUESTION, sentences)


def test_each_statement_has_the_vector_of_its_sentence():
    found = passage(TEXT, embedding_text=f"Travel\n{TEXT}")  # the short title stays with the first sentence
    assert nearness(found, FAR, NEAR) == pytest.approx([0, 1])


def test_a_statement_of_several_sentences_has_their_mean_direction():
    found = passage(
        "A first long clause;\nand a second one.",
        embedding_text=TEXT + "\nA first long clause;\nand a second one.",
    )
    first, second = nearness(found, FAR, FAR, NEAR, NEAR)
    assert (first, second) == pytest.approx((1, 1))
    whole = passage(TEXT.replace(". The", ", the"), embedding_text=TEXT.replace(". The", ", the"))
    assert nearness(whole, NEAR) == pytest.approx([1])


@pytest.mark.parametrize("vectors", [(), (NONE, NONE), (NEAR,)], ids=["unknown", "not read", "cut otherwise"])
def test_without_a_vector_a_statement_is_as_near_as_its_passage(vectors):
    found = passage(TEXT, embedding_text=TEXT, channels={"dense": ChannelHit(rank=1, score=0.4)})
    assert nearness(found, *vectors) == [0.4, 0.4]
    assert nearness(passage(TEXT, embedding_text=TEXT, channels={}), *vectors) == [0, 0]
