"""Markers of a model's answer."""

import pytest

from retrieval.generation.markers import MarkerFilter


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("The cap is 145 [1].", "The cap is 145 [1]."),
        ("上限为145欧元【2】。", "上限为145欧元[2]。"),
        ("Both [1, 3] and [2–3].", "Both [1][3] and [2][3]."),
        ("Seen [Source 1][来源：2].", "Seen [1][2]."),
        ("Invented [7] and [0] and [1, 9].", "Invented  and  and [1]."),
        ("A footnote [^1].", "A footnote [1]."),
        ("Not one: [optional], [note 1 of 2], [].", "Not one: [optional], [note 1 of 2], []."),
        (
            "Code `rows[1]` and\n```\nx = y[9]\n```\nafter [1]",
            "Code `rows[1]` and\n```\nx = y[9]\n```\nafter [1]",
        ),
        ("An open [1", "An open [1"),
        ("[[1]]", "[[1]]"),
        ("[2024年预算]", "[2024年预算]"),
        ("a [" + "x" * 100 + "] b", "a [" + "x" * 100 + "] b"),
        ("[1]\n[2]", "[1]\n[2]"),
    ],
)
@pytest.mark.parametrize("size", [1, 4, 1000])
def test_markers_have_one_form_and_name_a_passage(said, shown, size):
    markers = MarkerFilter(3)
    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    assert "".join(map(markers.feed, pieces)) + markers.rest() == shown


def test_what_was_used_and_what_was_removed_is_counted():
    markers = MarkerFilter(2)
    markers.feed("a [1] b [2] c [5][6-7]")
    assert (markers.used, markers.removed) == ({1, 2}, 3)


def test_an_endless_range_is_bounded():
    markers = MarkerFilter(3)
    assert markers.feed("[1-999]") == "[1][2][3]"
