"""What a model thinks aloud is not shown."""

import pytest

from kb_platform.inference.reasoning import ReasoningFilter


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The cap is 145.", "The cap is 145."),
        ("<think>Hmm, 145?</think>\n\nThe cap is 145.", "The cap is 145."),
        ("  \n<think>a</think>b", "b"),
        ("<think>never ends", ""),
        ("<thin", "<thin"),
        ("<b>bold</b> <think>kept</think>", "<b>bold</b> <think>kept</think>"),
        ("", ""),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_whatever_way_it_is_cut(text, said, size):
    reasoning = ReasoningFilter()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert "".join(map(reasoning.feed, pieces)) + reasoning.rest() == said
