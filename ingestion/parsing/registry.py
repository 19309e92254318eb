"""Which module reads which kind. Imported by name in the child only, so that a text file never pays for MuPDF."""

import importlib
from collections.abc import Callable
from typing import IO, cast

from ingestion.parsing.elements import ParsedDocument
from ingestion.parsing.errors import Rejected
from ingestion.parsing.kinds import DocumentKind, inspect_archive

Progress = Callable[[int, int], None]
_MODULES = {
    DocumentKind.PDF: "ingestion.parsing.pdf",
    DocumentKind.DOCX: "ingestion.parsing.docx",
    DocumentKind.MARKDOWN: "ingestion.parsing.markdown",
    DocumentKind.HTML: "ingestion.parsing.html",
    DocumentKind.TEXT: "ingestion.parsing.text",
    DocumentKind.CSV: "ingestion.parsing.delimited",
}
# What the fork server imports once: small, and enough for the kinds that come by the thousand.
LIGHT_MODULES = (
    "ingestion.parsing.markdown",
    "ingestion.parsing.html",
    "ingestion.parsing.text",
    "ingestion.parsing.delimited",
    "chardet",
)
_PAGED = frozenset({DocumentKind.PDF})
MAX_TEXT_BYTES = 20_000_000
_TEXTUAL = frozenset({DocumentKind.MARKDOWN, DocumentKind.HTML, DocumentKind.TEXT, DocumentKind.CSV})


def parse(file: IO[bytes], *, kind: DocumentKind, file_name: str, progress: Progress) -> ParsedDocument:
    """Read one open file of a sniffed kind, without limits of its own: call `sandbox.parse_file` instead.

    Raises Rejected, or whatever a parser trips over.
    """
    if kind in {DocumentKind.ZIP, DocumentKind.OLE}:
        kind = inspect_archive(file, kind, file_name=file_name)
        file.seek(0)
    data = file.read()
    if kind in _TEXTUAL and len(data) > MAX_TEXT_BYTES:
        raise Rejected("too_large", limit=f"{MAX_TEXT_BYTES // 1_000_000} MB of text")
    module = importlib.import_module(_MODULES[kind])
    if kind in _PAGED:
        return cast(ParsedDocument, module.parse(data, progress=progress))
    return cast(ParsedDocument, module.parse(data))
