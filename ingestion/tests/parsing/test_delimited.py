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
    assert len(elements) == 3
    assert all(element.table and element.table.rows[0] == ("id", "name") for element in elements)
    assert sum(len(element.table.rows) - 1 for element in elements if element.table) == 450


def test_what_is_no_table_passes_as_text() -> None:
    assert [element.kind for element in parse(b"just a sentence\n").elements] == [Kind.PARAGRAPH]
