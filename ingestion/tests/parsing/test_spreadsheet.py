"""Workbooks to elements: tables with their headers, values as they are shown."""

import io
import struct
import zipfile

import pytest

from ingestion.parsing import outline, sheets, spreadsheet
from ingestion.parsing.elements import Kind, ParsedDocument
from ingestion.parsing.errors import Rejected
from ingestion.tests.parsing.office import OFFICE, PNG, A, S, ole, rows, workbook
from ingestion.tests.parsing.reading import parser_of

parse = parser_of(spreadsheet)
HEAD = ("Code", "Name", "Fee")


def said(document: ParsedDocument) -> list[tuple[Kind, int | None, str]]:
    return [(e.kind, e.page, e.text) for e in document.elements]


def test_a_title_above_the_table_is_its_heading_and_every_row_keeps_header_and_merged_cells() -> None:
    sheet = rows(
        ["Fee schedule 2024"],
        ["Tier", "Rate", None, "Paid"],
        [None, "from", "to", None],
        ["A", 1, 2, "monthly"],
        [None, 3, 4, "yearly"],
        merged=["A1:D1", "A2:A3", "B2:C2", "D2:D3", "A4:A5"],
    )
    document = parse(workbook(sheet, names=["Fees"]))
    assert said(document)[:2] == [(Kind.HEADING, 1, "Fees"), (Kind.HEADING, 1, "Fee schedule 2024")]
    (table,) = [e.table for e in document.elements if e.table]
    assert table.header_rows == 2
    assert table.rows == (
        ("Tier", "Rate", "Rate", "Paid"),
        ("Tier", "from", "to", "Paid"),
        ("A", "1", "2", "monthly"),
        ("A", "3", "4", "yearly"),
    )
    assert document.elements[-1].text.split("\n")[-1] == "A | 3 | 4 | yearly"


def test_a_long_table_repeats_its_header_in_every_part() -> None:
    lines = [HEAD, *((f"K{n}", f"name {n}", n) for n in range(450))]
    parts = [e.table for e in parse(workbook(rows(*lines))).elements if e.table]
    assert len(parts) == 23
    assert all(part.rows[0] == HEAD and part.header_rows == 1 for part in parts)
    assert sum(len(part.rows) - 1 for part in parts) == 450


def test_tables_below_and_beside_each_other_are_told_apart_and_a_spacer_parts_nothing() -> None:
    below = rows(HEAD, ["K1", "pump", 5], [], ["K2", "hose", 7], [], [], ["City", "Staff"], ["Bonn", 12])
    beside = rows([*HEAD, None, "City", "Staff"], ["K1", "pump", 5, None, "Bonn", 12], ["K2", "hose", 7])
    spaced = rows(["Code", None, "Fee"], ["K1", None, 5])
    tables = [[e.table.rows for e in parse(workbook(s)).elements if e.table] for s in (below, beside, spaced)]
    assert tables[0] == [
        (HEAD, ("K1", "pump", "5"), ("K2", "hose", "7")),
        (("City", "Staff"), ("Bonn", "12")),
    ]
    assert tables[1] == [
        (HEAD, ("K1", "pump", "5"), ("K2", "hose", "7")),
        (("City", "Staff"), ("Bonn", "12")),
    ]
    assert tables[2] == [(("Code", "Fee"), ("K1", "5"))]


def test_values_are_shown_in_their_formats_and_damaged_styles_cost_only_those() -> None:
    style = f'<styleSheet xmlns="{S}"><numFmts><numFmt numFmtId="170" formatCode="yyyy/m/d"/></numFmts><fills><bad/></fills><cellXfs><xf numFmtId="0"/><xf numFmtId="170"/><xf numFmtId="10"/></cellXfs></styleSheet>'
    sheet = '<sheetData><row><c s="1"><v>45356</v></c><c s="2"><v>0.5</v></c><c t="b"><v>1</v></c><c t="str"><f>A1</f><v>text</v></c><c><f>SUM(A1)</f></c></row></sheetData>'
    document = parse(workbook(sheet, parts={"xl/styles.xml": style}))
    assert document.elements[1].text == "2024/3/5 | 50.00% | TRUE | text | =SUM(A1)"
    assert document.quality.warnings == ("formulas_unsolved:1",)
    broken = parse(workbook(sheet, parts={"xl/styles.xml": "<styleSheet><open>"}))
    assert broken.elements[1].text.startswith("45356 | 0.5 | TRUE")
    assert "formats_lost" in broken.quality.warnings


