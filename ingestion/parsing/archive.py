"""ZIP archives: each member a part, which becomes a document of its own below the archive; the text is the list of them.

Nothing is unpacked to a disk. Members that point outside of the archive, and links, are left out and named.
"""

import io
import re
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

from ingestion.parsing.elements import Element, Kind, ParsedDocument, Part, PartRole, Quality
from ingestion.parsing.encodings import decode
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source
from ingestion.parsing.package import read_member

MAX_BYTES = 240_000_000  # unpacked, all members together: really counted, whatever the headers say
_SYSTEM = re.compile(r"(?:^|/)(?:__MACOSX/|\.DS_Store$|Thumbs\.db$|desktop\.ini$|\._|~\$)", re.IGNORECASE)
_DRIVE = re.compile(r"^[A-Za-z]:")
_UTF8 = 0x800
_NAMED = 20


@dataclass(slots=True, kw_only=True)
class _Unpacked:
    parts: list[Part]
    refused: list[str]
    damaged: list[str]


def parse(source: Source) -> ParsedDocument:
    """Read an archive. Raises Rejected (`empty`, `encrypted`, `too_large`)."""
    with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        names = _names(members)
        unpacked = _unpack(archive, list(zip(members, names, strict=True)))
    if not unpacked.parts and not unpacked.refused and not unpacked.damaged:
        raise Rejected("empty")
    return ParsedDocument(
        media_type="application/zip",
        elements=tuple(_listing([part.name for part in unpacked.parts])),
        quality=Quality(
            warnings=tuple(
                f"{code}:{', '.join(found[:_NAMED])}"
                for code, found in (
                    ("members_refused", unpacked.refused),
                    ("members_damaged", unpacked.damaged),
                )
                if found
            )
        ),
        parts=tuple(unpacked.parts),
    )


def _names(members: list[zipfile.ZipInfo]) -> list[str]:
    """Names in the encoding that all of those without a mark for UTF-8 make sense in."""
    raw = {
        member.filename: member.filename.encode("cp437", "replace")
        for member in members
        if not member.flag_bits & _UTF8 and not member.filename.isascii()
    }
    if not raw:
        return [member.filename for member in members]
    decoded = decode(b"\n".join(raw.values())).text.split("\n")
    names = dict(zip(raw, decoded, strict=True)) if len(decoded) == len(raw) else {}
    return [names.get(member.filename, member.filename) for member in members]


def _unpack(archive: zipfile.ZipFile, members: list[tuple[zipfile.ZipInfo, str]]) -> _Unpacked:
    found = _Unpacked(parts=[], refused=[], damaged=[])
    left = MAX_BYTES
    for member, name in members:
        path = name.replace("\\", "/")
        if _SYSTEM.search(path):
            continue
        if _leads_outside(member, path):
            found.refused.append(name)
            continue
        try:
            data = read_member(archive, member, most=left)
        except Rejected as verdict:
            if verdict.code != "corrupt":
                raise
            found.damaged.append(name)
            continue
        left -= len(data)
        found.parts.append(Part.of(PartRole.ATTACHMENT, data, name=path))
    return found


def _leads_outside(member: zipfile.ZipInfo, path: str) -> bool:
    """Absolute, upwards, or a link."""
    is_link = stat.S_ISLNK(member.external_attr >> 16)
    return is_link or path.startswith("/") or bool(_DRIVE.match(path)) or ".." in path.split("/")


def _listing(paths: list[str]) -> Iterator[Element]:
    """The members by folder: a heading for each, and the names in it."""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folder, _slash, name = path.rpartition("/")
        folders.setdefault(folder, []).append(name)
    for folder, names in folders.items():
        if folder:
            yield Element(kind=Kind.HEADING, text=folder, level=min(folder.count("/") + 1, 6))
        yield from (Element(kind=Kind.LIST_ITEM, text=name, level=1) for name in names)
