"""What every parser yields: elements in reading order. Plain values, JSON in and out, no ORM.

Boxes are in points of the displayed page (rotation and crop applied), origin at the top left.
"""

from dataclasses import asdict, dataclass, field
from enum import StrEnum
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cell texts, merged cells filled into every slot they cover. `html` keeps spans and header cells."""

    rows: tuple[tuple[str, ...], ...]
    header_rows: int
    html: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One piece of structure. `level` is 1.. for headings and list depth for items; `heading_path` is the titles above it."""

    kind: Kind
    text: str
    level: int = 0
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    boxes: tuple[PageBox, ...] = ()
    table: Table | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

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
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """What the parser saw, for the quality report. `skipped` holds sentences' codes with parameters, not prose."""

    pages: int | None = None
    pages_with_text: int | None = None
    characters: int = 0
    tables: int = 0
    garble_ratio: float = 0.0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """A file read. `title`, `author` come from the file itself; `language` is zh, en or mixed by CJK share."""

    media_type: str
    elements: tuple[Element, ...]
    quality: Quality
    title: str = ""
    author: str = ""
    language: str = ""
    encoding: str = ""
    properties: dict[str, Any] = field(default_factory=dict)
