"""Plain text to elements."""

from ingestion.parsing import text
from ingestion.parsing.elements import Kind
from ingestion.tests.parsing.reading import parser_of

parse = parser_of(text)


def kinds(source: str) -> list[tuple[Kind, str]]:
    return [(element.kind, element.text) for element in parse(source.encode()).elements]


def test_blank_lines_part_paragraphs_and_a_lone_first_line_is_the_title() -> None:
    assert kinds("Travel policy\n\nFirst line\nsecond line.\n\nAnother.\n") == [
        (Kind.TITLE, "Travel policy"),
        (Kind.PARAGRAPH, "First line\nsecond line."),
        (Kind.PARAGRAPH, "Another."),
    ]


def test_chinese_chapter_numbers_are_headings_in_their_order() -> None:
    document = parse(
        "第一章 总则\n本制度适用于全体员工。\n第一节 范围\n一、适用对象\n（一）正式员工\n所有部门。\n第二章 附则\n自发布之日起施行。\n".encode()
    )
    headings = [(e.level, e.text) for e in document.elements if e.kind is Kind.HEADING]
    assert headings == [
        (1, "第一章 总则"),
        (2, "第一节 范围"),
        (3, "一、适用对象"),
        (4, "（一）正式员工"),
        (1, "第二章 附则"),
    ]


def test_decimal_numbers_are_headings_by_depth() -> None:
    document = parse(b"1 Scope\n\nBody text of the scope.\n\n1.1 Devices\n\nMore body.\n\n2 Terms\n\nEnd.\n")
    headings = [(e.level, e.text) for e in document.elements if e.kind is Kind.HEADING]
    assert headings == [(1, "1 Scope"), (2, "1.1 Devices"), (1, "2 Terms")]


def test_a_run_of_numbered_sentences_is_a_step_list() -> None:
    assert kinds("重启前请注意：\n1. 关闭电源。\n2.等待三十秒。\n3、再次开机。\n") == [
        (Kind.PARAGRAPH, "重启前请注意："),
        (Kind.STEP, "1. 关闭电源。"),
        (Kind.STEP, "2.等待三十秒。"),
        (Kind.STEP, "3、再次开机。"),
    ]


def test_a_wrapped_item_is_one_item_and_a_number_inside_a_sentence_is_none() -> None:
    assert kinds("- first item goes\n  over two lines\n- second\n\nin the year\n18.[3] They met.\n") == [
        (Kind.LIST_ITEM, "first item goes over two lines"),
        (Kind.LIST_ITEM, "second"),
        (Kind.PARAGRAPH, "in the year\n18.[3] They met."),
    ]


def test_underlined_and_capital_lines_are_headings() -> None:
    assert kinds("intro text here.\n\nOverview\n========\nBody.\n\nWARRANTY TERMS\n\nBody.\n")[1:] == [
        (Kind.HEADING, "Overview"),
        (Kind.PARAGRAPH, "Body."),
        (Kind.HEADING, "WARRANTY TERMS"),
        (Kind.PARAGRAPH, "Body."),
    ]


def test_a_long_block_is_cut_at_line_ends_and_loses_nothing() -> None:
    lines = [f"line number {number} of the log" for number in range(500)]
    elements = parse("\n".join(lines).encode()).elements
    assert len(elements) > 3
    assert "\n".join(element.text for element in elements).split("\n") == lines


def test_a_ten_megabyte_line_and_a_word_of_five_thousand_characters_pass_whole() -> None:
    line = "word " * 2_000_000
    elements = parse(f"{line}\n\n{'x' * 5000}\n".encode()).elements
    assert [len(element.text) for element in elements] == [len(line) - 1, 5000]
