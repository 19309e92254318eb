"""Files inside an office file: pictures that are shown where they stand, attachments that become documents.

Kept within a budget; what is left out is named. Objects of other programs are unwrapped from their OLE containers.
"""

import posixpath
import re
import struct
import zipfile
from dataclasses import dataclass, field
from io import BytesIO
from mimetypes import guess_type

from ingestion.parsing.elements import Part, PartRole
from ingestion.parsing.errors import Rejected
from ingestion.parsing.kinds import check_archive
from ingestion.parsing.ooxml import UNREADABLE, Package
from ingestion.parsing.prose import collapse

MAX_BYTES = 60_000_000
MAX_FILES = 500
_TINY = 400  # bytes: a spacer or a bullet, no picture of anything
_SHOWN = frozenset({"png", "jpg", "jpeg", "gif", "bmp", "tif", "tiff", "webp", "svg"})
_MOST_NAMED = 20
_GENERATED = re.compile(
    r"\s*(?:description automatically generated(?: with \w+ confidence)?|AI-generated content may be incorrect\.?"
    r"|描述已自动生成|AI\s?生成的内容可能不正确。?)\s*",
    re.IGNORECASE,
)
_NAMED_BY_PROGRAM = re.compile(
    r"^(?:picture|image|graphic|grafik|img|图片|图像|图形|圖片)\s*\d*$", re.IGNORECASE
)
_LETTER = re.compile(r"[^\W\d_]")
_FILE_ADDRESS = re.compile(r"[\w:]*[/\\]|^https?:|\.(?:png|jpe?g|gif|bmp|emf|wmf|tiff?)$", re.IGNORECASE)
_PACKAGES = (
    (b"wordprocessingml", "docx"),
    (b"spreadsheetml", "xlsx"),
    (b"presentationml", "pptx"),
    (b"opendocument.text", "odt"),
    (b"opendocument.spreadsheet", "ods"),
    (b"opendocument.presentation", "odp"),
)
_NO_PACKAGE: tuple[type[Exception], ...] = (*UNREADABLE, KeyError, Rejected)
_OLE_STREAMS = (
    ("WordDocument", "doc"),
    ("Workbook", "xls"),
    ("Book", "xls"),
    ("PowerPoint Document", "ppt"),
    ("__properties_version1.0", "msg"),
)


@dataclass(slots=True)
class Inside:
    """Collects the parts of one file. `skipped` names what was not kept."""

    package: Package
    parts: dict[str, Part] = field(default_factory=dict)  # by digest
    skipped: list[str] = field(default_factory=list)
    pictures: int = 0
    _names: dict[str, str] = field(default_factory=dict)  # part name -> digest, "" for what is not kept
    _left: int = MAX_BYTES

    def picture(self, name: str) -> str:
        """Keep a picture once; its digest, "" for one that cannot be shown."""
        if name in self._names:
            return self._names[name]
        extension = name.rpartition(".")[2].lower()
        digest = ""
        if self.package.has(name):
            self.pictures += 1
            if extension in _SHOWN:
                digest = self._keep(PartRole.PICTURE, self._read(name), posixpath.basename(name), _TINY)
        self._names[name] = digest
        return digest

    def attachment(self, name: str) -> None:
        """Keep a file that was put into this one."""
        if name in self._names or not self.package.has(name):
            return
        data, label = self._read(name), posixpath.basename(name)
        if label.lower().endswith(".bin"):
            found = _unwrapped(data, label)
            if found is None:
                self._names[name] = ""
                self.skipped.append(label)
                return
            label, data = found
        self._names[name] = self._keep(PartRole.ATTACHMENT, data, label, 0)

    @property
    def warnings(self) -> tuple[str, ...]:
        if not self.skipped:
            return ()
        names = self.skipped[:_MOST_NAMED]
        more = [f"+{len(self.skipped) - len(names)}"] if len(self.skipped) > len(names) else []
        return (f"parts_skipped:{', '.join([*names, *more])}",)

    def _read(self, name: str) -> bytes:
        try:
            return self.package.read(name)
        except Rejected as verdict:
            if verdict.code != "corrupt":
                raise
            return b""

    def _keep(self, role: PartRole, data: bytes, label: str, least: int) -> str:
        if len(data) <= least and role is PartRole.PICTURE:
            return ""
        if not data or len(data) > self._left or len(self.parts) >= MAX_FILES:
            self.skipped.append(label)
            return ""
        part = Part.of(role, data, name=label, media_type=guess_type(label)[0] or "application/octet-stream")
        if part.digest not in self.parts:
            self.parts[part.digest] = part
            self._left -= len(data)
        return part.digest


def alternative_text(*said: str | None) -> str:
    """What a picture is said to show: the first wording that a person wrote, not a file's address or a remark."""
    for text in said:
        words = collapse(_GENERATED.sub(" ", text or ""))
        if _LETTER.search(words) and not _FILE_ADDRESS.search(words) and not _NAMED_BY_PROGRAM.match(words):
            return words
    return ""


def _unwrapped(data: bytes, label: str) -> tuple[str, bytes] | None:
    """(name, bytes) of the file inside an OLE object; None for an object that no program wrote as a file."""
    import olefile

    stem = label.rpartition(".")[0] or label
    if not data.startswith(olefile.MAGIC):
        return _named(stem, data)
    try:
        with olefile.OleFileIO(BytesIO(data)) as ole:
            for stream in ("Package", "CONTENTS", "Contents"):
                if ole.exists(stream) and (found := _named(stem, ole.openstream(stream).read())):
                    return found
            if ole.exists("\x01Ole10Native"):
                return _packaged(ole.openstream("\x01Ole10Native").read(), stem)
            extension = next((e for stream, e in _OLE_STREAMS if ole.exists(stream)), "")
            return (f"{stem}.{extension}", data) if extension else None
    except (OSError, ValueError, IndexError, struct.error):
        return None


def _named(stem: str, data: bytes) -> tuple[str, bytes] | None:
    """A name with the ending of what the bytes are: an office file, a PDF."""
    if data.startswith(b"%PDF-"):
        return f"{stem}.pdf", data
    if not data.startswith(b"PK"):
        return None
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            check_archive(archive)
            types = archive.read(
                "[Content_Types].xml" if "[Content_Types].xml" in archive.namelist() else "mimetype"
            )
    except _NO_PACKAGE:
        return None
    extension = next((e for word, e in _PACKAGES if word in types), "zip")
    return f"{stem}.{extension}", data


def _packaged(data: bytes, stem: str) -> tuple[str, bytes] | None:
    """A file dropped in as an icon: its name and bytes follow a short header."""
    name, place = _string(data, 6)
    _path, place = _string(data, place)
    (length,) = struct.unpack_from("<I", data, place + 4)
    place += 8 + length
    (size,) = struct.unpack_from("<I", data, place)
    body = data[place + 4 : place + 4 + size]
    return (re.split(r"[/\\]", name)[-1] or stem, body) if body else None


def _string(data: bytes, place: int) -> tuple[str, int]:
    """A zero-ended string in the writer's code page, and the place after it."""
    end = data.index(b"\x00", place)
    raw = data[place:end]
    for encoding in ("utf-8", "gb18030"):
        try:
            return raw.decode(encoding), end + 1
        except UnicodeDecodeError:
            continue
    return raw.decode("latin-1"), end + 1
