"""PDF to elements."""

import pymupdf
import pytest

from ingestion.parsing import pdf_pictures
from ingestion.parsing.elements import Element, Kind, Quality
from ingestion.parsing.errors import Rejected
from ingestion.parsing.page_numbers import spans
from ingestion.tests.parsing.builders import pdf, read_pdf, ruled, write

LINE = "a line of running text that fills the width of one column"
PROSE = [f"{LINE[:44]} {number}" for number in range(30)]


def texts(data: bytes) -> list[tuple[Kind, str]]:
    return [(element.kind, element.text) for element in read_pdf(data).elements]


def test_lines_become_paragraphs_and_broken_words_are_mended() -> None:
    data = pdf(
        [
            (50, 100, "Open-domain answering relies on ef-"),
            (50, 112, "ficient retrieval of passages."),
            (50, 150, "Next paragraph."),
        ]
    )
    assert texts(data) == [
        (Kind.PARAGRAPH, "Open-domain answering relies on efficient retrieval of passages."),
        (Kind.PARAGRAPH, "Next paragraph."),
    ]


def test_chinese_lines_are_joined_without_spaces() -> None:
    data = pdf([(50, 100, "设备重启前请先关闭电源，再等待三十秒，"), (50, 114, "然后重新接通电源。")])
    assert texts(data) == [(Kind.PARAGRAPH, "设备重启前请先关闭电源，再等待三十秒，然后重新接通电源。")]


def test_two_columns_are_read_one_after_the_other_below_a_full_width_title() -> None:
    left = [(40.0, 120 + 12.0 * n, text.replace("a line", "left")) for n, text in enumerate(PROSE)]
    right = [(330.0, 120 + 12.0 * n, text.replace("a line", "right")) for n, text in enumerate(PROSE)]
    data = pdf([*right, *left, (150, 60, "#A title over both of the columns here")])
    elements = read_pdf(data).elements
    whole = " ".join(element.text for element in elements)
    assert elements[0].text == "A title over both of the columns here"
    assert whole.index("left of running text") < whole.index("29 right of running text")
    assert "fills the width 0 left of running text" in whole


def test_headings_by_size_weight_and_number() -> None:
    body = [f"{LINE} {LINE}"[:90] + "."] * 6
    lines = [(50.0, 60.0, "#第一章 总则"), (50.0, 90.0, "*1.1 Scope")]
    lines += [(50.0, 110 + 12.0 * n, text) for n, text in enumerate(body)]
    lines += [(50.0, 220.0, "一、适用范围"), (50.0, 240.0, "适用于全体员工和外包人员。")]
    document = read_pdf(pdf(lines))
    headings = [(e.level, e.text) for e in document.elements if e.kind is Kind.HEADING]
    assert headings == [(1, "第一章 总则"), (3, "1.1 Scope"), (2, "一、适用范围")]


def test_the_outline_gives_levels_to_the_headings_it_names() -> None:
    document = pymupdf.open(
        "pdf", pdf([(50, 60, "Scope"), (50, 80, LINE), (50, 120, "Devices"), (50, 140, LINE)])
    )
    document.set_toc([[1, "Scope", 1], [2, "Devices", 1]])
    parsed = read_pdf(document.tobytes())
    assert [(e.level, e.text) for e in parsed.elements if e.kind is Kind.HEADING] == [
        (1, "Scope"),
        (2, "Devices"),
    ]
    assert parsed.properties["outline"] == ["Scope", "Devices"]


def test_running_headers_and_page_numbers_go_but_the_first_header_stays() -> None:
    pages = [
        [(50.0, 40.0, "ACME manual 2026"), (50.0, 200.0, f"Body of page number {n}."), (290.0, 780.0, str(n))]
        for n in range(1, 6)
    ]
    found = [text for _kind, text in texts(pdf(*pages))]
    assert found.count("ACME manual 2026") == 1
    assert [text for text in found if text.isdigit()] == []
    assert len([text for text in found if text.startswith("Body")]) == 5


def test_a_page_whose_only_text_repeats_keeps_it() -> None:
    pages = [[(50.0, 40.0, f"Slide number {n}")] for n in range(1, 6)]
    assert len(texts(pdf(*pages))) == 5


