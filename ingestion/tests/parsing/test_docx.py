"""Word files to elements."""

import pytest

from ingestion.parsing import docx
from ingestion.parsing.elements import Kind, PartRole
from ingestion.parsing.errors import Rejected
from ingestion.parsing.numerals import spelled
from ingestion.tests.parsing.builders import W, p, tc, word
from ingestion.tests.parsing.office import OFFICE, PNG, A, ole, package
from ingestion.tests.parsing.reading import parser_of

parse = parser_of(docx)


def kinds(body: str, **parts: str) -> list[tuple[Kind, int, str]]:
    return [
        (element.kind, element.level, element.text) for element in parse(word(body, parts=parts)).elements
    ]


def test_headings_by_style_whatever_its_name_and_language() -> None:
    body = p("手册", style="t") + p("总则", style="1") + p("正文。") + p("范围", style="own")
    body += '<w:p><w:pPr><w:outlineLvl w:val="2"/></w:pPr><w:r><w:t>细则</w:t></w:r></w:p>' + p(
        "总则 … 1", style="toc"
    )
    assert kinds(body) == [
        (Kind.TITLE, 0, "手册"),
        (Kind.HEADING, 1, "总则"),
        (Kind.PARAGRAPH, 0, "正文。"),
        (Kind.HEADING, 2, "范围"),
        (Kind.HEADING, 3, "细则"),
    ]


def test_without_styles_bold_large_and_numbered_lines_are_headings() -> None:
    body = (
        p("员工手册", run='<w:b/><w:sz w:val="36"/>')
        + p("第一章 总则")
        + p("本制度适用于全体员工，自发布之日起施行。" * 4)
    )
    body += p("Scope of work", run="<w:b/>") + p("It covers all of the sites and all of the people there.")
    assert [(level, text) for kind, level, text in kinds(body) if kind is Kind.HEADING] == [
        (1, "员工手册"),
        (2, "第一章 总则"),
        (3, "Scope of work"),
    ]


def test_what_was_deleted_or_hidden_is_no_text_and_what_was_inserted_is() -> None:
    body = (
        "<w:p><w:r><w:t>kept </w:t></w:r><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:ins><w:r><w:t>inserted</w:t></w:r></w:ins>"
        "<w:moveFrom><w:r><w:t>moved away</w:t></w:r></w:moveFrom><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>"
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>REF x</w:instrText></w:r></w:p>'
    )
    assert kinds(body) == [(Kind.PARAGRAPH, 0, "kept inserted")]


def test_a_paragraph_whose_end_was_deleted_runs_on_into_the_next() -> None:
    body = (
        "<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>half </w:t></w:r></w:p>"
        + p("whole.")
        + p("New.")
    )
    assert kinds(body) == [(Kind.PARAGRAPH, 0, "half whole."), (Kind.PARAGRAPH, 0, "New.")]


def test_footnotes_and_comments_are_notes_after_their_paragraph() -> None:
    body = p(
        "See here.",
        inside='<w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:commentReference w:id="0"/></w:r>',
    ) + p("Next.")
    found = kinds(
        body,
        footnotes=f'<w:footnote w:id="2">{p("at the foot")}</w:footnote>',
        comments=f'<w:comment w:id="0">{p("a remark")}</w:comment>',
    )
    assert found == [
        (Kind.PARAGRAPH, 0, "See here."),
        (Kind.NOTE, 0, "at the foot"),
        (Kind.NOTE, 0, "a remark"),
        (Kind.PARAGRAPH, 0, "Next."),
    ]


def test_text_boxes_are_read_once() -> None:
    box = f"<w:txbxContent>{p('in the box')}</w:txbxContent>"
    mc = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    alternatives = f'<w:r><mc:AlternateContent xmlns:mc="{mc}"><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r>'
    assert kinds(p("around", inside=alternatives)) == [
        (Kind.PARAGRAPH, 0, "around"),
        (Kind.PARAGRAPH, 0, "in the box"),
    ]


NUMBERING = (
    '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2)"/></w:lvl></w:abstractNum>'
    '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="•"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="5"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="6"><w:abstractNumId w:val="1"/></w:num>'
)


def item(text: str, list_id: str, level: int = 0) -> str:
    return f'<w:p><w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/></w:numPr></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'


def test_list_numbers_are_counted_as_word_shows_them() -> None:
    body = (
        item("open", "5")
        + item("lid", "5", 1)
        + item("cap", "5", 1)
        + item("close", "5")
        + item("handle", "5", 1)
        + item("point", "6")
    )
    assert kinds(body, numbering=NUMBERING) == [
        (Kind.STEP, 1, "1. open"),
        (Kind.STEP, 2, "1.a) lid"),
        (Kind.STEP, 2, "1.b) cap"),
        (Kind.STEP, 1, "2. close"),
        (Kind.STEP, 2, "2.a) handle"),
        (Kind.LIST_ITEM, 1, "point"),
    ]


