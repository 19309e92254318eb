"""CSV and TSV to one table per two hundred rows."""

from ingestion.parsing import delimited
from ingestion.parsing.elements import Kind
from ingestion.tests.parsing.reading import parser_of

parse = parser_of(delimited)


def test_rows_and_header_whatever_the_delimiter_and_encoding() -> None:
    for delimiter, encoding in ((",", "utf-8"), ("\t", "gb18030"), (";", "utf-16")):
        source = (
            delimiter.join(["姓名", "城市", "备注"])
            + "\n"
            + delimiter.join(["王小明", "北京", '"说明""一"""'])
            + "\n"
        )
        (element,) = parse(source.encode(encoding)).elements
        assert element.table is not None
        assert element.table.rows == (("姓名", "城市", "备注"), ("王小明", "北京", '说明"一"'))
        assert element.table.header_rows == 1


def test_every_part_of_a_long_file_repeats_the_header() -> None:
    elements = parse(("id,name\n" + "".join(f"{n},name {n}\n" for n in range(450))).encode()).elements
    assert len(elements) == 23
    assert all(element.table and element.table.rows[0] == ("id", "name") for element in elements)
    assert sum(len(element.table.rows) - 1 for element in elements if element.table) == 450


def test_what_is_no_table_passes_as_text() -> None:
    assert [element.kind for element in parse(b"just a sentence\n").elements] == [Kind.PARAGRAPH]


def test_commas_escaped_by_a_backslash_stay_in_their_cell_and_a_title_line_is_a_heading() -> None:
    (table,) = parse(b"name,note\nLin,a\\, b\nBo,c\n").elements
    assert table.table is not None
    assert table.table.rows[1] == ("Lin", "a, b")
    title, table = parse("差旅标准,,\n城市,级别,元\n北京,A,500\n".encode("gb18030")).elements
    assert (title.kind, title.text) == (Kind.HEADING, "差旅标准")
    assert table.text == "城市 | 级别 | 元\n北京 | A | 500"
