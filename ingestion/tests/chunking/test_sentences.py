"""Cutting text loses nothing and stays linear."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.chunking.sentences import cut_at_safe_places, split_sentences


@given(st.text(alphabet="aB1.!?。；”)\n 中,，\u0301", max_size=200), st.integers(1, 30))
def test_pieces_join_to_the_text(text, longest):
    assert "".join(split_sentences(text)) == text
    pieces = list(cut_at_safe_places(text, longest))
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= longest for piece in pieces)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The first one ends here. The second one too.",
            ["The first one ends here. ", "The second one too."],
        ),
        ("Ask Dr. Smith about it. He knows the rest.", ["Ask Dr. Smith about it. ", "He knows the rest."]),
        (
            "员工应当在三日内提交。“逾期不再受理任何申请。”特此通知各个部门。",
            ["员工应当在三日内提交。", "“逾期不再受理任何申请。”", "特此通知各个部门。"],
        ),
        ("Version 2.3.1 is out now, see page 3.5 of it", ["Version 2.3.1 is out now, see page 3.5 of it"]),
    ],
)
def test_sentences(text, expected):
    assert split_sentences(text) == expected


def test_cuts_prefer_clauses_then_spaces():
    assert list(cut_at_safe_places("one two, three four", 12)) == ["one two, ", "three four"]
    assert list(cut_at_safe_places("one two three four", 12)) == ["one two ", "three four"]


@pytest.mark.parametrize(
    "text", ["." * 1_000_000, "." + " " * 1_000_000 + "x", ". " * 500_000, "。" * 500_000]
)
def test_runs_of_marks_and_spaces_are_scanned_once(text):
    started = time.process_time()
    split_sentences(text)
    assert time.process_time() - started < 3