def test_a_ruled_table_has_its_rows_once_and_merged_cells_in_each_row() -> None:
    document = pymupdf.open()
    page = document.new_page(width=600, height=800)
    ruled(page, [50, 200, 350, 500], [100, 120, 140], [["名称", "Port", "Fee"], ["switch", "8080", "12.50"]])
    page.draw_line((50, 180), (500, 180))
    for x in (50, 200, 350, 500):
        page.draw_line((x, 140), (x, 180))
    page.draw_line((200, 160), (500, 160))
    for x, y, text in (
        (54, 165, "router"),
        (204, 154, "80"),
        (354, 154, "1.00"),
        (204, 174, "443"),
        (354, 174, "2.00"),
    ):
        write(page, x, y, text)
    write(page, 50, 300, LINE)
    table, after = read_pdf(document.tobytes()).elements
    assert table.table is not None
    assert table.table.rows == (
        ("名称", "Port", "Fee"),
        ("switch", "8080", "12.50"),
        ("router", "80", "1.00"),
        ("router", "443", "2.00"),
    )
    assert table.table.header_rows == 1
    assert '<td rowspan="2">router</td>' in table.table.html
    assert after.text == LINE


def test_aligned_columns_without_rules_are_a_table() -> None:
    rows = [
        ("Product", "Stock", "Status"),
        ("SKU-1", "450", "OK"),
        ("SKU-2", "", "LOW"),
        ("SKU-3", "780", "OK"),
    ]
    lines = [
        (50 + 120.0 * c, 100 + 20.0 * r, text)
        for r, row in enumerate(rows)
        for c, text in enumerate(row)
        if text
    ]
    (table,) = read_pdf(pdf(lines)).elements
    assert table.table is not None
    assert table.table.rows == tuple(rows)


def test_steps_and_bullets_with_their_wrapped_lines() -> None:
    lines = [
        (50.0, 100.0, "1. Close the valve that stands behind the pump and then"),
        (62.0, 112.0, "wait for a minute."),
        (50.0, 124.0, "2. Open the lid."),
        (50.0, 150.0, "•"),
        (62.0, 150.0, "first point"),
        (50.0, 164.0, "•"),
        (62.0, 164.0, "second point"),
    ]
    assert texts(pdf(lines)) == [
        (Kind.STEP, "1. Close the valve that stands behind the pump and then wait for a minute."),
        (Kind.STEP, "2. Open the lid."),
        (Kind.LIST_ITEM, "first point"),
        (Kind.LIST_ITEM, "second point"),
    ]


def test_a_paragraph_cut_by_the_page_is_whole_and_has_a_box_on_both() -> None:
    first = [(50.0, 700 + 12.0 * n, text) for n, text in enumerate(PROSE[:4])]
    second = [(50.0, 100.0, "and goes on here until its end.")]
    (element,) = read_pdf(pdf(first, second)).elements
    assert element.text.endswith("3 and goes on here until its end.")
    assert (element.page, [box.page for box in element.boxes]) == (1, [1, 2])


def test_a_footnote_is_a_note_and_does_not_part_the_sentence_above_it() -> None:
    document = pymupdf.open(
        "pdf",
        pdf(
            [(50.0, 700 + 12.0 * n, text) for n, text in enumerate(PROSE[:4])],
            [(50.0, 100.0, "and goes on.")],
        ),
    )
    document[0].insert_text((50, 770), "1 See the report of the commission.", fontname="helv", fontsize=7)
    paragraph, note = read_pdf(document.tobytes()).elements
    assert paragraph.text.endswith("3 and goes on.")
    assert (note.kind, note.text) == (Kind.NOTE, "1 See the report of the commission.")


def test_column_names_right_above_a_ruled_table_are_its_header() -> None:
    document = pymupdf.open("pdf", pdf([(54, 96, "Name"), (204, 96, "Votes for"), (354, 96, "Against")]))
    ruled(
        document[0],
        [50, 200, 350, 500],
        [100, 120, 140, 160],
        [["Lin", "57", "13"], ["Wang", "54", "5"], ["Zhao", "60", "1"]],
    )
    (table,) = read_pdf(document.tobytes()).elements
    assert table.table is not None
    assert table.table.rows[:2] == (("Name", "Votes for", "Against"), ("Lin", "57", "13"))
    assert table.table.header_rows == 1


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_boxes_lie_on_the_page_as_it_is_displayed(rotation: int) -> None:
    data = pdf([(100, 200, "UNIQUE words")], rotate=rotation)
    (element,) = read_pdf(data).elements
    (box,) = element.boxes
    page = pymupdf.open("pdf", data)[0]
    expected = page.search_for("UNIQUE words")[0] * page.rotation_matrix
    assert (box.page_width, box.page_height) == (page.rect.width, page.rect.height)
    assert (box.x0, box.y0, box.x1, box.y1) == pytest.approx(tuple(expected.normalize()), abs=4)


def test_text_written_sideways_is_read_in_its_own_direction_with_displayed_boxes() -> None:
    document = pymupdf.open()
    page = document.new_page(width=600, height=800)
    for number in range(3):
        page.insert_text((100 + 14 * number, 700), f"Sideways line {number}.", rotate=90)
    parsed = read_pdf(document.tobytes())
    assert (
        " ".join(element.text for element in parsed.elements)
        == "Sideways line 0. Sideways line 1. Sideways line 2."
    )
    assert parsed.elements[0].boxes[0].x0 < 110
    assert parsed.elements[0].boxes[0].y0 > 500


