"""HTML to elements."""

import pytest

from ingestion.parsing import html
from ingestion.parsing.elements import Kind
from ingestion.parsing.errors import Rejected
from ingestion.tests.parsing.reading import parser_of

parse = parser_of(html)


def kinds(body: str) -> list[tuple[Kind, str]]:
    return [
        (element.kind, element.text)
        for element in parse(f"<html><body>{body}</body></html>".encode()).elements
    ]


def test_scripts_navigation_and_hidden_parts_are_left_out() -> None:
    body = (
        "<nav>menu</nav><script>var a = 1;</script><style>p {}</style><p>seen <span hidden>not</span>words</p>"
        '<div style="display: none">gone</div><p aria-hidden="true">gone</p><noscript>gone</noscript><footer>imprint</footer>'
    )
    assert kinds(body) == [(Kind.PARAGRAPH, "seen words")]


def test_headings_lists_code_and_captions() -> None:
    body = (
        "<h1>Guide</h1><p>Intro<br>second line</p><ol start=3><li>open<ul><li>inner</li></ul></li><li><p>close</p><p>then wait</p></li></ol>"
        "<pre>a = 1\n  b</pre><figure><img alt='plan'><figcaption>Fig. 1</figcaption></figure>"
    )
    assert kinds(body) == [
        (Kind.HEADING, "Guide"),
        (Kind.PARAGRAPH, "Intro\nsecond line"),
        (Kind.STEP, "3. open"),
        (Kind.LIST_ITEM, "inner"),
        (Kind.STEP, "4. close"),
        (Kind.PARAGRAPH, "then wait"),
        (Kind.CODE, "a = 1\n  b"),
        (Kind.PARAGRAPH, "plan"),
        (Kind.CAPTION, "Fig. 1"),
    ]


def test_a_table_keeps_spans_and_header_cells() -> None:
    body = (
        "<table><caption>Fees</caption><thead><tr><th colspan=2>Tier</th><th>Fee</th></tr></thead>"
        "<tr><td rowspan=2>A</td><td>low</td><td>1</td></tr><tr><td>high</td><td>2</td></tr></table>"
    )
    (element,) = parse(body.encode()).elements
    assert element.table is not None
    assert element.table.rows == (("Tier", "Tier", "Fee"), ("A", "low", "1"), ("A", "high", "2"))
    assert element.table.header_rows == 1
    assert '<th colspan="2">Tier</th>' in element.table.html
    assert '<td rowspan="2">A</td>' in element.table.html
    assert element.text == "Fees\nTier | Fee\nA | low | 1\nA | high | 2"


def test_equal_neighbours_that_are_not_merged_are_both_kept() -> None:
    (element,) = parse(
        b"<table><tr><th>a</th><th>b</th></tr><tr><td>max 0.025</td><td>max 0.025</td></tr></table>"
    ).elements
    assert element.text == "a | b\nmax 0.025 | max 0.025"


def test_a_table_that_only_lays_out_the_page_is_read_as_text() -> None:
    inner = "<table><tr><td>x</td><td>1</td></tr><tr><td>y</td><td>2</td></tr></table>"
    assert kinds(f"<table><tr><td>left</td><td><p>one<br><br>two</p>{inner}</td></tr></table>") == [
        (Kind.PARAGRAPH, "left"),
        (Kind.PARAGRAPH, "one"),
        (Kind.PARAGRAPH, "two"),
        (Kind.TABLE, "x | 1\ny | 2"),
    ]
    bullets = "<table><tr><td>•</td><td>first</td></tr><tr><td>•</td><td>second</td></tr></table>"
    assert kinds(bullets) == [(Kind.LIST_ITEM, "first"), (Kind.LIST_ITEM, "second")]


def test_bold_lines_are_headings_only_where_no_heading_tag_is() -> None:
    assert kinds("<p><b>PART I</b></p><p>Text of it.</p>")[0] == (Kind.HEADING, "PART I")
    assert kinds("<h1>A</h1><p><b>PART I</b></p>")[1] == (Kind.PARAGRAPH, "PART I")


def test_title_author_and_a_declared_encoding() -> None:
    source = '<html><head><meta charset="gb2312"><meta name="author" content="林"><title>网络 手册</title></head><body>正文</body></html>'
    document = parse(source.encode("gb18030"))
    assert (document.title, document.author, document.encoding) == ("网络 手册", "林", "gb18030")


def test_utf16_with_a_wrong_meta_tag() -> None:
    document = parse(
        '<html><head><meta charset="utf-8"></head><body><p>端口</p></body></html>'.encode("utf-16")
    )
    assert [element.text for element in document.elements] == ["端口"]


def test_nesting_is_refused_before_content_gets_lost() -> None:
    with pytest.raises(Rejected) as caught:
        parse(b"<div>" * 100_000 + b"deep" + b"</div>" * 100_000)
    assert caught.value.code == "too_complex"
    fine = parse(b"<div>" * 450 + b"deep" + b"</div>" * 450)
    assert [element.text for element in fine.elements] == ["deep"]


def test_many_unclosed_paragraphs_are_no_nesting() -> None:
    assert len(parse(b"<p>line <br>" * 3000).elements) == 3000


@pytest.mark.parametrize(
    "source",
    [
        b"<!-- only a comment -->",
        b"<html></html>",
        b"<!DOCTYPE html>",
        b"<?xml version='1.0' encoding='gbk'?>",
    ],
)
def test_nothing_to_read_is_no_error_here(source: bytes) -> None:
    assert parse(source).elements == ()


def test_huge_spans_do_not_build_huge_grids() -> None:
    source = (
        b"<table><tr><td colspan=999999999 rowspan=999999>a</td><td>b</td></tr><tr><td>c</td></tr></table>"
    )
    (element,) = parse(source).elements
    assert element.table is not None
    assert len(element.table.rows[0]) <= 1_001
