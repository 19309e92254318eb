"""What a file is, by its content."""

import io
import zipfile

import pytest

from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import DocumentKind
from ingestion.parsing.kinds import inspect_archive, sniff

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"


def package(content_type: str = WORD, extra: dict[str, bytes] | None = None) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", f'<Types><Override ContentType="{content_type}"/></Types>')
        for name, data in (extra or {}).items():
            archive.writestr(name, data)
    file.seek(0)
    return file


def refused(head: bytes, name: str) -> Rejected:
    with pytest.raises(Rejected) as caught:
        sniff(head, file_name=name)
    return caught.value


@pytest.mark.parametrize(
    ("head", "name", "kind"),
    [
        (b"%PDF-1.7\n", "a.pdf", DocumentKind.PDF),
        (b"\n\n%PDF-1.7\n", "scan", DocumentKind.PDF),
        (b"# Title\n", "a.md", DocumentKind.MARKDOWN),
        (b"# Title\n", "a.txt", DocumentKind.TEXT),
        (b"<!doctype html><p>", "page.txt", DocumentKind.HTML),
        (b"<p>part", "page.htm", DocumentKind.HTML),
        ("中文文本，没有扩展名".encode("gb18030"), "readme", DocumentKind.TEXT),
        ("两个字节一个字\n".encode("utf-16-le"), "a.txt", DocumentKind.TEXT),
        (b"nul\x00 bytes in text " + b"words " * 50, "a.txt", DocumentKind.TEXT),
        (b"a,b\n1,2\n", "a.csv", DocumentKind.CSV),
        (b"From: a@b.c\nTo: d@e.f\nMIME-Version: 1.0\n\nHi", "mail", DocumentKind.EML),
        (b"{\\rtf1\\ansi x}", "a.rtf", DocumentKind.RTF),
        (b"PK\x03\x04rest", "a.docx", DocumentKind.ZIP),
    ],
)
def test_kind_by_content_with_the_name_as_a_hint_among_texts(
    head: bytes, name: str, kind: DocumentKind
) -> None:
    assert sniff(head, file_name=name) is kind


@pytest.mark.parametrize(
    ("head", "name", "code", "kind"),
    [
        (b"7z\xbc\xaf\x27\x1c\x00\x04" + bytes(50), "report.pdf", "wrong_name", "7z archive"),
        (b"7z\xbc\xaf\x27\x1c\x00\x04" + bytes(50), "report.7z", "unsupported", "7z archive"),
        (b"\x7fELF\x02\x01\x01" + bytes(50), "notes.txt", "unsupported", "ELF program"),
        (b"%PDF-1.7\n", "report.docx", "wrong_name", "PDF"),
        (b"just words", "sheet.odt", "wrong_name", "plain text"),
    ],
)
def test_other_kinds_are_named(head: bytes, name: str, code: str, kind: str) -> None:
    verdict = refused(head, name)
    assert (verdict.code, verdict.params["kind"]) == (code, kind)


def test_bytes_without_meaning_under_a_known_name_are_damaged_and_blank_files_empty() -> None:
    noise = bytes(range(256)) * 8
    assert refused(noise, "report.pdf").code == "corrupt"
    assert refused(b" \n\t\n", "a.txt").code == "empty"
    assert refused(bytes(1000), "a.pdf").code == "empty"


def test_a_comment_bomb_before_html_is_judged_quickly() -> None:
    assert sniff(b"<!---->" * 1100, file_name="a.txt") is DocumentKind.TEXT


def test_word_is_found_in_its_package_whatever_other_parts_it_has() -> None:
    file = package(extra={"word/vbaProject.bin": b"macro", "customXml/item1.xml": b"<a/>"})
    assert inspect_archive(file, DocumentKind.ZIP, file_name="wps.docx") is DocumentKind.DOCX


@pytest.mark.parametrize(
    ("file", "name", "code"),
    [
        (package(SHEET), "a.docx", "wrong_name"),
        (package(WORD), "a.pdf", "wrong_name"),
        (package(extra={"word/document.xml": b" " * 30_000_000}), "bomb.docx", "too_large"),
        (package(extra={f"part{n}": b"" for n in range(5_001)}), "many.docx", "too_large"),
        (io.BytesIO(package().getvalue()[:-40]), "cut.docx", "truncated"),
    ],
)
def test_packages_that_are_not_taken(file: io.BytesIO, name: str, code: str) -> None:
    with pytest.raises(Rejected) as caught:
        inspect_archive(file, DocumentKind.ZIP, file_name=name)
    assert caught.value.code == code
