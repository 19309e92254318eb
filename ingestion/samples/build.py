"""Makes the PDF and DOCX samples in `files/` from the Markdown in `sources/`.

Run `python -m ingestion.samples.build` after an edit of a source and commit what changes. Two runs give the same
bytes. Fonts are those inside PyMuPDF, embedded as subsets, so neither the build nor a reader needs fonts of its own.
The Markdown and HTML samples in `files/` are written by hand and not touched.
"""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docx
import pymupdf
from docx.document import Document as WordDocument
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Mm, Pt
from docx.text.paragraph import Paragraph
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from ingestion.samples.catalogue import DOCUMENTS, FILES, SampleDocument

SOURCES = Path(__file__).parent / "sources"

_AUTHOR = "Polaris Instruments 北辰仪器"
_PAGE = pymupdf.paper_rect("a4")
_BODY = pymupdf.Rect(72, 72, _PAGE.width - 72, _PAGE.height - 70)
_FOOTER_BASELINE = _PAGE.height - 36
# One size per heading level, all far from the body's 10.5 pt, because the Chinese font has no bold. No background
# colours: MuPDF paints those of a page's tables again on every page after it.
_CSS = """
body { margin: 0; font-family: sans-serif; font-size: 10.5pt; line-height: 1.45; color: #1f2430; }
h1 { font-size: 21pt; color: #17365d; margin: 0 0 8pt 0; }
h2 { font-size: 15pt; color: #17365d; margin: 16pt 0 5pt 0; }
h3 { font-size: 12.5pt; color: #17365d; margin: 11pt 0 4pt 0; }
p { margin: 0 0 6pt 0; }
ol, ul { margin: 2pt 0 8pt 0; }
li { margin: 0 0 3pt 0; }
table { border-collapse: collapse; width: 100%; margin: 4pt 0 10pt 0; }
th, td { border: 0.7pt solid #8a93a3; padding: 3pt 5pt; text-align: left; line-height: 1.25; }
th { color: #17365d; }
pre { font-size: 9.5pt; margin: 4pt 0 8pt 12pt; }
.new-page { page-break-before: always; }
"""


def build(folder: Path = FILES) -> list[Path]:
    """Write every sample that has a Markdown source into `folder`; returns the paths written, in catalogue order."""
    writers = {".pdf": _pdf, ".docx": _docx}
    written = []
    for document in DOCUMENTS:
        source = SOURCES / f"{Path(document.file).stem}.md"
        if source.exists():
            target = folder / document.file
            target.write_bytes(writers[target.suffix](source.read_text(encoding="utf-8"), document))
            written.append(target)
    return written


def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


# PDF


def _pdf(source: str, document: SampleDocument) -> bytes:
    """Lay the text out on A4 pages with an outline, a footer and subsets of the fonts it uses."""
    story = pymupdf.Story(html=_markdown().render(source), user_css=_CSS)
    laid_out = io.BytesIO()
    outline = _write_pages(story, laid_out)
    with pymupdf.open("pdf", laid_out.getvalue()) as pdf:
        pdf.set_toc(outline)
        _add_footers(pdf, document)
        pdf.subset_fonts()
        stamp = document.modified_at.strftime("D:%Y%m%d%H%M%SZ")
        pdf.set_metadata(
            {"title": document.title, "author": _AUTHOR, "creationDate": stamp, "modDate": stamp}
        )
        return bytes(pdf.tobytes(garbage=4, deflate=True, no_new_id=True))


def _write_pages(story: pymupdf.Story, target: io.BytesIO) -> list[list[int | str]]:
    """Fill pages until the story ends. Returns the outline as PyMuPDF wants it: [level, heading, page]."""
    outline: list[list[int | str]] = []
    writer = pymupdf.DocumentWriter(target)
    page, more = 0, 1
    while more:
        page += 1
        device = writer.begin_page(_PAGE)
        more, _ = story.place(_BODY)
        outline.extend([level, text, page] for level, text in _headings_placed(story))
        story.draw(device)
        writer.end_page()
    writer.close()
    return outline


def _headings_placed(story: pymupdf.Story) -> list[tuple[int, str]]:
    """(level, text) of the headings that the last `place` put on the page."""
    positions: list[Any] = []
    story.element_positions(lambda position: positions.append(position))
    return [(at.heading, at.text) for at in positions if at.heading and at.open_close & 1]


def _add_footers(pdf: pymupdf.Document, document: SampleDocument) -> None:
    font = pymupdf.Font("china-s" if document.language == "zh" else "helv")
    for number, page in enumerate(pdf, start=1):
        page.wrap_contents()  # MuPDF leaves its flipped coordinates behind
        footer = pymupdf.TextWriter(page.rect, color=(0.4, 0.43, 0.5))
        counter = f"{number} / {len(pdf)}"
        end = _BODY.x1 - font.text_length(counter, fontsize=8)
        footer.append((_BODY.x0, _FOOTER_BASELINE), document.title, font=font, fontsize=8)
        footer.append((end, _FOOTER_BASELINE), counter, font=font, fontsize=8)
        footer.write_text(page)