def test_a_cropped_page_shifts_its_boxes() -> None:
    document = pymupdf.open("pdf", pdf([(100, 200, "words")]))
    document[0].set_cropbox(pymupdf.Rect(50, 100, 550, 700))
    (element,) = read_pdf(document.tobytes()).elements
    assert element.boxes[0].x0 == pytest.approx(50, abs=2)
    assert element.boxes[0].page_width == 500


def test_form_values_and_remarks_are_not_lost() -> None:
    document = pymupdf.open("pdf", pdf([(50, 100, "Ticket:")]))
    page = document[0]
    widget = pymupdf.Widget()
    widget.field_type, widget.field_name, widget.field_value = (
        pymupdf.PDF_WIDGET_TYPE_TEXT,
        "ticket",
        "KB-1226",
    )
    widget.rect = pymupdf.Rect(100, 90, 200, 104)
    page.add_widget(widget)
    page.add_text_annot((300, 300), "please check this")
    elements = read_pdf(document.tobytes()).elements
    assert "KB-1226" in elements[0].text
    assert (elements[-1].kind, elements[-1].text, elements[-1].page) == (Kind.NOTE, "please check this", 1)


def test_a_file_of_blank_pictures_is_refused() -> None:
    picture = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 20, 20))
    picture.clear_with(128)
    blank = pymupdf.open()
    page = blank.new_page()
    page.insert_image(page.rect, pixmap=picture)
    with pytest.raises(Rejected) as caught:
        read_pdf(blank.tobytes())
    assert caught.value.code == "no_text"


def test_one_failing_table_or_page_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise KeyError("table_body")

    document = pymupdf.open()
    page = document.new_page(width=600, height=800)
    ruled(page, [50, 200, 350], [100, 120, 140], [["alpha", "1"], ["beta", "2"]])
    monkeypatch.setattr(pymupdf.Page, "find_tables", fail)
    parsed = read_pdf(document.tobytes())
    assert "tables_failed:1" in parsed.quality.warnings
    assert "beta" in " ".join(element.text for element in parsed.elements)


def test_title_and_author_come_from_the_file_unless_they_are_left_overs() -> None:
    document = pymupdf.open(
        "pdf", pdf([(50, 60, "#Pump manual"), (50, 100, LINE), (50, 140, "*Scope"), (50, 160, LINE)])
    )
    document.set_metadata({"title": "Microsoft Word - manual_v3.doc", "author": "Lin"})
    parsed = read_pdf(document.tobytes())
    assert (parsed.title, parsed.author) == ("Pump manual", "Lin")
    document.set_metadata({"title": "Pump manual, third edition"})
    assert read_pdf(document.tobytes()).title == "Pump manual, third edition"


def test_passwords() -> None:
    locked = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "user_pw": "open", "owner_pw": "own"}
    with pytest.raises(Rejected) as caught:
        read_pdf(pdf([(50, 100, "secret")], save=locked))
    assert caught.value.code == "encrypted"
    copy_protected = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "owner_pw": "own"}
    assert texts(pdf([(50, 100, "open to read")], save=copy_protected)) == [(Kind.PARAGRAPH, "open to read")]


@pytest.mark.parametrize(
    ("cut", "code"),
    [(lambda data: data[:100], "truncated"), (lambda data: data[:9] + b"noise\n%%EOF\n", "corrupt")],
)
def test_files_that_are_no_whole_pdf(cut, code: str) -> None:
    with pytest.raises(Rejected) as caught:
        read_pdf(cut(pdf([(50, 100, "words")])))
    assert caught.value.code == code


