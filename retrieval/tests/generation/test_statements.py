import pytest

from retrieval.generation.statements import LONGEST, SourceElement, statements_of
from retrieval.values import Passage


def passage(text, **fields):
    values = {
        "chunk_id": 1, "document_id": 1, "document_uid": "d", "version_id": 1, "version_number": 1, "title": "T",
        "collection_uid": "c", "collection_name": "C", "embedding_text": text, "kind": "text", "language": "en",
        "heading_path": (), "page": 1, "boxes": (), "first_element": 0, "last_element": 9, "score": 1.0, "channels": {},
    }  # fmt: skip
    return Passage(text=text, **(values | fields))


def texts(statements):
    return [statement.text for statement in statements]


def test_paragraphs_give_whole_sentences_with_their_element():
    text = "The cap in Lisbon is 145 euros. It includes breakfast.\n"
    found = statements_of(0, passage(text), [SourceElement(order=4, kind="paragraph", text=text, page=2)])
    assert texts(found) == ["The cap in Lisbon is 145 euros.", "It includes breakfast."]
    assert {(statement.element, statement.page) for statement in found} == {(4, 2)}


def test_chinese_sentences_are_cut_at_their_own_stops():
    text = "员工每年享有十天带薪年假。未休完的年假可以顺延至次年三月底。"
    found = statements_of(0, passage(text), [SourceElement(order=0, kind="paragraph", text=text)])
    assert texts(found) == ["员工每年享有十天带薪年假。", "未休完的年假可以顺延至次年三月底。"]


def test_list_items_stay_whole_and_headings_are_not_quoted():
    elements = [
        SourceElement(order=0, kind="heading", text="Steps"),
        SourceElement(order=1, kind="paragraph", text="Do this:"),
        SourceElement(order=2, kind="step", text="Open the valve. Wait a minute."),
    ]
    found = statements_of(0, passage("Steps\nDo this:\nOpen the valve. Wait a minute."), elements)
    assert texts(found) == ["Do this:", "Open the valve. Wait a minute."]
    assert [(s.leads_list, s.is_item) for s in found] == [(True, False), (False, True)]


def test_rows_carry_their_header_and_quote_the_row_as_it_stands():
    table = {"rows": [["City", "Cap"], ["Lisbon", "145"], ["Rome", "150"]], "header_rows": 1}
    text = "City | Cap\nLisbon | 145\nRome | 150"
    (lisbon, _rome) = statements_of(
        0, passage(text), [SourceElement(order=0, kind="table", text=text, table=table)]
    )
    assert (lisbon.text, lisbon.quote) == ("City: Lisbon; Cap: 145", "Lisbon | 145")


def test_a_caption_line_before_the_rows_is_no_row():
    table = {"rows": [["City", "Cap"], ["Lisbon", "145"]], "header_rows": 1}
    text = "Hotel caps\nCity | Cap\nLisbon | 145"
    (row,) = statements_of(0, passage(text), [SourceElement(order=0, kind="table", text=text, table=table)])
    assert row.quote == "Lisbon | 145"


def test_only_what_stands_in_the_passage_is_quoted():
    whole = "The first sentence is here. The second sentence is elsewhere."
    found = statements_of(
        0, passage("The first sentence is here."), [SourceElement(order=0, kind="paragraph", text=whole)]
    )
    assert texts(found) == ["The first sentence is here."]


def test_what_is_too_long_to_be_an_answer_is_left_out():
    text = "a" * (LONGEST + 1)
    assert statements_of(0, passage(text), [SourceElement(order=0, kind="paragraph", text=text)]) == []


@pytest.mark.parametrize("text", ["One line.\nAnother line.", "One line.\n\nAnother line."])
def test_without_elements_the_lines_are_cut(text):
    assert texts(statements_of(0, passage(text), [])) == ["One line.", "Another line."]
