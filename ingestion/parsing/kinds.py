"""What a file is, decided by its content. The name only tells text types apart (Markdown, HTML, plain text).

`sniff` looks at the first bytes and is cheap enough for any process; `inspect_archive` opens ZIP and OLE containers
and belongs in the child. magika is loaded only to name a file that nothing else recognises.
"""

import re
import zipfile
from functools import cache
from typing import IO, Any

from ingestion.parsing.encodings import guess_utf16
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import (
    ARCHIVES,
    BY_EXTENSION,
    BY_LABEL,
    MEDIA,
    NOT_READ,
    DocumentKind,
    Format,
    extension_of,
)

HEAD_BYTES = 8_192
MAX_ZIP_MEMBERS = 5_000
MAX_ZIP_BYTES = 300_000_000
MAX_ZIP_RATIO = 100
_RATIO_FROM = 1_000_000


_TEXT_NAMED_BINARY = frozenset(
    {"eml", "mht", "rtf", "svg"} & NOT_READ
)  # text inside, but not prose: wait for their own parser

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"Rar!\x1a\x07", "RAR archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\x00", "xz archive"),
    (b"\x1aE\xdf\xa3", "Matroska video"),
    (b"ID3", "MP3 audio"),
    (b"OggS", "Ogg audio"),
    (b"fLaC", "FLAC audio"),
    (b"FLV\x01", "Flash video"),
    (b"\x89PNG\r\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"II*\x00", "TIFF image"),
    (b"MM\x00*", "TIFF image"),
    (b"\x7fELF", "ELF program"),
    (b"MZ", "Windows program"),
    (b"{\\rtf", "RTF"),
    (b"SQLite format 3\x00", "SQLite database"),
)
_HEIC_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})
_AVIF_BRANDS = frozenset({b"avif", b"avis"})
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HTML_START = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_MAIL_START = re.compile(rb"\A(?:[A-Z][\w-]+: [^\n]*\n(?:[ \t]+[^\n]*\n)*){2,}", re.MULTILINE)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_STRAY_CONTROLS = 3  # a short note with a stray NUL is still a note
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")

_OFFICE_PARTS: tuple[tuple[str, str], ...] = (
    ("wordprocessingml", "DOCX"),
    ("ms-word", "DOCX"),
    ("spreadsheetml", "XLSX"),
    ("ms-excel", "XLSX"),
    ("presentationml", "PPTX"),
    ("ms-powerpoint", "PPTX"),
    ("vnd.ms-visio", "VSDX"),
)
_MIMETYPES = {
    "application/epub+zip": "EPUB",
    "application/vnd.oasis.opendocument.text": "ODT",
    "application/vnd.oasis.opendocument.spreadsheet": "ODS",
    "application/vnd.oasis.opendocument.presentation": "ODP",
}
_OLE_STREAMS = (
    ("WordDocument", "DOC"),
    ("Workbook", "XLS"),
    ("Book", "XLS"),
    ("PowerPoint Document", "PPT"),
    ("__properties_version1.0", "MSG"),
)


def unsupported_name(file_name: str) -> str:
    """What the name promises when nothing here reads that; empty when the content has to be looked at."""
    extension = extension_of(file_name)
    return extension.upper() if extension in NOT_READ else ""


def sniff(head: bytes, *, file_name: str) -> DocumentKind:
    """Kind by the first HEAD_BYTES of a file. Raises Rejected for what cannot be parsed, naming the kind."""
    extension = extension_of(file_name)
    if not head.strip(b"\x00\t\n\r\x0c \xef\xbb\xbf"):
        raise Rejected("empty")
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return DocumentKind.ZIP
    if head.startswith(_OLE):
        return DocumentKind.OLE
    if label := _media_label(head):
        return _known(label, extension)
    for magic, label in _MAGIC:
        if head.startswith(magic):
            return _known(label, extension)
    if b"%PDF-" in head[:1024]:
        return _known("PDF", extension)
    if label := _image_label(head):
        return _known(label, extension)
    if not looks_like_text(head):
        raise _unreadable(head, extension)
    return _text_kind(head, extension)


def _image_label(head: bytes) -> str:
    """Formats whose first bytes alone do not tell them."""
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "WebP image"
    if head.startswith(b"BM") and head[6:10] == bytes(4):
        return "BMP image"
    return "HEIC image" if head[4:8] == b"ftyp" and head[8:12] in _HEIC_BRANDS else ""


def _media_label(head: bytes) -> str:
    """Sound and video whose mark stands behind a length or a container's name."""
    if head[:4] == b"RIFF" and head[8:12] in {b"WAVE", b"AVI "}:
        return "WAV audio" if head[8:12] == b"WAVE" else "AVI video"
    if head[4:8] == b"ftyp" and head[8:12] not in _HEIC_BRANDS | _AVIF_BRANDS:
        return "MP4 video"
    return ""


def hint_of(kind: str) -> dict[str, str]:
    """Which sentence of its own a kind that is not read has: a parameter of its reason."""
    word = kind.lower()
    if word in ARCHIVES or word.endswith(" archive"):
        return {"hint": "archive"}
    return {"hint": "media"} if word in MEDIA or word.endswith((" audio", " video")) else {}


