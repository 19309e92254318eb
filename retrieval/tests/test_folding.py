"""Near-duplicates."""

import pytest

from retrieval.folding import Folder

LONG = "Every employee may carry five days of unused leave over into the first quarter of the following year."


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LONG, LONG),
        (LONG, LONG.upper().replace(".", " !")),
        (LONG, LONG.replace("Every employee", "Each employee")),
        ("年假须在次年第一季度内休完。", "年假须在次年第一季度内休完"),
        ("short", "Short."),
    ],
)
def test_the_same_said_again_is_folded(first, second):
    folder = Folder()
    assert folder.same_as(1, first) is None
    assert folder.same_as(2, second) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LONG, LONG.replace("five", "ten").replace("first quarter", "third month of the second half")),
        (f"{LONG} The cap is 145 euros.", f"{LONG} The cap is 162 euros."),
        ("Grade P8", "Grade P9"),
        ("三级医院", "二三级医院"),
        ("", "x"),
    ],
)
def test_other_words_or_other_numbers_are_another_text(first, second):
    folder = Folder()
    folder.same_as(1, first)
    assert folder.same_as(2, second) is None


def test_a_repetition_of_a_repetition_goes_under_the_first():
    folder = Folder()
    assert [folder.same_as(key, LONG) for key in (1, 2, 3)] == [None, 1, 1]
