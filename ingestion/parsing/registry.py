"""From a sniffed kind to the module that reads it, imported by name in the child only: a text never pays for MuPDF."""

import importlib
from dataclasses import replace
from typing import IO, cast

from ingestion.parsing.elements import ParsedDocument
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import CONTAINERS, FORMAT_OF, DocumentKind, Source
from ingestion.parsing.kinds import inspect_archive

# What the fork server imports once: small, and enough for the kinds that come by the thousand.
LIGHT_MODULES = (
    "ingestion.parsing.markdown",
    "ingestion.parsing.html",
    "ingestion.parsing.text",
    "ingestion.parsing.delimited",
    "chardet",
)
# What the second reader can try when the first stops. Named here, so that a child imports it only then.
SECOND_READING = frozenset(
    {DocumentKind.DOCX, DocumentKind.PPTX, DocumentKind.HTML, DocumentKind.ODT, DocumentKind.RTF}
)
MAX_TEXT_BYTES = 20_000_000


def resolve(file: IO[bytes], kind: DocumentKind, *, file_name: str) -> DocumentKind:
    """The kind of a file, looking into containers. Raises Rejected for one that is not read."""
    if kind in CONTAINERS:
        kind = inspect_archive(file, kind, file_name=file_name)
        file.seek(0)
    return kind


def parse(file: IO[bytes], source: Source, *, kind: DocumentKind) -> ParsedDocument:
    """Read one open file of a resolved kind, without limits of its own: call `sandbox.parse_file` instead.

    source: all but the data, which is read here. Where a parser stops unexpectedly, the second reader tries.
    Raises Rejected, or whatever the last of them trips over.
    """
    found = FORMAT_OF[kind]
    data = file.read()
    if found.is_text and not found.holds_files and len(data) > MAX_TEXT_BYTES:
        raise Rejected("too_large", limit=f"{MAX_TEXT_BYTES // 1_000_000} MB of text")
    source = replace(source, data=data)
    try:
        module = importlib.import_module(f"ingestion.parsing.{found.module}")
        return cast(ParsedDocument, module.parse(source))
    except (Rejected, MemoryError):
        raise
    except Exception:
        if kind not in SECOND_READING:
            raise
        return importlib.import_module("ingestion.parsing.second_reader").parse(source, kind=kind)  # type: ignore[no-any-return]
