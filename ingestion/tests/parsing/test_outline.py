"""The last step outside the child."""

from ingestion.parsing.elements import Element, Kind, ParsedDocument, Quality
from ingestion.parsing.outline import clean, finish


def document(*elements: Element) -> ParsedDocument:
    return ParsedDocument(media_type="text/plain", elements=elements, quality=Quality())


def test_clean_text_is_what_a_database_takes() -> None:
    assert clean("a\x00b\x1bc\r\nd\ud800e\ufffe") == "abc\nd\ufffde"
    assert clean("e\u0301") == "é"


def test_empty_elements_go_and_a_skipped_level_keeps_the_path_right() -> None:
    finished = finish(
        document(
            Element(kind=Kind.HEADING, text="A", level=1),
            Element(kind=Kind.HEADING, text="A.x", level=3),
            Element(kind=Kind.PARAGRAPH, text=" \x00 "),
            Element(kind=Kind.HEADING, text="A.2", level=2),
            Element(kind=Kind.PARAGRAPH, text="body"),
        )
    )
    assert [element.heading_path for element in finished.elements] == [(), ("A",), ("A",), ("A", "A.2")]