def _known(label: str, extension: str) -> DocumentKind:
    """The kind of a recognised format. A name that promises another one is pointed out instead of guessed at."""
    found, promised = BY_LABEL.get(label), BY_EXTENSION.get(extension)
    if found is None:
        raise _not_supported(label, extension)
    if (promised and promised is not found) or (not promised and extension in NOT_READ):
        raise Rejected("wrong_name", named=f".{extension}", kind=label)
    return found.kind


def looks_like_text(head: bytes) -> bool:
    """Few control characters, in one-byte encodings or in UTF-16."""
    return (
        head.startswith(_WIDE_BOMS)
        or len(_CONTROL.findall(head)) <= max(len(head) * 0.02, _STRAY_CONTROLS)
        or bool(guess_utf16(head))
    )


def _text_kind(head: bytes, extension: str) -> DocumentKind:
    promised = BY_EXTENSION.get(extension)
    if extension in _TEXT_NAMED_BINARY:
        raise Rejected("unsupported", kind=extension.upper())
    if extension in NOT_READ or (promised and not promised.is_text):
        raise Rejected("wrong_name", named=f".{extension}", kind="plain text")
    if promised:
        return promised.kind
    if _HTML_START.match(head.replace(b"\x00", b"")):
        return DocumentKind.HTML
    if _MAIL_START.match(head.replace(b"\r", b"")) and b"\nMIME-Version:" in head:
        return _known("EML", extension)
    return DocumentKind.TEXT


def _not_supported(label: str, extension: str) -> Rejected:
    if extension in BY_EXTENSION:
        return Rejected("wrong_name", named=f".{extension}", kind=label)
    return Rejected("unsupported", kind=label, **hint_of(label))


def _unreadable(head: bytes, extension: str) -> Rejected:
    promised: Format | None = BY_EXTENSION.get(extension)
    if promised and not promised.is_text:
        return Rejected("corrupt")
    return _not_supported(extension.upper() if extension in NOT_READ else _magika_label(head), extension)


@cache
def _magika() -> Any:
    from magika import Magika

    return Magika()


def _magika_label(head: bytes) -> str:
    result = _magika().identify_bytes(head)
    return str(result.output.description or "binary")


# --- containers: to be called in the child ------------------------------------------------------------------


def inspect_archive(file: IO[bytes], kind: DocumentKind, *, file_name: str) -> DocumentKind:
    """The document kind inside a ZIP or OLE container. Raises Rejected for bombs, passwords and other formats."""
    extension = extension_of(file_name)
    label = _ole_label(file) if kind is DocumentKind.OLE else _zip_label(file)
    return _known(label, extension)


def _ole_label(file: IO[bytes]) -> str:
    import olefile

    try:
        with olefile.OleFileIO(file.read()) as ole:
            if ole.exists("EncryptedPackage") or ole.exists("EncryptionInfo"):
                raise Rejected("encrypted")
            return next((label for stream, label in _OLE_STREAMS if ole.exists(stream)), "OLE")
    except (OSError, ValueError, IndexError) as error:
        raise Rejected("corrupt") from error


def _zip_label(file: IO[bytes]) -> str:
    try:
        with zipfile.ZipFile(file) as archive:
            check_archive(archive)
            names = set(archive.namelist())
            if "[Content_Types].xml" in names:
                types = archive.read("[Content_Types].xml")[:200_000].decode("utf-8", "replace")
                main = re.search(r'ContentType="([^"]*(?:main\+xml|drawing\.main))"', types.replace("'", '"'))
                content_type = main[1] if main else types
                return next((label for word, label in _OFFICE_PARTS if word in content_type), "ZIP archive")
            if "mimetype" in names:
                said = archive.read("mimetype")[:100].decode("ascii", "replace").strip()
                return _MIMETYPES.get(said.removesuffix("-template"), "ZIP archive")
            return "ZIP archive"
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        EOFError,
        OSError,
        NotImplementedError,
        ValueError,
    ) as error:
        raise Rejected(_broken_zip_reason(file)) from error


def _broken_zip_reason(file: IO[bytes]) -> str:
    """A ZIP without its directory at the end was cut off on its way."""
    file.seek(0, 2)
    file.seek(max(file.tell() - 70_000, 0))
    return "corrupt" if b"PK\x05\x06" in file.read() else "truncated"


def check_archive(archive: zipfile.ZipFile) -> None:
    """Bomb rules on the declared sizes; readers count the real bytes as well. Raises Rejected."""
    members = archive.infolist()
    if len(members) > MAX_ZIP_MEMBERS:
        raise Rejected("too_large", limit=f"{MAX_ZIP_MEMBERS} parts")
    if sum(member.file_size for member in members) > MAX_ZIP_BYTES:
        raise Rejected("too_large", limit=f"{MAX_ZIP_BYTES // 1_000_000} MB unpacked")
    for member in members:
        if member.flag_bits & 0x1:
            raise Rejected("encrypted")
        if member.file_size > _RATIO_FROM and member.file_size > MAX_ZIP_RATIO * max(member.compress_size, 1):
            raise Rejected("too_large", limit=f"compression ratio {MAX_ZIP_RATIO}")