def test_formulas_are_said_on_one_line() -> None:
    m = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'

    def run(text: str) -> str:
        return f"<m:r><m:t>{text}</m:t></m:r>"

    square = f"<m:sSup><m:e>{run('b')}</m:e><m:sup>{run('2')}</m:sup></m:sSup>"
    root = f"<m:rad><m:deg/><m:e>{square}{run('-4ac')}</m:e></m:rad>"
    fraction = f"<m:f><m:num>{run('-b±')}{root}</m:num><m:den>{run('2a')}</m:den></m:f>"
    total = f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{run("k=0")}</m:sub><m:sup>{run("n")}</m:sup><m:e><m:d><m:e>{run("k")}</m:e></m:d></m:e></m:nary>'
    body = p("so ", inside=f"<m:oMath {m}>{run('x=')}{fraction}</m:oMath>") + p(
        inside=f"<m:oMathPara {m}><m:oMath>{total}</m:oMath></m:oMathPara>"
    )
    assert [text for _kind, _level, text in kinds(body)] == ["so x=(-b±√(b^2-4ac))/2a", "∑_(k=0)^n (k)"]


def test_lists_of_one_definition_count_on_unless_one_starts_anew() -> None:
    body = item("a", "5") + item("b", "7") + item("c", "8") + item("d", "8") + item("e", "9")
    again = '<w:num w:numId="7"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="8"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>'
    own = '<w:num w:numId="9"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:lvl w:ilvl="0"><w:numFmt w:val="upperRoman"/><w:lvlText w:val="%1)"/></w:lvl></w:lvlOverride></w:num>'
    assert [text for _kind, _level, text in kinds(body, numbering=NUMBERING + again + own)] == [
        "1. a",
        "2. b",
        "1. c",
        "2. d",
        "III) e",
    ]


@pytest.mark.parametrize(
    ("count", "number_format", "text"),
    [
        (3, "upperRoman", "III"),
        (2, "lowerLetter", "b"),
        (12, "chineseCounting", "十二"),
        (20, "chineseCountingThousand", "二十"),
        (103, "chineseCountingThousand", "一百零三"),
        (21, "chineseLegalSimplified", "贰拾壹"),
        (3, "decimalEnclosedCircleChinese", "③"),
        (28, "lowerLetter", "bb"),
        (7, "decimal", "7"),
    ],
)
def test_numbers_in_the_digits_of_the_list(count: int, number_format: str, text: str) -> None:
    assert spelled(count, number_format) == text


def test_tables_keep_header_rows_and_repeat_merged_cells_in_each_row() -> None:
    wide = tc("Method", '<w:gridSpan w:val="2"/>')
    merged = tc("blood", '<w:vMerge w:val="restart"/>')
    head = f"<w:tr><w:trPr><w:tblHeader/></w:trPr>{tc('Code')}{wide}</w:tr>"
    first = f"<w:tr>{tc('Q1')}{merged}{tc('15')}</w:tr>"
    second = f"<w:tr>{tc('Q2')}{tc('', '<w:vMerge/>')}{tc('20')}</w:tr>"
    deleted = f"<w:tr><w:trPr><w:del/></w:trPr>{tc('gone')}{tc('gone')}{tc('gone')}</w:tr>"
    (element,) = parse(word(f"<w:tbl>{head}{first}{second}{deleted}</w:tbl>")).elements
    assert element.table is not None
    assert element.table.rows == (("Code", "Method", "Method"), ("Q1", "blood", "15"), ("Q2", "blood", "20"))
    assert element.table.header_rows == 1
    assert '<td rowspan="2">blood</td>' in element.table.html
    assert element.text.split("\n")[0] == "Code | Method"


def test_a_table_inside_a_cell_stays_in_its_row_and_a_frame_is_no_table() -> None:
    inner = f"<w:tbl><w:tr>{tc('x')}{tc('y')}</w:tr></w:tbl>"
    cell = f"<w:tc>{p('outer')}{inner}{p()}</w:tc>"
    (element,) = parse(word(f"<w:tbl><w:tr>{cell}{tc('b')}</w:tr></w:tbl>")).elements
    assert element.table is not None
    assert element.table.rows == (("outer\nx | y", "b"),)
    assert kinds(f"<w:tbl><w:tr>{tc('only a frame')}</w:tr></w:tbl>") == [(Kind.PARAGRAPH, 0, "only a frame")]


def test_headers_are_said_once() -> None:
    data = word(
        p("Body."),
        parts={"header1": p("ACME policy 7"), "header2": p("ACME policy 7"), "footer1": p("Page 3 of 9")},
    )
    assert [(e.kind, e.text) for e in parse(data).elements] == [
        (Kind.PARAGRAPH, "Body."),
        (Kind.NOTE, "ACME policy 7"),
    ]


