from dataclasses import replace
from datetime import UTC, datetime

import pytest

from retrieval.chat.values import ShownCitation, ShownMessage
from retrieval.turns import answer_blocks, paragraphs, sentences

CITATION = ShownCitation(
    n=1, document_uid="u", title='A "title"', version_number=2, page=3, heading_path=(), quote="q",
    first_element=4, last_element=5,
)  # fmt: skip
MESSAGE = ShownMessage(
    uid="m", conversation_uid="c", question="q", answer="", refused=False, grounded=True, withdrawn=False,
    citations=(CITATION,), degraded=(), trace_id="", created_at=datetime(2026, 1, 1, tzinfo=UTC),
)  # fmt: skip


def lines(answer):
    return [line for block in answer_blocks(replace(MESSAGE, answer=answer)) for line in block.lines]


def test_a_marker_becomes_a_chip_kept_with_the_word_before_it():
    (line,) = lines("Up to 320 USD. [1]")
    assert line.startswith('Up to 320 <span class="nb">USD.<a class="cite" href="')
    assert ">1</a></span>" in line


def test_a_chip_stays_with_chinese_punctuation():
    (line,) = lines("可乘坐一等座。[1]")
    assert line.startswith('可乘坐一等<span class="nb">座。<a class="cite"')


def test_markers_without_a_source_are_dropped():
    assert lines("So it is. [7]") == ["So it is."]


def test_statements_without_a_source_are_underlined_and_counted():
    (block,) = answer_blocks(replace(MESSAGE, answer="- So it is. [1] Perhaps.\n- Nobody knows.\n- Namely:"))
    assert block.uncovered == 2
    assert block.lines[0].endswith('<span class="unsrc">Perhaps.</span>')
    assert block.lines[1] == '<span class="unsrc">Nobody knows.</span>'
    assert block.lines[2] == "Namely:"


def test_text_and_titles_are_escaped():
    (line,) = lines("<b>x</b> & y [1]")
    assert "&lt;b&gt;x&lt;/b&gt; &amp; " in line
    assert 'title="A &quot;title&quot;"' in line


def test_lists_and_paragraphs_are_told_apart():
    blocks = list(answer_blocks(replace(MESSAGE, answer="Steps:\n\n1. One [1]\n2. Two\n\nDone.")))
    assert [(block.is_list, len(block.lines)) for block in blocks] == [(False, 1), (True, 2), (False, 1)]


def test_a_list_may_follow_its_lead_at_once():
    blocks = list(
        answer_blocks(
            replace(MESSAGE, answer="Needed: [1]\n- 1. A form [1]\n- 2. A report [1]\nThat is all. [1]")
        )
    )
    assert [(block.is_list, len(block.lines)) for block in blocks] == [(False, 1), (True, 2), (False, 1)]
    assert blocks[1].lines[0].startswith("1. A")


@pytest.mark.parametrize(
    "answer",
    [
        "One. [1] Two. [1] [2]",
        "Do this: [1]\n- first [1]\n- second [1]\n\nAnd then rest. [2]",
        "没有足够的依据。",
        "a\n \n\n b",
        "",
    ],
)
def test_an_answer_in_pieces_is_the_answer(answer):
    assert "".join(paragraphs(answer)) == answer
    assert "".join(piece for part in paragraphs(answer) for piece in sentences(part)) == answer


def test_a_piece_ends_behind_the_markers_of_its_sentence():
    assert sentences("It costs 3.50 euros. [1] [2] That is all. [1]") == [
        "It costs 3.50 euros. [1] [2] ",
        "That is all. [1]",
    ]
