"""Markdown to elements."""

from ingestion.parsing import markdown
from ingestion.parsing.elements import Kind
from ingestion.tests.parsing.reading import parser_of

parse = parser_of(markdown)


def kinds(source: str) -> list[tuple[Kind, int, str]]:
    return [(element.kind, element.level, element.text) for element in parse(source.encode()).elements]


def test_headings_paragraphs_and_code() -> None:
    assert kinds(
        "# Guide\n\nLine one\nline two.\n\n第一行\n第二行。\n\n```sh\nls -l\n\npwd\n```\n\n## Next {#next}\n"
    ) == [
        (Kind.HEADING, 1, "Guide"),
        (Kind.PARAGRAPH, 0, "Line one line two."),
        (Kind.PARAGRAPH, 0, "第一行第二行。"),
        (Kind.CODE, 0, "ls -l\n\npwd"),
        (Kind.HEADING, 2, "Next"),
    ]


def test_front_matter_becomes_properties_and_never_text() -> None:
    document = parse(
        b"---\ntitle: Leave policy\ntags:\n  - hr\n  - leave\nauthor: 'Lin'\n---\n# Leave\n\nBody.\n"
    )
    assert document.title == "Leave policy"
    assert document.author == "Lin"
    assert document.properties == {"title": "Leave policy", "tags": ["hr", "leave"], "author": "Lin"}
    assert [element.text for element in document.elements] == ["Leave", "Body."]


def test_a_page_of_front_matter_alone_is_found_by_its_title() -> None:
    document = parse(b"---\ntitle: Org chart\nredirect_to: https://example.org/chart\n---\n")
    assert [(e.kind, e.text) for e in document.elements] == [
        (Kind.TITLE, "Org chart"),
        (Kind.PARAGRAPH, "redirect_to: https://example.org/chart"),
    ]


def test_ordered_items_are_steps_with_their_numbers_and_bullets_keep_their_depth() -> None:
    assert kinds("3. open\n4. close\n   - nested *item*\n     - deeper\n\n* flat\n") == [
        (Kind.STEP, 1, "3. open"),
        (Kind.STEP, 1, "4. close"),
        (Kind.LIST_ITEM, 2, "nested item"),
        (Kind.LIST_ITEM, 3, "deeper"),
        (Kind.LIST_ITEM, 1, "flat"),
    ]


def test_an_item_keeps_its_paragraphs_and_its_code_follows() -> None:
    assert kinds("1. First\n\n   more of it\n\n   ```\n   run\n   ```\n\n2. Second\n") == [
        (Kind.STEP, 1, "1. First\nmore of it"),
        (Kind.CODE, 0, "run"),
        (Kind.STEP, 1, "2. Second"),
    ]


def test_tables_keep_their_header_row() -> None:
    (table,) = parse("| 名称 | Value |\n|---|---|\n| 端口 | `8080` |\n| 空 |  |\n".encode()).elements
    assert table.kind is Kind.TABLE
    assert table.table is not None
    assert table.table.rows == (("名称", "Value"), ("端口", "8080"), ("空", ""))
    assert table.table.header_rows == 1
    assert table.table.html.startswith("<table><tr><th>名称</th>")


def test_html_inside_is_read_as_html_and_scripts_are_not() -> None:
    source = "<h2>Inside</h2>\n<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>\n<script>x()</script>\n\ntext with <b>bold</b> and<br/>break <!-- secret -->\n"
    assert [(kind, text) for kind, _level, text in kinds(source)] == [
        (Kind.HEADING, "Inside"),
        (Kind.TABLE, "a | b\n1 | 2"),
        (Kind.PARAGRAPH, "text with bold and\nbreak"),
    ]


def test_a_picture_alone_is_a_caption_by_its_description() -> None:
    assert kinds("![network plan](a.png)\n\n![](b.png)\n") == [(Kind.CAPTION, 0, "network plan")]


def test_a_list_of_a_thousand_levels_ends_soon() -> None:
    source = "\n".join("  " * depth + f"- item {depth}" for depth in range(1000))
    assert parse(source.encode()).elements


def test_text_below_any_depth_of_quotes_is_not_lost() -> None:
    assert "words" in kinds("> " * 3000 + "words")[0][2]
    assert kinds("<!-- words in a comment -->\n\n[link]: https://example.org\n") == []