def test_pictures_take_their_caption_and_embedded_files_are_attachments_or_named() -> None:
    drawing = f'<w:r><w:drawing><a:blip xmlns:a="{A}" xmlns:r="{OFFICE}" r:embed="i"/></w:drawing></w:r>'
    body = p(inside=drawing) + p("图 1 系统架构") + p("表 2 参数")
    packed = b"\x00" * 6 + b"report.pdf\x00C:\\report.pdf\x00" + b"\x00" * 8
    packed += (9).to_bytes(4, "little") + b"%PDF-1.7\n"
    data = package(
        "word/document.xml",
        {
            "word/document.xml": f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>',
            "word/media/a.png": PNG,
            "word/embeddings/plan.xlsx": package("xl/workbook.xml", {"[Content_Types].xml": "<x/>"}),
            "word/embeddings/object.bin": ole("\x01Ole10Native", packed),
            "word/embeddings/drawing.bin": ole("Contents", b"own format"),
        },
        {
            "word/document.xml": [
                ("i", "image", "media/a.png"),
                ("o", "package", "embeddings/plan.xlsx"),
                ("p", "oleObject", "embeddings/object.bin"),
                ("q", "oleObject", "embeddings/drawing.bin"),
            ]
        },
    )
    document = parse(data)
    assert [(e.kind, e.text) for e in document.elements] == [
        (Kind.IMAGE, "图 1 系统架构"),
        (Kind.CAPTION, "表 2 参数"),
    ]
    assert [(part.role, part.name) for part in document.parts] == [
        (PartRole.PICTURE, "a.png"),
        (PartRole.ATTACHMENT, "plan.xlsx"),
        (PartRole.ATTACHMENT, "report.pdf"),
    ]
    assert document.quality.warnings == ("parts_skipped:drawing.bin",)


def test_comments_without_an_anchor_are_not_lost_and_chinese_numbers_of_headings_are_said() -> None:
    levels = '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="chineseCounting"/><w:lvlText w:val="第%1章"/></w:lvl></w:abstractNum><w:num w:numId="5"><w:abstractNumId w:val="0"/></w:num>'
    heading = '<w:p><w:pPr><w:pStyle w:val="1"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="5"/></w:numPr></w:pPr><w:r><w:t>总则</w:t></w:r></w:p>'
    found = kinds(heading, numbering=levels, comments=f'<w:comment w:id="0">{p("a remark")}</w:comment>')
    assert found == [(Kind.HEADING, 1, "第一章 总则"), (Kind.NOTE, 0, "a remark")]


def test_title_and_author_of_the_file() -> None:
    core = b'<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Leave policy</dc:title><dc:creator>Lin</dc:creator><t:created xmlns:t="http://purl.org/dc/terms/">2024-03-05T08:00:00Z</t:created></c>'
    document = parse(word(p("Body."), raw={"docProps/core.xml": core}))
    assert (document.title, document.author) == ("Leave policy", "Lin")
    assert (document.created, document.modified) == ("2024-03-05T08:00:00+00:00", "")


def test_macros_and_strict_namespaces_do_not_matter() -> None:
    data = word(p("Body."), raw={"word/vbaProject.bin": b"x", "word/jsaProject.bin": b"y"})
    assert [e.text for e in parse(data).elements] == ["Body."]
    strict = word(
        "",
        raw={
            "word/document.xml": b'<w:document xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"><w:body>'
            + p("Strict.").encode()
            + b"</w:body></w:document>"
        },
    )
    assert [e.text for e in parse(strict).elements] == ["Strict."]


def document_with(start: str, content: str = "<w:p><w:r><w:t>&x;</w:t></w:r></w:p>") -> bytes:
    return word(
        "",
        raw={
            "word/document.xml": f'{start}<w:document xmlns:w="{W}"><w:body>{content}</w:body></w:document>'.encode()
        },
    )


LAUGHS = (
    "<!DOCTYPE d [<!ENTITY x0 'ha'>"
    + "".join(f"<!ENTITY x{n} '{f'&x{n - 1};' * 10}'>" for n in range(1, 10))
    + "<!ENTITY x '&x9;'>]>"
)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (document_with("<!DOCTYPE d [<!ENTITY x SYSTEM 'file:///etc/hostname'>]>"), "corrupt"),
        (document_with(LAUGHS), "corrupt"),
        (document_with("", "<w:tbl><w:tr><w:tc>" * 400 + "</w:tc></w:tr></w:tbl>" * 400), "too_complex"),
        (document_with("", "<w:p><w:r>"), "corrupt"),
        (b"PK\x03\x04 no archive", "corrupt"),
        (word("", raw={"word/document.xml": b""}), "corrupt"),
    ],
)
def test_hostile_and_broken_packages(data: bytes, code: str) -> None:
    with pytest.raises(Rejected) as caught:
        parse(data)
    assert caught.value.code == code
