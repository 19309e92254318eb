"""Judging a parse against expected facts."""

from dataclasses import replace
from typing import Any

from ingestion.parsing.elements import Element, Kind, ParsedDocument, Part, PartRole, Quality, Table
from ingestion.parsing.errors import Rejected
from ingestion.parsing.expectations import check

DOCUMENT = ParsedDocument(
    media_type="text/plain",
    encoding="gb18030",
    quality=Quality(pages=2),
    elements=(
        Element(kind=Kind.HEADING, text="第一节 总则", level=1, page=1),
        Element(kind=Kind.PARAGRAPH, text="alpha then beta", page=1),
        Element(
            kind=Kind.TABLE,
            text="A | 1\nB | 2",
            page=2,
            table=Table(rows=(("A", "1"), ("B", "2")), header_rows=0, html=""),
        ),
        Element(kind=Kind.NOTE, text="a comment"),
    ),
)


def holding(record: dict[str, Any]) -> list[bool]:
    return [fact.holds for fact in check({"file": "x", "note": "y", **record}, DOCUMENT)]


def test_white_space_never_decides() -> None:
    assert holding({"must_contain": ["第 一 节", "beta  then"]}) == [True, False]


def test_a_row_is_kept_together_only_within_one_row() -> None:
    assert holding({"must_keep_together": [["A", "1"], ["A", "2"], ["alpha", "beta"]]}) == [True, False, True]


def test_order_pages_headings_notes_and_encodings() -> None:
    assert holding({"reading_order": [["alpha", "beta", "B"], ["beta", "alpha"]]}) == [True, False]
    assert holding({"page_of": {"beta": 1, "B": 1}, "pages": 2}) == [True, False, True]
    assert holding({"headings": ["第一节总则", "总则"]}) == [True, False]
    assert holding({"comments": ["a comment", "alpha"]}) == [True, False]
    assert holding({"encoding": "gbk"}) == [False]
    assert holding({"encoding": "GB18030", "must_not_contain": ["gamma"]}) == [True, True]
    assert holding({"unknown": ["alpha"]}) == [False]


def test_slides_sheets_and_attachments() -> None:
    assert holding({"slide_of": {"beta": 1, "B": 1}, "slides": 2}) == [True, False, True]
    assert holding({"sheets": ["第一节 总则", "alpha then beta"]}) == [True, False]
    workbook = replace(DOCUMENT, elements=(Element(kind=Kind.TABLE, text="x", heading_path=("Sheet1",)),))
    sheets = check({"sheet_of": {"x": "Sheet1", "y": "Sheet1"}}, workbook)
    assert [fact.holds for fact in sheets] == [True, False]
    picture = Part.of(PartRole.PICTURE, b"p", name="p.png")
    mail = replace(DOCUMENT, parts=(Part.of(PartRole.ATTACHMENT, b"t", name="t.txt"), picture))
    inside = replace(DOCUMENT, elements=(Element(kind=Kind.PARAGRAPH, text="inside"),))
    record = {"attachments": ["t.txt", "p.png"], "must_contain": ["inside"], "must_not_contain": ["inside"]}
    assert [fact.holds for fact in check(record, mail, [inside])] == [True, False, True, False]


def test_text_from_pictures_may_be_a_little_wrong() -> None:
    wanted = {"ocr_contain": ["Alpha, then BETA", "alpho then beta", "alpha when gamma"]}
    assert holding(wanted) == [True, True, False]


def test_ocr_is_needed_and_done() -> None:
    assert holding({"expected_quality": "needs OCR"}) == [False]
    read = replace(DOCUMENT, quality=Quality(pages=2, ocr_pages=1))
    assert [fact.holds for fact in check({"expected_quality": "needs OCR"}, read)] == [True]
    refused = check({"expected_quality": "no cell has a value: report no text"}, Rejected("no_text"))
    assert [fact.holds for fact in refused] == [True]


def test_a_rejection_fulfils_only_the_error_that_was_expected() -> None:
    verdict = Rejected("encrypted")
    assert [
        fact.holds for fact in check({"expected_error": "encrypted", "must_contain": ["a", "b"]}, verdict)
    ] == [True, False, False]
    assert [fact.holds for fact in check({"expected_quality": "needs OCR"}, Rejected("no_text"))] == [False]
    assert [fact.holds for fact in check({"expected_error": "corrupt"}, DOCUMENT)] == [False]
