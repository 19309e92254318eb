"""The text of a sample file, by means other than the product's parsers."""

from pathlib import Path
from unicodedata import normalize

import docx
import pymupdf
from lxml import html


def text_of(path: Path) -> str:
    """Everything a reader of the file sees, without white space between its words being certain."""
    if path.suffix == ".pdf":
        with pymupdf.open(path) as pdf:
            return "\n".join(page.get_text() for page in pdf)
    if path.suffix == ".docx":
        word = docx.Document(str(path))
        cells = [cell.text for table in word.tables for row in table.rows for cell in row.cells]
        return "\n".join([paragraph.text for paragraph in word.paragraphs] + cells)
    text = path.read_text(encoding="utf-8")
    return html.fromstring(text).text_content() if path.suffix == ".html" else text


def squeezed(text: str) -> str:
    """`text` without white space and ligatures: lines of a PDF break anywhere, and its fonts join f and i."""
    return "".join(normalize("NFKC", text).split())
