"""EPUB, ODT, RTF and text with markup: structure, properties, encodings, protection."""

import io
import zipfile

import pytest

from ingestion.parsing import epub, odt, pandoc, rtf
from ingestion.parsing.elements import Kind
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source

CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>
<dc:title>Pumps</dc:title><dc:creator>Ada</dc:creator></metadata><manifest>
<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="a" href="text/a.xhtml" media-type="application/xhtml+xml"/>
<item id="b" href="text/b.xhtml" media-type="application/xhtml+xml"/></manifest>
<spine><itemref idref="n"/><itemref idref="b"/><itemref idref="a"/></spine></package>"""
PAGES = {
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": PACKAGE,
    "OEBPS/nav.xhtml": '<nav><a href="text/b.xhtml">Opening</a></nav>',
    "OEBPS/text/a.xhtml": "<html><body><h1>Second</h1><p>Later.</p></body></html>",
    "OEBPS/text/b.xhtml": '<?xml version="1.0"?><html><body><p>First <img src="../img/p.png"/></p></body></html>',
    "OEBPS/img/p.png": "picture",
}


def package(members: dict[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def test_a_book_is_read_in_the_order_of_its_spine() -> None:
    read = epub.parse(Source(data=package(PAGES)))
    assert (read.title, read.author) == ("Pumps", "Ada")
    assert [(element.kind, element.text) for element in read.elements] == [
        (Kind.HEADING, "Opening"),
        (Kind.PARAGRAPH, "First"),
        (Kind.IMAGE, "p.png"),
        (Kind.HEADING, "Second"),
        (Kind.PARAGRAPH, "Later."),
    ]
    assert [part.data for part in read.parts] == [b"picture"]


def test_copy_protection_is_a_password_and_a_missing_page_is_told() -> None:
    sealed = (
        '<encryption><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></encryption>'
    )
    with pytest.raises(Rejected) as caught:
        epub.parse(Source(data=package({**PAGES, "META-INF/encryption.xml": sealed})))
    assert caught.value.code == "encrypted"
    torn = {name: content for name, content in PAGES.items() if not name.endswith("a.xhtml")}
    assert epub.parse(Source(data=package(torn))).quality.warnings == ("parts_skipped:a.xhtml",)


@pytest.mark.parametrize(
    ("charset", "codec", "text"),
    [
        (128, "cp932", "こんにちは表"),
        (134, "gb18030", "检查阀门乗"),
        (136, "cp950", "檢查閥門功"),
        (204, "cp1251", "Привет"),
    ],
)
def test_rtf_in_national_code_pages_is_rewritten_in_unicode(charset: int, codec: str, text: str) -> None:
    coded = "".join(
        chr(byte) if byte < 0x80 and chr(byte).isalpha() else f"\\'{byte:02x}" for byte in text.encode(codec)
    )
    data = f"{{\\rtf1\\ansi{{\\fonttbl{{\\f0\\fcharset0 A;}}{{\\f7\\fcharset{charset} B;}}}}\\f0 Hi {{\\f7 {coded}}} caf\\'e9 \\uc2\\u9986\\'b9\\'dd!}}"
    written = rtf.in_unicode(data.encode("ascii")).replace(b"}{\\uc0", b"")
    units = text.encode("utf-16-le")
    numbers = [int.from_bytes(units[n : n + 2], "little", signed=True) for n in range(0, len(units), 2)]
    assert "".join(f"\\u{number} " for number in numbers).encode() in written
    assert b"{\\uc0\\u233 }" in written
    assert written.endswith(b"{\\uc0\\u9986 }!}")


def test_rtf_by_pandoc(tmp_path) -> None:
    data = rb"{\rtf1\ansi{\info{\title Pump manual}{\author Ada}}\pard Text one.\par \'95 first\par \trowd\cellx100\cellx200\intbl a\cell b\cell\row\trowd\cellx100\cellx200\intbl c\cell d\cell\row}"
    read = rtf.parse(Source(data=data, scratch=str(tmp_path)))
    assert (read.title, read.author) == ("Pump manual", "Ada")
    assert Kind.TABLE in {element.kind for element in read.elements}
    assert (Kind.LIST_ITEM, "first") in {(element.kind, element.text) for element in read.elements}


def test_open_document_text_with_comment_and_properties(tmp_path) -> None:
    names = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    content = f"""<office:document-content {names}><office:body><office:text><text:h text:outline-level="1">阀门</text:h>
<text:p>Close it.<office:annotation><dc:creator>Bob</dc:creator><text:p>Really?</text:p></office:annotation></text:p>
</office:text></office:body></office:document-content>"""
    meta = f"<office:document-meta {names}><office:meta><dc:title>Valves</dc:title><dc:creator>Ada</dc:creator></office:meta></office:document-meta>"
    members = {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": content,
        "meta.xml": meta,
    }
    members["META-INF/manifest.xml"] = "<a/>"
    parts = "<office:styles/><office:automatic-styles/><office:master-styles/>"
    members["styles.xml"] = f"<office:document-styles {names}>{parts}</office:document-styles>"
    read = odt.parse(Source(data=package(members), scratch=str(tmp_path)))
    assert (read.title, read.author) == ("Valves", "Ada")
    assert [(element.kind, element.text) for element in read.elements] == [
        (Kind.HEADING, "阀门"),
        (Kind.PARAGRAPH, "Close it."),
        (Kind.NOTE, "Bob: Really?"),
    ]
    members["META-INF/manifest.xml"] = "<manifest><encryption-data/></manifest>"
    with pytest.raises(Rejected):
        odt.parse(Source(data=package(members), scratch=str(tmp_path)))


def test_text_with_markup_has_its_headings_and_title(tmp_path) -> None:
    source = Source(data=b"= Pumps\n\n== Care\n\nOil it.\n", file_name="a.adoc", scratch=str(tmp_path))
    read = pandoc.parse(source)
    assert read.title == "Pumps"
    assert [element.kind for element in read.elements][-2:] == [Kind.HEADING, Kind.PARAGRAPH]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.adoc", "= Pumps\n\ninclude::{path}[tag=x]\n\nOil it.\n"),
        ("a.rst", "Pumps\n=====\n\n.. include:: {path}\n   :start-line: 2\n\nOil it.\n"),
        ("a.rst", "Pumps\n=====\n\n.. csv-table:: Parts\n   :file: {path}\n\nOil it.\n"),
        ("a.org", '* Pumps\n\n#+INCLUDE: "{path}" src\n\nOil it.\n'),
        ("a.tex", "\\section{{Pumps}}\n\\input{{{path}}}\n\nOil it.\n"),
        ("a.typ", '= Pumps\n\n#include "{path}"\n\nOil it.\n'),
    ],
)
def test_a_text_that_takes_in_another_file_is_read_without_it_and_says_so(name, text, tmp_path):
    path = tmp_path / "secret.txt"
    path.write_text("Nobody may see this.")
    source = Source(data=text.format(path=path).encode(), file_name=name, scratch=str(tmp_path))
    read = pandoc.parse(source)
    said = [element.text for element in read.elements]
    assert said[0] == "Pumps"
    assert said[-1] == "Oil it."
    assert "Nobody" not in repr(read)
    assert read.quality.warnings == (f"parts_skipped:{path}",)