def test_sheets_are_pages_hidden_ones_are_named_and_comments_are_notes() -> None:
    comments = f'<comments xmlns="{S}"><commentList><comment ref="B2"><text><r><t>ask </t></r><r><t>Lin</t></r></text></comment></commentList></comments>'
    document = parse(
        workbook(
            rows(["open"]),
            rows(["secret"]),
            names=["First", "hidden:Second"],
            parts={"xl/comments1.xml": comments},
            relations={"xl/sheet1.xml": [("c", "comments", "comments1.xml")]},
        )
    )
    assert said(document) == [
        (Kind.HEADING, 1, "First"),
        (Kind.PARAGRAPH, 1, "open"),
        (Kind.NOTE, 1, "B2: ask Lin"),
        (Kind.HEADING, 2, "Second"),
        (Kind.PARAGRAPH, 2, "secret"),
    ]
    assert (document.quality.pages, document.quality.warnings) == (2, ("sheets_hidden:Second",))


def test_cells_at_the_far_corners_cost_two_cells_and_very_wide_tables_are_cut_into_columns() -> None:
    corners = '<dimension ref="A1:XFD1048576"/><sheetData><row r="1"><c r="A1" t="str"><v>first</v></c></row><row r="1048576"><c r="XFD1048576" t="str"><v>last</v></c></row></sheetData>'
    assert [e.text for e in parse(workbook(corners)).elements[1:]] == ["first", "last"]
    wide = [["Name", *(f"Column {n}" for n in range(200))], ["K1", *range(200)]]
    cells = "".join(
        "<row>" + "".join(f'<c t="str"><v>{value}</v></c>' for value in line) + "</row>" for line in wide
    )
    tables = [e.table for e in parse(workbook(f"<sheetData>{cells}</sheetData>")).elements if e.table]
    assert [(len(table.rows[0]), table.rows[0][0], table.rows[1][0]) for table in tables] == [
        (61, "Name", "K1"), (61, "Name", "K1"), (61, "Name", "K1"), (21, "Name", "K1"),
    ]  # fmt: skip


def test_too_many_rows_are_refused_by_a_limit_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "MAX_ROWS", 10)
    with pytest.raises(Rejected) as caught:
        parse(workbook(rows(*([n] for n in range(11)))))
    assert (caught.value.code, caught.value.params) == ("too_large", {"limit": "10 rows in a sheet"})


def test_many_merged_cells_without_a_value_are_no_text() -> None:
    spans = [f"A{n}:B{n + 1}" for n in range(1, 4000, 2)]
    with pytest.raises(Rejected) as caught:
        outline.finish(parse(workbook(rows(merged=spans))))
    assert caught.value.code == "no_text"


def test_pictures_on_the_sheet_and_text_boxes_are_read() -> None:
    xdr = "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"
    drawing = (
        f'<xdr:wsDr xmlns:xdr="{xdr}" xmlns:a="{A}" xmlns:r="{OFFICE}"><xdr:pic><xdr:nvPicPr><xdr:cNvPr descr="floor plan"/></xdr:nvPicPr><a:blip r:embed="i"/></xdr:pic>'
        "<xdr:sp><xdr:txBody><a:p><a:r><a:t>boxed</a:t></a:r></a:p></xdr:txBody></xdr:sp></xdr:wsDr>"
    )
    document = parse(
        workbook(
            rows(["x"]),
            parts={"xl/drawing1.xml": drawing, "xl/plan.png": PNG},
            relations={
                "xl/sheet1.xml": [("d", "drawing", "drawing1.xml")],
                "xl/drawing1.xml": [("i", "image", "plan.png")],
            },
        )
    )
    assert said(document)[2:] == [(Kind.IMAGE, 1, "floor plan"), (Kind.PARAGRAPH, 1, "boxed")]
    assert document.elements[2].picture == document.parts[0].digest