# DOCX


def _docx(source: str, document: SampleDocument) -> bytes:
    """Write a Word document whose headings, lists and tables carry Word's own styles."""
    word = docx.Document()
    _set_up(word, document)
    for node in SyntaxTreeNode(_markdown().parse(source)).children:
        _add_block(word, node)
    raw = io.BytesIO()
    word.save(raw)
    return _with_fixed_times(raw.getvalue())


def _set_up(word: WordDocument, document: SampleDocument) -> None:
    section = word.sections[0]
    section.page_width, section.page_height = Mm(210), Mm(297)
    for name in ("Normal", "Title", "Heading 1", "Heading 2", "List Number", "List Bullet"):
        fonts = word.styles[name].element.get_or_add_rPr().get_or_add_rFonts()
        fonts.attrib.pop(qn("w:eastAsiaTheme"), None)  # Word prefers the theme's font to a named one
        fonts.set(qn("w:eastAsia"), "Microsoft YaHei")
    word.styles["Normal"].font.size = Pt(10.5)
    code = word.styles.add_style("Code", WD_STYLE_TYPE.PARAGRAPH)
    code.base_style = word.styles["Normal"]
    code.font.name = "Courier New"
    properties = word.core_properties
    properties.title, properties.author, properties.comments = document.title, _AUTHOR, ""
    properties.language = {"en": "en-GB", "zh": "zh-CN"}[document.language]
    properties.created = properties.modified = document.modified_at.replace(tzinfo=None)


def _add_block(word: WordDocument, node: SyntaxTreeNode) -> None:
    match node.type:
        case "heading":
            word.add_heading(_plain(node), level=int(node.tag[1]) - 1)  # level 0 is Word's Title
        case "paragraph":
            _add_runs(word.add_paragraph(), node)
        case "bullet_list" | "ordered_list":
            _add_list(word, node)
        case "table":
            _add_table(word, node)
        case "fence" | "code_block":
            word.add_paragraph(node.content.rstrip("\n"), style="Code")
        case other:
            raise ValueError(f"no Word form for Markdown {other}")


def _add_list(word: WordDocument, node: SyntaxTreeNode) -> None:
    ordered = node.type == "ordered_list"
    number = _new_numbering(word) if ordered else None
    for item in node.children:
        paragraph = word.add_paragraph(style="List Number" if ordered else "List Bullet")
        if number is not None:
            numbering = paragraph._p.get_or_add_pPr().get_or_add_numPr()
            numbering.get_or_add_ilvl().val = 0
            numbering.get_or_add_numId().val = number
        _add_runs(paragraph, item)


def _new_numbering(word: WordDocument) -> int:
    """A numbering that starts at 1: without one of its own, each list would go on from the list before."""
    definitions = word.part.numbering_part.element
    style_number = word.styles["List Number"].element.pPr.numPr.numId.val
    abstract = definitions.num_having_numId(style_number).abstractNumId.val
    number = definitions.add_num(abstract)
    number.add_lvlOverride(ilvl=0).add_startOverride(1)
    return int(number.numId)


def _add_table(word: WordDocument, node: SyntaxTreeNode) -> None:
    rows = [row.children for part in node.children for row in part.children]
    table = word.add_table(rows=len(rows), cols=len(rows[0]), style="Table Grid")
    for row_index, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            _add_runs(table.cell(row_index, column).paragraphs[0], cell, bold=row_index == 0)
    header = OxmlElement("w:tblHeader")
    table.rows[0]._tr.get_or_add_trPr().append(header)
    word.add_paragraph()


def _add_runs(paragraph: Paragraph, node: SyntaxTreeNode, *, bold: bool = False) -> None:
    for text, styles in _spans(node, frozenset()):
        run = paragraph.add_run(text)
        run.bold = bold or "strong" in styles or None
        run.italic = "em" in styles or None
        if "code_inline" in styles:
            run.font.name = "Courier New"


def _spans(node: SyntaxTreeNode, styles: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Texts under `node` with the inline styles around each."""
    if node.type in ("text", "code_inline", "softbreak"):
        yield " " if node.type == "softbreak" else node.content, styles | {node.type}
    for child in node.children:
        yield from _spans(child, styles | {node.type})


def _plain(node: SyntaxTreeNode) -> str:
    return "".join(text for text, _ in _spans(node, frozenset()))


def _with_fixed_times(data: bytes) -> bytes:
    """The same archive with every member dated alike; python-docx stamps them with the time of the run."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(packed, "w") as target:
        for name in source.namelist():
            member = zipfile.ZipInfo(name, date_time=(2026, 1, 1, 0, 0, 0))
            target.writestr(member, source.read(name), compress_type=zipfile.ZIP_DEFLATED)
    return packed.getvalue()


if __name__ == "__main__":
    for path in build():
        print(f"{path.name}  {path.stat().st_size / 1000:.0f} kB")
