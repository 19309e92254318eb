"""Small files made in code: Word packages from body XML, PDFs from lines of text."""

import io
import zipfile
from collections.abc import Sequence

import pymupdf

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
STYLES = (
    '<w:style w:type="paragraph" w:default="1" w:styleId="a"><w:name w:val="Normal"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="1"><w:name w:val="heading 1"/><w:basedOn w:val="a"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="own"><w:name w:val="Company head"/><w:basedOn w:val="1"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="t"><w:name w:val="Title"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="toc"><w:name w:val="toc 1"/></w:style>'
)


def word(body: str, *, parts: dict[str, str] | None = None, raw: dict[str, bytes] | None = None) -> bytes:
    """A Word file. parts: root content by part name (styles, numbering, footnotes, comments, header1)."""
    parts = {"styles": STYLES, **(parts or {})}
    relations = "".join(
        f'<Relationship Id="r{number}" Type="{OFFICE}/{name.rstrip("0123456789")}" Target="{name}.xml"/>'
        for number, name in enumerate(parts)
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types><Override PartName="/word/document.xml" ContentType="{MAIN}"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships><Relationship Id="r" Type="{OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
        )
        archive.writestr("word/_rels/document.xml.rels", f"<Relationships>{relations}</Relationships>")
        document = f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'
        archive.writestr("word/document.xml", (raw or {}).get("word/document.xml", document))
        for name, content in parts.items():
            archive.writestr(f"word/{name}.xml", f'<w:{name} xmlns:w="{W}">{content}</w:{name}>')
        for name, data in (raw or {}).items():
            if name != "word/document.xml":
                archive.writestr(name, data)
    return file.getvalue()


def p(text: str = "", *, style: str = "", inside: str = "", run: str = "") -> str:
    """A paragraph of body XML. run: run properties; inside: XML after the text."""
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    runs = f"<w:r>{f'<w:rPr>{run}</w:rPr>' if run else ''}<w:t>{text}</w:t></w:r>" if text else ""
    return f"<w:p>{properties}{runs}{inside}</w:p>"


def tc(text: str, properties: str = "") -> str:
    """A table cell of body XML."""
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{p(text)}</w:tc>"


Placed = tuple[float, float, str]


def pdf(
    *pages: Sequence[Placed], size: float = 10, rotate: int = 0, save: dict[str, object] | None = None
) -> bytes:
    """A PDF of lines at (x, baseline, text); "#" before a text makes it larger, "*" bold."""
    document = pymupdf.open()
    for lines in pages:
        page = document.new_page(width=600, height=800)
        for x, y, text in lines:
            write(page, x, y, text, size)
        page.set_rotation(rotate)
    return document.tobytes(**(save or {}))


def write(page: pymupdf.Page, x: float, y: float, text: str, size: float = 10) -> None:
    bold, large = text.startswith("*"), text.startswith("#")
    text = text[1:] if bold or large else text
    font = "china-s" if not text.isascii() else "hebo" if bold else "helv"
    page.insert_text((x, y), text, fontname=font, fontsize=size * 1.6 if large else size)


def ruled(
    page: pymupdf.Page, xs: Sequence[float], ys: Sequence[float], rows: Sequence[Sequence[str]]
) -> None:
    """A full grid of rules with a text in each cell."""
    for x in xs:
        page.draw_line((x, ys[0]), (x, ys[-1]))
    for y in ys:
        page.draw_line((xs[0], y), (xs[-1], y))
    for line, row in enumerate(rows):
        for column, text in enumerate(row):
            write(page, xs[column] + 4, ys[line] + 14, text)


def read_pdf(data: bytes):
    from ingestion.parsing.formats import Source
    from ingestion.parsing.pdf import parse

    return parse(Source(data=data))