def test_strict_workbooks_and_damaged_sheets() -> None:
    strict = workbook(rows(["strict"]))
    source = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(strict)) as old, zipfile.ZipFile(source, "w") as new:
        for name in old.namelist():
            text = old.read(name).replace(S.encode(), b"http://purl.oclc.org/ooxml/spreadsheetml/main")
            new.writestr(
                name,
                text.replace(OFFICE.encode(), b"http://purl.oclc.org/ooxml/officeDocument/relationships"),
            )
    assert parse(source.getvalue()).elements[1].text == "strict"
    damaged = parse(workbook(rows(["fine"]), "<sheetData><row><c t='str'><v>kept</v></c></row><row>"))
    assert [e.text for e in damaged.elements] == ["Sheet1", "fine", "Sheet2", "kept"]
    assert damaged.quality.warnings == ("sheets_failed:Sheet2",)


ODS = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">'
    '<table:table table:name="Kosten"><table:table-row><table:table-cell table:number-columns-spanned="2"><text:p>Kosten 2024</text:p></table:table-cell><table:covered-table-cell/></table:table-row>'
    "<table:table-row><table:table-cell><text:p>Ort</text:p></table:table-cell><table:table-cell><text:p>Betrag</text:p></table:table-cell></table:table-row>"
    '<table:table-row table:number-rows-repeated="2"><table:table-cell><text:p>Bonn<text:s/>Süd</text:p></table:table-cell><table:table-cell><text:p>12,50 €</text:p><office:annotation><text:p>check</text:p></office:annotation></table:table-cell></table:table-row>'
    '<table:table-row table:number-rows-repeated="1048570"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table></office:document-content>'
)


def test_opendocument_shows_its_own_texts() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", ODS)
    document = parse(file.getvalue())
    assert [e.text for e in document.elements] == [
        "Kosten",
        "Kosten 2024",
        "Ort | Betrag\nBonn Süd | 12,50 €\nBonn Süd | 12,50 €",
        "check",
    ]


def biff(*records: tuple[int, bytes]) -> bytes:
    return b"".join(struct.pack("<HH", kind, len(body)) + body for kind, body in records)


def test_binary_workbooks_show_their_formats_too() -> None:
    def begin(kind: int) -> tuple[int, bytes]:
        return 0x0809, struct.pack("<HHHHII", 0x0600, kind, 0, 1997, 0, 0)

    code = b"yyyy/m/d"
    styles = [(0x00E0, struct.pack("<HH", 0, form) + bytes(16)) for form in (0, 164, 10)]
    head = [begin(5), (0x041E, struct.pack("<HHB", 164, len(code), 0) + code), *styles]
    sheet = biff(
        begin(0x10),
        (0x0200, struct.pack("<IIHHH", 0, 1, 0, 3, 0)),
        (0x0203, struct.pack("<HHHd", 0, 0, 1, 45356)),
        (0x0203, struct.pack("<HHHd", 0, 1, 2, 0.5)),
        (0x0203, struct.pack("<HHHd", 0, 2, 0, 7)),
        (0x000A, b""),
    )
    start = len(biff(*head, (0x0085, bytes(8 + 4)), (0x000A, b"")))
    listed = (0x0085, struct.pack("<IBBBB", start, 0, 0, 4, 0) + b"Data")
    document = parse(ole("Workbook", biff(*head, listed, (0x000A, b"")) + sheet))
    assert [e.text for e in document.elements] == ["Data", "2024/3/5 | 50.00% | 7"]


def test_what_is_no_workbook_is_damaged() -> None:
    for data in (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(3000), workbook("<broken"), b"PK\x03\x04"):
        with pytest.raises(Rejected) as caught:
            parse(data)
        assert caught.value.code == "corrupt"
