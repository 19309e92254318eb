"""What every parser yields: elements in reading order. Plain values, JSON in and out, no ORM.

Boxes are in points of the displayed page (rotation and crop applied), origin at the top left.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any


class Kind(StrEnum):
    TITLE = "title"
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    STEP = "step"
    TABLE = "table"
    CODE = "code"
    CAPTION = "caption"
    NOTE = "note"
    IMAGE = "image"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageBox:
    """One rectangle on one page; `page` counts from 1, `page_width` and `page_height` are in points too."""

    page: int
    x0: float
    y0: float
    x1: float
    y1: float
    page_width: float
    page_height: float


_BOX_FIELDS = ("page", "x0", "y0", "x1", "y1", "page_width", "page_height")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cell texts, merged cells filled into every slot they cover. `html` keeps spans and header cells."""

    rows: tuple[tuple[str, ...], ...]
    header_rows: int
    html: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One piece of structure. `level` is 1.. for headings and list depth for items; `heading_path` is the titles above it.

    confidence: 0..1 for text that was recognised in a picture, None for text that the file itself carries.
    picture: the digest of the Part that shows it, for Kind.IMAGE; its text says what is known of the picture.
    """

    kind: Kind
    text: str
    level: int = 0
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    boxes: tuple[PageBox, ...] = ()
    table: Table | None = None
    confidence: float | None = None
    picture: str = ""

    def to_json(self) -> dict[str, Any]:
        """Only what is set; `from_json` knows the rest."""
        data: dict[str, Any] = {"kind": self.kind, "text": self.text}
        for name in ("level", "heading_path", "page", "confidence", "picture"):
            if value := getattr(self, name):
                data[name] = value
        if self.boxes:
            data["boxes"] = [{name: getattr(box, name) for name in _BOX_FIELDS} for box in self.boxes]
        if self.table:
            table = self.table
            data["table"] = {"rows": table.rows, "header_rows": table.header_rows, "html": table.html}
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Element":
        table = data.get("table")
        return cls(
            kind=Kind(data["kind"]),
            text=data["text"],
            level=data.get("level", 0),
            heading_path=tuple(data.get("heading_path", ())),
            page=data.get("page"),
            boxes=tuple(PageBox(**box) for box in data.get("boxes", ())),
            table=Table(
                rows=tuple(tuple(row) for row in table["rows"]),
                header_rows=table["header_rows"],
                html=table["html"],
            )
            if table
            else None,
            confidence=data.get("confidence"),
            picture=data.get("picture", ""),
        )


class PartRole(StrEnum):
    PICTURE = "picture"  # shown where it stands; an element names it
    ATTACHMENT = "attachment"  # a file of its own, which becomes a document below this one
    RECORDING = "recording"  # the sound or video that subtitles belong to, kept beside them


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A file inside the file. `digest` is the SHA-256 of its bytes in hexadecimal, by which elements name it.

    data: the bytes, until they have been handed to whoever keeps them; then empty.
    """

    role: PartRole
    name: str
    media_type: str
    digest: str
    size_bytes: int
    data: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, role: PartRole, data: bytes, *, name: str, media_type: str = "") -> "Part":
        return cls(
            role=role,
            name=name,
            media_type=media_type,
            digest=sha256(data).hexdigest(),
            size_bytes=len(data),
            data=data,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """What the parser saw, for the quality report. `warnings` holds sentences' codes with a value, not prose.

    page_characters: how many characters each page gave, of the first 2,000 pages; empty for files without pages.
    ocr_pages: pages whose text was recognised in their picture, with the mean confidence 0..1 of that.
    """

    pages: int | None = None
    pages_with_text: int | None = None
    page_characters: tuple[int, ...] = ()
    ocr_pages: int = 0
    ocr_confidence: float | None = None
    pictures: int = 0
    characters: int = 0
    tables: int = 0
    garble_ratio: float = 0.0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """A file read. `title`, `author` and the dates (ISO 8601) come from the file itself; `language` is zh, en or mixed."""

    media_type: str
    elements: tuple[Element, ...]
    quality: Quality
    title: str = ""
    author: str = ""
    language: str = ""
    encoding: str = ""
    created: str = ""
    modified: str = ""
    parts: tuple[Part, ...] = ()
    properties: dict[str, Any] = field(default_factory=dict)
