"""Cells as values and columns as kinds: what can be read in one way only, in both languages."""

from datetime import date
from decimal import Decimal

import pytest

from retrieval.tables.cells import read_day, read_number
from retrieval.tables.typed import Kind, RawTable, SourceRow, typed_table


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("1,234.50", "1234.5", ""),
        ("１２万元", "120000", "元"),
        ("3.5亿", "350000000", ""),
        ("-12%", "-12", "%"),
        ("(5)", "-5", ""),
        ("$5.5 million", "5500000", ""),
        ("12 kg", "12", "kg"),
        ("1992 [1]", "1992", ""),
    ],
)
def test_a_number_is_read_with_its_scale_and_unit(text, value, unit):
    number = read_number(text)
    assert number is not None
    assert (number.value, number.unit) == (Decimal(value), unit)


@pytest.mark.parametrize(
    "text", ["007", "13800138000123456", "1,23", "1–2", "5h 29'", "=1+1", "", "\x00", "A1", "1" * 5000]
)
def test_what_is_no_plain_number_stays_text(text):
    assert read_number(text) is None


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("2023-4-5", date(2023, 4, 5)),
        ("2023年4月", date(2023, 4, 1)),
        ("April 5, 2023", date(2023, 4, 5)),
        ("5th of April 2023", date(2023, 4, 5)),
        ("03/04/2023", None),
        ("2023-13-01", None),
    ],
)
def test_a_date_is_read_unless_it_could_be_another(text, first):
    day = read_day(text)
    assert (day.first if day else None) == first


def test_columns_have_kinds_units_and_totals_stay_out(table):
    typed = table(
        "地区|年份|销售额（万元）|占比|备注",
        "华东|2022|1,200.5|60%|a",
        "华北|2023|800|40%|",
        "小计|||100%|",
        "合计||2,000.5|100%|",
    )
    assert [column.kind for column in typed.columns] == [
        Kind.TEXT,
        Kind.DATE,
        Kind.NUMBER,
        Kind.NUMBER,
        Kind.TEXT,
    ]
    assert [row.texts[0] for row in typed.rows] == ["华东", "华北"]
    sales, share = typed.columns[2:4]
    assert (sales.name, sales.unit, typed.rows[0].values[2]) == ("销售额", "万元", Decimal(12_005_000))
    assert sales.adds_up
    assert not share.adds_up


def test_a_last_row_that_is_the_sum_of_the_others_is_a_total_whatever_it_is_called(table):
    typed = table("Season|Games|Goals", "2001|10|1", "2002|20|2", "2003|30|3", "2004|5|0", "|65|6")
    assert len(typed.rows) == 4


def test_storeys_of_a_head_are_joined_and_a_banner_above_all_is_none(table):
    typed = table(
        "Sales 2023|Sales 2023|Sales 2023", "Shop|East|East", "Shop|Q1|Q2", "A|1|2", "B|3|4", heads=3
    )
    assert [column.name for column in typed.columns] == ["Shop", "East / Q1", "East / Q2"]
    assert "Sales 2023" in typed.around


def test_units_that_differ_make_no_column_of_numbers(table):
    typed = table("Item|Weight", "a|5 kg", "b|300 g", "c|1 kg")
    assert typed.columns[1].kind is Kind.TEXT


def test_hostile_shapes_are_no_tables_or_harmless_ones():
    wide = tuple(f"c{n}" for n in range(10_000))
    assert typed_table(RawTable(header=(wide,), rows=(SourceRow(element=0, line=0, cells=wide),))) is None
    assert typed_table(RawTable(header=(("a", "b"),), rows=())) is None
    assert (
        typed_table(RawTable(header=(("", ""),), rows=(SourceRow(element=0, line=0, cells=("1", "2")),)))
        is None
    )
    ragged = (
        SourceRow(element=0, line=0, cells=("x" * 100_000,)),
        SourceRow(element=0, line=1, cells=("a", "b", "c", "d")),
    )
    typed = typed_table(RawTable(header=(("same", "same"),), rows=ragged))
    assert typed is not None
    assert {len(row.texts) for row in typed.rows} == {2}
