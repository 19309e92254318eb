"""PowerPoint files to elements."""

import pytest

from ingestion.parsing import pptx
from ingestion.parsing.elements import Kind, ParsedDocument, PartRole
from ingestion.parsing.errors import Rejected
from ingestion.tests.parsing.office import PNG, A, C, D, P, frame, line, package, shape, slides
from ingestion.tests.parsing.reading import parser_of

parse = parser_of(pptx)


def said(document: ParsedDocument) -> list[tuple[Kind, int, int | None, str]]:
    return [(e.kind, e.level, e.page, e.text) for e in document.elements]


def test_titles_are_headings_lists_keep_depth_and_numbers_and_slides_are_pages() -> None:
    numbered = '<a:pPr><a:buAutoNum type="arabicPeriod"/></a:pPr>'
    body = shape(line("alpha"), line("beta", '<a:pPr lvl="1"/>'), role="")
    steps = shape(line("open", numbered), line("shut", numbered), line("aside"), line("again", numbered))
    document = parse(
        slides(shape(line("Cover"), role="ctrTitle"), body + shape(line("List"), role="title"), steps)
    )
    assert said(document) == [
        (Kind.TITLE, 0, 1, "Cover"),
        (Kind.HEADING, 1, 2, "List"),
        (Kind.LIST_ITEM, 1, 2, "alpha"),
        (Kind.LIST_ITEM, 2, 2, "beta"),
        (Kind.HEADING, 1, 3, "aside"),
        (Kind.STEP, 1, 3, "1. open"),
        (Kind.STEP, 1, 3, "2. shut"),
        (Kind.STEP, 1, 3, "1. again"),
    ]
    assert (document.quality.pages, document.title) == (3, "Cover")


def test_groups_are_walked_into_and_merged_cells_said_once() -> None:
    cells = '<a:tr><a:tc gridSpan="2"><a:txBody>{}</a:txBody></a:tc><a:tc hMerge="1"><a:txBody/></a:tc></a:tr><a:tr>{}</a:tr>'
    plain = "".join(f"<a:tc><a:txBody>{line(text)}</a:txBody></a:tc>" for text in ("x", "y"))
    table = frame(f"<a:tbl>{cells.format(line('both'), plain)}</a:tbl>")
    group = f"<p:grpSp><p:grpSp>{shape(line('deep inside'))}</p:grpSp></p:grpSp>"
    found = parse(slides(shape(line("T"), role="title") + group + table)).elements
    assert [e.text for e in found] == ["T", "deep inside", "both\nx | y"]
    assert found[2].table is not None
    assert found[2].table.rows == (("both", "both"), ("x", "y"))


def test_notes_comments_and_hidden_slides() -> None:
    notes = f'<p:notes xmlns:p="{P}" xmlns:a="{A}">{shape(line("say this"), role="body")}{shape(line("7"), role="sldNum")}</p:notes>'
    comments = f'<p:cmLst xmlns:p="{P}"><p:cm><p:text>check the figure</p:text></p:cm></p:cmLst>'
    document = parse(
        slides(
            "hidden:" + shape(line("Secret"), role="title"),
            parts={"ppt/notes.xml": notes, "ppt/comments.xml": comments},
            relations={
                "ppt/slides/slide1.xml": [
                    ("n", "notesSlide", "../notes.xml"),
                    ("c", "comments", "../comments.xml"),
                ]
            },
        )
    )
    assert [(e.kind, e.page, e.text) for e in document.elements[1:]] == [
        (Kind.NOTE, 1, "say this"),
        (Kind.NOTE, 1, "check the figure"),
    ]
    assert document.quality.warnings == ("slides_hidden:1",)


def test_charts_become_tables_and_diagrams_lists() -> None:
    points = "<c:pt idx='{}'><c:v>{}</c:v></c:pt>".format
    chart = (
        f'<c:chartSpace xmlns:c="{C}" xmlns:a="{A}"><c:chart><c:title><c:tx><c:rich>{line("Sales")}</c:rich></c:tx></c:title><c:ser>'
        f"<c:tx><c:strRef><c:strCache>{points(0, 'North')}</c:strCache></c:strRef></c:tx>"
        f"<c:cat><c:strCache>{points(0, 'Q1')}{points(1, 'Q2')}</c:strCache></c:cat>"
        f"<c:val><c:numCache><c:formatCode>0%</c:formatCode>{points(0, '0.5')}{points(1, '0.75')}</c:numCache></c:val></c:ser></c:chart></c:chartSpace>"
    )
    node = '<dgm:pt modelId="{}"{}><dgm:t>{}</dgm:t></dgm:pt>'.format
    diagram = (
        f'<dgm:dataModel xmlns:dgm="{D}" xmlns:a="{A}"><dgm:ptLst>{node(0, " type=" + chr(34) + "doc" + chr(34), "")}{node(1, "", line("plan"))}{node(2, "", line("act"))}</dgm:ptLst>'
        '<dgm:cxnLst><dgm:cxn srcId="0" destId="1" srcOrd="0"/><dgm:cxn srcId="1" destId="2" srcOrd="0"/></dgm:cxnLst></dgm:dataModel>'
    )
    document = parse(
        slides(
            frame('<c:chart r:id="c"/>') + frame('<dgm:relIds r:dm="d"/>'),
            parts={"ppt/chart.xml": chart, "ppt/data.xml": diagram},
            relations={
                "ppt/slides/slide1.xml": [("c", "chart", "../chart.xml"), ("d", "diagramData", "../data.xml")]
            },
        )
    )
    assert said(document) == [
        (Kind.HEADING, 1, 1, "Slide 1"),
        (Kind.TABLE, 0, 1, "Sales\n | North\nQ1 | 50%\nQ2 | 75%"),
        (Kind.LIST_ITEM, 1, 1, "plan"),
        (Kind.LIST_ITEM, 2, 1, "act"),
    ]


def test_pictures_are_kept_once_and_embedded_files_are_attachments() -> None:
    picture = '<p:pic><p:nvPicPr><p:cNvPr id="1" name="Picture 1" descr="{}"/></p:nvPicPr><p:blipFill><a:blip r:embed="i"/></p:blipFill></p:pic>'
    workbook = package("xl/workbook.xml", {"[Content_Types].xml": "<x/>"})
    relation = [("i", "image", "../media/logo.png"), ("o", "package", "../embeddings/plan.xlsx")]
    document = parse(
        slides(
            picture.format("our logo"),
            picture.format("our logo") + frame('<p:oleObj r:id="o"/>') + shape(line("t"), role="title"),
            parts={"ppt/media/logo.png": PNG, "ppt/embeddings/plan.xlsx": workbook},
            relations={"ppt/slides/slide1.xml": relation[:1], "ppt/slides/slide2.xml": relation},
        )
    )
    pictures = [e for e in document.elements if e.kind is Kind.IMAGE]
    assert [(e.text, e.page) for e in pictures] == [("our logo", 1)]
    assert {(p.role, p.name) for p in document.parts} == {
        (PartRole.PICTURE, "logo.png"),
        (PartRole.ATTACHMENT, "plan.xlsx"),
    }
    assert pictures[0].picture in {part.digest for part in document.parts}


def test_a_damaged_slide_is_named_and_a_damaged_presentation_refused() -> None:
    broken = slides(shape(line("fine"), role="title"), "<broken")
    document = parse(broken)
    assert document.quality.warnings == ("pages_failed:2",)
    with pytest.raises(Rejected) as caught:
        parse(package("ppt/presentation.xml", {"ppt/other.xml": "<x/>"}))
    assert caught.value.code == "corrupt"
