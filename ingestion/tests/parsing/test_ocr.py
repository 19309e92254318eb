"""Text recognised in pictures: geometry by hand, decisions with a reader that says what it is told, and the real one."""

import io
import math
import os
from pathlib import Path

import numpy as np
import pymupdf
import pytest
from PIL import Image

from ingestion.parsing import images, pdf
from ingestion.parsing.formats import Source
from ingestion.parsing.ocr import pages, picture
from ingestion.parsing.ocr.picture import Recognised, TextLine, after, levelled, skew_of, turned
from ingestion.parsing.ocr.recogniser import Recogniser
from ingestion.testing.bad_input import pdfs
from ingestion.tests.parsing.builders import pdf as pdf_of


def moved(way: picture.Affine, x: float, y: float) -> tuple[int, int]:
    a, b, c, d, e, f = way
    return round(a * x + c * y + e), round(b * x + d * y + f)


@pytest.mark.parametrize(("quarters", "corner"), [(1, (0, 60)), (2, (100, 60)), (3, (100, 0))])
def test_a_turned_picture_knows_its_way_back(quarters: int, corner: tuple[int, int]) -> None:
    given = np.zeros((60, 100), dtype=np.uint8)
    given[10:14, 70:74] = 255
    upright, back = turned(given, quarters)
    ys, xs = np.nonzero(upright)
    x, y = moved(back, xs.mean() + 0.5, ys.mean() + 0.5)
    assert (x, y) == (72, 12)
    assert moved(back, 0, 0) == corner


def test_a_skewed_line_is_level_afterwards_and_known_where_it_was() -> None:
    fall = math.tan(math.radians(4))
    quad = np.array([[50, 50], [450, 50 + 400 * fall], [450, 80 + 400 * fall], [50, 80]], dtype=np.float32)
    assert skew_of([quad]) == pytest.approx(4, abs=0.05)
    _level, back = levelled(np.full((200, 500), 255, dtype=np.uint8), 4)
    first, last = moved(back, 100, 100), moved(back, 400, 100)
    assert (last[1] - first[1]) / (last[0] - first[0]) == pytest.approx(fall, abs=0.01)
    assert after(back, picture.STRAIGHT) == back


def line(text: str, *, y: float = 0.0, size: float = 30.0, confidence: float = 0.9) -> TextLine:
    return TextLine(
        text=text, x0=50, y0=y, x1=50 + 15 * len(text), y1=y + 35, baseline=y + 30, size=size, confidence=confidence
    )  # fmt: skip


def said(*lines: TextLine) -> Recognised:
    area = sum((each.x1 - each.x0) * 35 for each in lines)
    return Recognised(
        lines=lines, width=1650, height=2300, seen=len(lines), cover=area / (1650 * 2300) if lines else 0
    )


def test_specks_taken_for_letters_are_not_text() -> None:
    assert not pages.says_something(said(line("ab c1")))
    assert not pages.says_something(Recognised())
    assert pages.says_something(said(line("A line of more than sixteen letters")))
    big = Recognised(lines=(line("EXIT"),), width=200, height=100, seen=1, cover=0.4)
    assert pages.says_something(big)


def test_lines_of_about_one_height_are_of_one_size_over_the_pages() -> None:
    read = [said(line("body " * 9, size=30), line("body " * 9, y=50, size=33), line("Title", y=100, size=61)), said(line("body " * 9, size=32))]  # fmt: skip
    made = [
        pages.page_of(each, number=n, display=(600, 800), shown=picture.scaled(0.36), point=0.36)
        for n, each in enumerate(read, start=1)
    ]
    pages.level_sizes(made)
    assert len({each.size for page in made for each in page.lines if each.text != "Title"}) == 1
    assert made[0].lines[2].size > 1.7 * made[0].lines[0].size
    box = made[0].box(0, 0, 36, 36)
    assert (box.x0, box.y0, box.x1, box.y1) == (0, 0, 36, 36)


def scan_of(*texts: str) -> bytes:
    """Pages covered by a picture, with what their text layer says."""
    pixels = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, 40, 40))
    pixels.clear_with(200)
    document = pymupdf.open()
    for text in texts:
        page = document.new_page()
        page.insert_image(page.rect, pixmap=pixels)
        if text:
            page.insert_text((50, 100), text)
    data: bytes = document.tobytes()
    return data


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch):
    """What the recogniser says of each picture, in order."""
    answers: list[Recognised] = []
    monkeypatch.setattr(Recogniser, "read", lambda self, grey: answers.pop(0))
    return answers


def test_pages_without_text_are_read_from_their_picture_and_counted(reader: list[Recognised]) -> None:
    reader += [said(line("The whole text of the first page, recognised.")), Recognised(seen=9), Recognised()]
    counted: list[int] = []
    parsed = pdf.parse(Source(data=scan_of("", "", ""), recognising=counted.append))
    (element,) = parsed.elements
    assert (element.page, element.confidence) == (1, 0.9)
    assert element.boxes[0].page_width == 595
    assert counted == [1, 2, 3]
    assert parsed.quality.warnings == ("pages_without_text:2", "pages_of_pictures:3")
    assert (parsed.quality.ocr_pages, parsed.quality.ocr_confidence) == (1, 0.9)
    assert parsed.quality.page_characters == (45, 0, 0)


