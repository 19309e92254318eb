"""OpenDocument text: structure by pandoc, and from the package itself its comments, pictures and properties."""

import io
import zipfile
from typing import Any

from ingestion.parsing.elements import Element, Kind, ParsedDocument, Quality
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source
from ingestion.parsing.package import PictureFolder, read_member, read_xml
from ingestion.parsing.pandoc import convert, with_marks
from ingestion.parsing.prose import collapse

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
_DC = "{http://purl.org/dc/elements/1.1/}"


def parse(source: Source) -> ParsedDocument:
    """Read an ODT file. Raises Rejected for one with a password."""
    with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
        if b"encryption-data" in read_member(archive, "META-INF/manifest.xml"):
            raise Rejected("encrypted")
        folder = PictureFolder(archive)
        page = convert(source.data, "odt", scratch=source.scratch, pictures=folder.element)
        meta = read_xml(archive, "meta.xml")
        comments = _comments(read_xml(archive, "content.xml"))
        thumbnails = folder.parts
    return ParsedDocument(
        media_type="application/vnd.oasis.opendocument.text",
        elements=(*with_marks(page.elements), *comments),
        quality=Quality(pictures=len(thumbnails)),
        title=_first(meta, f"{_DC}title") or page.title,
        author=_first(meta, f"{_META}initial-creator") or _first(meta, f"{_DC}creator"),
        created=_first(meta, f"{_META}creation-date"),
        modified=_first(meta, f"{_DC}date"),
        parts=tuple(thumbnails),
    )


def _first(root: Any, tag: str) -> str:
    found = next(root.iter(tag), None) if root is not None else None
    return collapse("".join(found.itertext())) if found is not None else ""


def _comments(root: Any) -> list[Element]:
    """What readers wrote at the margin, with their names."""
    if root is None:
        return []
    notes = []
    for note in root.iter(f"{_OFFICE}annotation"):
        author = _first(note, f"{_DC}creator")
        text = " ".join(collapse("".join(p.itertext())) for p in note.iter(f"{_TEXT}p", f"{_TEXT}h"))
        if text.strip():
            notes.append(Element(kind=Kind.NOTE, text=f"{author}: {text}" if author else text))
    return notes