def test_a_file_cut_off_after_some_pages_is_read_as_far_as_it_goes_and_says_so() -> None:
    data = pdf(*[[(50.0, 100.0, f"Page {n} has words.")] for n in range(20)])
    cut = data[: data.rindex(b"endobj", 0, len(data) * 9 // 10) + 7]
    assert "repaired" in read_pdf(cut).quality.warnings


def test_page_numbers_read_as_a_person_writes_them() -> None:
    assert spans([3, 1, 2, 7]) == "1–3, 7"


def test_files_put_into_a_pdf_are_its_attachments_and_dates_are_read() -> None:
    document = pymupdf.open(stream=pdf([(50, 100, "See the attached sheet.")]))
    document.embfile_add("sheet", b"a,b\n1,2\n", filename="folder/prices.csv")
    document.set_metadata({"author": "Ada", "creationDate": "D:20240131120000+08'00'", "modDate": "D:2024"})
    parsed = read_pdf(document.tobytes())
    (part,) = parsed.parts
    assert (part.role, part.name, part.data) == ("attachment", "prices.csv", b"a,b\n1,2\n")
    assert (parsed.author, parsed.created) == ("Ada", "2024-01-31T12:00:00+08:00")
    assert parsed.modified == "2024-01-01T00:00:00"
    assert parsed.quality.warnings == ()


def test_a_picture_takes_the_place_of_its_caption_and_a_logo_is_left_out(monkeypatch) -> None:
    monkeypatch.setattr(pdf_pictures, "with_picture_text", lambda document, source: document)
    pixels, logo = (pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 200, 200)) for _ in range(2))
    pixels.clear_with(90)
    logo.clear_with(30)
    document = pymupdf.open(
        stream=pdf(*[[(50, 60, "Before."), (50, 430, "Figure 1: The pump"), (50, 500, "After.")]] * 3)
    )
    document[0].insert_image((50, 200, 300, 410), pixmap=pixels, keep_proportion=False)
    document[1].insert_image((50, 200, 300, 410), pixmap=logo, keep_proportion=False)
    for page in (document[0], document[2]):
        page.insert_image((350, 200, 550, 410), xref=document[1].get_images()[0][0], keep_proportion=False)
    parsed = read_pdf(document.tobytes())
    (picture,) = [e for e in parsed.elements if e.kind is Kind.IMAGE]
    assert (picture.text, picture.page, picture.picture) == ("Figure 1: The pump", 1, parsed.parts[0].digest)
    assert len(parsed.parts) == parsed.quality.pictures == 1
    assert [e.text for e in parsed.elements if e.page == 1][:2] == ["Figure 1: The pump", "After."]


def _form(*fields: tuple[int, str, object, tuple[float, float, float, float]]) -> pymupdf.Document:
    document = pymupdf.open()
    page = document.new_page()
    for text, x in (("Name:", 50), ("Male", 115), ("Female", 175)):
        page.insert_text((x, 100), text, fontsize=10)
    for kind, name, value, box in fields:
        widget = pymupdf.Widget()
        widget.field_type, widget.field_name, widget.field_value = kind, name, value
        widget.rect = pymupdf.Rect(*box)
        widget.text_fontsize = 16
        if kind == pymupdf.PDF_WIDGET_TYPE_COMBOBOX:
            widget.choice_values = [("1", "First floor"), ("2", "Second floor")]
        page.add_widget(widget)
    return document


def test_a_ticked_box_stands_before_its_label_and_an_empty_one_says_nothing() -> None:
    box = pymupdf.PDF_WIDGET_TYPE_CHECKBOX
    form = _form((box, "m", False, (103, 92, 112, 101)), (box, "f", True, (163, 92, 172, 101)))
    assert [text for _kind, text in texts(form.tobytes())] == ["Name: Male ☑ Female"]


def test_entries_are_said_once_by_the_name_of_what_was_chosen_and_are_no_headings() -> None:
    form = _form(
        (pymupdf.PDF_WIDGET_TYPE_TEXT, "t", "TIKA-1226", (50, 200, 300, 224)),
        (pymupdf.PDF_WIDGET_TYPE_COMBOBOX, "c", "2", (50, 300, 300, 316)),
    )
    assert texts(form.tobytes())[1:] == [(Kind.PARAGRAPH, "TIKA-1226"), (Kind.PARAGRAPH, "Second floor")]


def test_names_with_what_is_given_for_them_stay_on_lines_of_their_own() -> None:
    data = pdf(
        [
            (50, 100, "甲方：北京安居物业"),
            (50, 114, "乙方：李明"),
            (50, 160, "租赁期限自签字之日起计算，" * 3),
        ]
    )
    assert [text for _kind, text in texts(data)][:2] == ["甲方：北京安居物业", "乙方：李明"]


def test_a_bold_line_that_ends_in_a_colon_is_a_heading() -> None:
    document = pymupdf.open("pdf", pdf([(50, 130 + 14 * n, LINE) for n in range(6)]))
    document[0].insert_text((50, 100), "Variance analysis:", fontsize=10, fontname="hebo")
    assert texts(document.tobytes())[0] == (Kind.HEADING, "Variance analysis:")


def test_a_page_whose_pictures_say_more_than_its_text_counts_as_recognised() -> None:
    def picture(page: int, text: str) -> Element:
        return Element(kind=Kind.IMAGE, text=text, page=page, picture="d", confidence=0.9)

    before = Quality(pages=2, page_characters=(4, 400))
    after = pdf_pictures._with_read_pages(before, [picture(1, "a box of text"), picture(2, "a label")])
    assert (after.ocr_pages, after.ocr_confidence, after.page_characters) == (1, 0.9, (17, 400))