def test_a_stamp_on_a_scan_does_not_hide_what_the_scan_says(reader: list[Recognised]) -> None:
    reader.append(said(line("Recognised text with CONFIDENTIAL in it")))
    parsed = pdf.parse(Source(data=scan_of("CONFIDENTIAL")))
    assert [e.text for e in parsed.elements] == ["Recognised text with CONFIDENTIAL in it"]


def test_a_garbled_text_layer_gives_way_to_a_clear_reading_only(reader: list[Recognised]) -> None:
    shifted = ["WKH TXLFN EURZQ IRA MXPSV RYHU WKH ODCB GRJ"] * 7  # letters of a font that names none of them
    data = pdf_of([(50, 100 + 14 * n, text) for n, text in enumerate(shifted)])
    clear = "The quick brown fox jumps over the lazy dog"
    reader.append(said(*(line(clear, y=40 * n) for n in range(7))))
    assert {e.text for e in pdf.parse(Source(data=data)).elements} == {" ".join([clear] * 7)}
    reader.append(said(*(line(clear, y=40 * n, confidence=0.4) for n in range(7))))
    unclear = pdf.parse(Source(data=data))
    assert unclear.quality.ocr_pages == 0
    assert "TXLFN" in unclear.elements[0].text
    reader.append(said(*(line(text, y=40 * n) for n, text in enumerate(shifted))))
    assert pdf.parse(Source(data=data)).quality.ocr_pages == 0  # that is what it says


@pytest.mark.integration
@pytest.mark.parametrize("turn", [0, 90, 180])
def test_a_scan_is_read_however_it_lies(turn: int) -> None:
    """With the real models, and with Tesseract where it is installed."""
    texts = [
        "安全生产管理制度",
        "第一条 各部门应当建立安全检查记录。",
        "The pump must be inspected every week.",
    ]
    written = pymupdf.open(stream=pdf_of([(60, 120 + 60 * n, text) for n, text in enumerate(texts)], size=18))
    pixels = written[0].get_pixmap(dpi=150, colorspace=pymupdf.csGRAY)
    scan = pymupdf.open()
    page = scan.new_page(width=600 if turn % 180 == 0 else 800, height=800 if turn % 180 == 0 else 600)
    page.insert_image(page.rect, pixmap=pixels, rotate=turn)
    parsed = pdf.parse(Source(data=scan.tobytes()))
    whole = "".join("".join(element.text.split()) for element in parsed.elements)
    assert whole.index("安全生产管理制度") < whole.index("各部门应当建立安全检查记录")
    assert "Thepumpmustbeinspectedeveryweek" in whole
    assert parsed.quality.ocr_pages == 1
    first = parsed.elements[0].boxes[0]
    near = {0: first.y0 < 200, 90: first.x0 < 200, 180: first.y1 > 600}
    assert near[turn]


def misread_latin() -> bytes:
    """Chinese in a font that says that each half of a character is a letter of western Europe."""
    text = "中华人民共和国国家标准 汽油车污染物排放限值".encode("gb18030").decode("latin-1")
    document = pymupdf.open()
    page = document.new_page()
    for n in range(7):
        page.insert_text((50, 100 + 14 * n), text, fontname="helv", fontsize=9)
    data: bytes = document.tobytes()
    return data


@pytest.mark.parametrize("make", [misread_latin, pdfs.no_unicode])
def test_text_of_fonts_that_name_no_letters_is_read_from_the_page(reader: list[Recognised], make) -> None:
    clear = "中华人民共和国国家标准，汽油车污染物排放限值及测量方法。" * 3
    reader.append(said(*(line(clear, y=40 * n) for n in range(7))))
    parsed = pdf.parse(Source(data=make()))
    assert parsed.quality.ocr_pages == 1
    assert "".join(element.text for element in parsed.elements) == clear * 7


def scanned_book(pages_of_it: int) -> bytes:
    return scan_of(*[""] * pages_of_it)


def scanned_tiff(pages_of_it: int) -> bytes:
    made, out = [Image.new("1", (1650, 2340), 1) for _page in range(pages_of_it)], io.BytesIO()
    made[0].save(out, format="TIFF", compression="group4", save_all=True, append_images=made[1:])
    return out.getvalue()


@pytest.mark.parametrize(("make", "parse"), [(scanned_book, pdf.parse), (scanned_tiff, images.parse)])
def test_a_long_scan_needs_no_more_memory_than_a_short_one(
    monkeypatch: pytest.MonkeyPatch, make, parse
) -> None:
    """A page's picture takes 4 MB here; what is held of the pages that were read is counted while each is read."""
    held: list[int] = []

    def measure(self: Recogniser, grey: np.ndarray) -> Recognised:
        assert grey.nbytes > 3_500_000
        held.append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
        return said(line(f"What page {len(held)} says, which is enough."))

    monkeypatch.setattr(Recogniser, "read", measure)
    parsed = parse(Source(data=make(12), file_name="book.tiff"))
    assert parsed.quality.ocr_pages == len(held) == 12
    assert held[-1] - held[3] < 4 * 4_000_000
