"""Text in the pictures of a document: which are read, and where it goes."""

import io
from types import SimpleNamespace

from PIL import Image

from ingestion.parsing import picture_text
from ingestion.parsing.elements import Element, Kind, ParsedDocument, Part, PartRole, Quality
from ingestion.parsing.formats import Source


def picture(width: int, height: int, shade: int = 255) -> Part:
    file = io.BytesIO()
    Image.new("L", (width, height), shade).save(file, "PNG")
    return Part.of(PartRole.PICTURE, file.getvalue(), name="p.png", media_type="image/png")


def line(text: str, x0: float, baseline: float) -> SimpleNamespace:
    return SimpleNamespace(text=text, x0=x0, baseline=baseline, size=20.0)


class Reader:
    """Reads the same lines everywhere, and fails at a black picture."""

    def __init__(self, *lines: SimpleNamespace, letters: int = 30, confidence: float = 0.9) -> None:
        self._read = SimpleNamespace(lines=lines, letters=letters, confidence=confidence)

    def read(self, grey):
        if grey.max() == 0:
            raise ValueError("black")
        return self._read


def read(monkeypatch, reader: Reader, *parts: Part, text: str = "") -> ParsedDocument:
    monkeypatch.setattr(picture_text._Reader, "_recogniser", reader)
    elements = tuple(Element(kind=Kind.IMAGE, text=text, picture=part.digest, page=3) for part in parts)
    document = ParsedDocument(media_type="x/y", elements=elements, quality=Quality(), parts=parts)
    return picture_text.with_picture_text(document, Source(data=b""))


def test_what_a_picture_says_follows_what_is_known_of_it_line_by_line(monkeypatch) -> None:
    reader = Reader(line("right", 200, 51), line("below", 0, 90), line("left", 0, 50))
    document = read(monkeypatch, reader, picture(400, 300), text="图 1")
    (element,) = document.elements
    assert (element.text, element.confidence) == ("图 1\nleft  right\nbelow", 0.9)
    assert (document.quality.ocr_pages, document.quality.ocr_confidence) == (1, 0.9)


def test_small_pictures_are_not_read_and_what_is_hardly_legible_is_not_said(monkeypatch) -> None:
    assert read(monkeypatch, Reader(line("logo", 0, 0)), picture(60, 60)).quality.ocr_pages == 0
    for letters, confidence in ((30, 0.5), (4, 0.8), (1, 0.99)):
        reader = Reader(line("U?", 0, 0), letters=letters, confidence=confidence)
        assert read(monkeypatch, reader, picture(400, 300)).elements[0].text == ""


def test_pictures_over_the_budget_and_those_that_fail_are_counted(monkeypatch) -> None:
    monkeypatch.setattr(picture_text, "MAX_PICTURES", 2)
    document = read(
        monkeypatch, Reader(line("said", 0, 0)), picture(900, 900, 0), picture(400, 300), picture(300, 250)
    )
    assert [bool(element.text) for element in document.elements] == [False, True, False]
    assert document.quality.warnings == ("pictures_unread:2",)
