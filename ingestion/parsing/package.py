"""Members of a ZIP package read in memory, never unpacked to a disk: bytes, XML and pictures."""

import posixpath
import zipfile
import zlib
from typing import Any
from urllib.parse import unquote

from lxml import etree

from ingestion.parsing.elements import Element, Kind, Part, PartRole
from ingestion.parsing.errors import Rejected

MOST_BYTES = 100_000_000  # of one member, whatever its header says
MOST_PICTURES = 1_000
_MEDIA_TYPES = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp", "bmp": "image/bmp", "tif": "image/tiff", "tiff": "image/tiff"}  # fmt: skip


def read_member(archive: zipfile.ZipFile, name: str | zipfile.ZipInfo, *, most: int = MOST_BYTES) -> bytes:
    """The bytes of a member; empty when there is none. Raises Rejected for one that is damaged or too large."""
    try:
        with archive.open(name) as member:
            data = member.read(most + 1)
    except KeyError:
        return b""
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError) as error:
        raise Rejected("corrupt") from error
    except RuntimeError as error:  # zipfile's word for a password
        raise Rejected("encrypted") from error
    if len(data) > most:
        raise Rejected("too_large", limit=f"{most // 1_000_000} MB")
    return data


def read_xml(archive: zipfile.ZipFile, name: str) -> Any:
    """The root of an XML member, None when it is missing or no XML. Entities are never followed."""
    data = read_member(archive, name)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=False)
    try:
        return etree.fromstring(data, parser) if data else None
    except (etree.XMLSyntaxError, ValueError):
        return None


class PictureFolder:
    """Pictures of a package by the addresses that its pages use; `parts` holds those that were shown."""

    def __init__(self, archive: zipfile.ZipFile, base: str = "") -> None:
        self._archive = archive
        self._shown: dict[str, Part] = {}
        self.base = base  # the folder of the page that is being read

    @property
    def parts(self) -> list[Part]:
        return list({part.digest: part for part in self._shown.values()}.values())

    def element(self, address: str, alt: str) -> Element | None:
        path = posixpath.normpath(posixpath.join(self.base, unquote(address))).lstrip("/")
        part = self._shown.get(path) or self._read(path)
        if part is None:
            return None
        return Element(kind=Kind.IMAGE, text=alt or part.name, picture=part.digest)

    def _read(self, path: str) -> Part | None:
        media_type = _MEDIA_TYPES.get(path.rpartition(".")[2].lower())
        if media_type is None or len(self._shown) >= MOST_PICTURES:
            return None
        data = read_member(self._archive, path)
        if not data:
            return None
        part = Part.of(PartRole.PICTURE, data, name=posixpath.basename(path), media_type=media_type)
        self._shown[path] = part
        return part
