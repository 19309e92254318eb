"""A file on which its own reader stops is read by the second one."""

import io

import pytest
from docx import Document

from ingestion.parsing import docx, registry, second_reader
from ingestion.parsing.elements import Kind
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import DocumentKind, Source


def travel_rules() -> bytes:
    made = Document()
    made.add_heading("差旅规定", level=1)
    made.add_paragraph("高铁二等座可报销。")
    table = made.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ["城市", "上限", "上海", "500"], strict=True):
        cell.text = text
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


@pytest.fixture
def stops(monkeypatch):
    def stop(_source):
        raise KeyError("an unexpected part")

    monkeypatch.setattr(docx, "parse", stop)


@pytest.mark.integration  # loads a library that takes seconds
def test_a_file_its_reader_stops_on_is_read_more_simply_and_says_so(stops, monkeypatch, tmp_path):
    path = tmp_path / "a.docx"
    path.write_bytes(travel_rules())
    with path.open("rb") as file:
        read = registry.parse(file, Source(data=b"", file_name="a.docx"), kind=DocumentKind.DOCX)
    assert read.quality.warnings == ("second_reader",)
    assert [element.text for element in read.elements if element.kind is not Kind.TABLE] == [
        "差旅规定",
        "高铁二等座可报销。",
    ]
    (table,) = [element.table for element in read.elements if element.table]
    assert table.rows == (("城市", "上限"), ("上海", "500"))


def test_a_refusal_is_not_read_again(monkeypatch, tmp_path):
    monkeypatch.setattr(second_reader, "parse", lambda *_args, **_kind: pytest.fail("read again"))
    path = tmp_path / "a.docx"
    path.write_bytes(b"no archive")
    with path.open("rb") as file, pytest.raises(Rejected):
        registry.parse(file, Source(data=b"", file_name="a.docx"), kind=DocumentKind.DOCX)


def test_every_kind_it_may_read_has_a_media_type():
    assert set(second_reader.MEDIA_TYPES) == registry.SECOND_READING
