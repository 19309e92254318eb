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
MAX_TEXT_BYTES = 20_000_000


def resolve(file: IO[bytes], kind: DocumentKind, *, file_name: str) -> DocumentKind:
    """The kind of a file, looking into containers. Raises Rejected for one that is not read."""
    if kind in CONTAINERS:
        kind = inspect_archive(file, kind, file_name=file_name)
        file.seek(0)
    return kind


def parse(file: IO[bytes], source: Source, *, kind: DocumentKind) -> ParsedDocument:
    """Read one open file of a resolved kind, without limits of its own: call `sandbox.parse_file` instead.

    source: all but the data, which is read here. Raises Rejected, or whatever a parser trips over.
    """
    found = FORMAT_OF[kind]
    data = file.read()
    if found.is_text and not found.holds_files and len(data) > MAX_TEXT_BYTES:
        raise Rejected("too_large", limit=f"{MAX_TEXT_BYTES // 1_000_000} MB of text")
    module = importlib.import_module(f"ingestion.parsing.{found.module}")
    return cast(ParsedDocument, module.parse(replace(source, data=data)))
