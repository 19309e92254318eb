"""A parsed document as JSON lines, from the child to its parent. Reading trusts no type and no size.

The bytes of a part follow its line as they are, so that neither side holds more than one part twice.
"""

import json
import logging
import math
from collections.abc import Callable
from dataclasses import replace
from typing import IO, Any

from ingestion.parsing.elements import Element, ParsedDocument, Part, PartRole, Quality
from ingestion.parsing.errors import Rejected

log = logging.getLogger(__name__)
Keep = Callable[[bytes], object]
_MOST_PAGES = 2_000
_TEXT_FIELDS = ("media_type", "title", "author", "language", "encoding", "created", "modified")


def encode(message: dict[str, Any]) -> bytes:
    """One line. Text that is no valid Unicode travels escaped and is replaced by the reader."""
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def write_document(document: ParsedDocument, write: Callable[[bytes], object]) -> None:
    """Parts, elements, and the document's own fields last: a result that breaks off is never taken for whole."""
    for part in document.parts:
        facts = {"role": part.role, "name": part.name, "media_type": part.media_type}
        write(encode({"part": {**facts, "size_bytes": len(part.data)}}))
        write(part.data)
    for element in document.elements:
        write(encode({"element": element.to_json()}))
    quality = document.quality
    write(
        encode(
            {
                "document": {name: getattr(document, name) for name in _TEXT_FIELDS},
                "properties": document.properties,
                "quality": {
                    "pages": quality.pages,
                    "pages_with_text": quality.pages_with_text,
                    "page_characters": list(quality.page_characters),
                    "ocr_pages": quality.ocr_pages,
                    "ocr_confidence": quality.ocr_confidence,
                    "pictures": quality.pictures,
                    "garble_ratio": quality.garble_ratio,
                    "warnings": list(quality.warnings),
                },
            }
        )
    )


def read_document(result: IO[bytes], *, keep: Keep | None = None) -> ParsedDocument:
    """The document, or the Rejected that the child sent. A result without its end counts as a crash.

    keep: takes the bytes of each part, which then leave memory; without it the parts carry them.
    """
    elements: list[Element] = []
    parts: list[Part] = []
    try:
        while line := result.readline():
            message = json.loads(line)
            if "element" in message:
                elements.append(_checked(Element.from_json(message["element"])))
            elif "part" in message:
                part = _part(message["part"], result)
                if keep is not None:
                    keep(part.data)
                    part = replace(part, data=b"")
                parts.append(part)
            elif "crashed" in message:
                log.warning("parsing child failed: %s", message["crashed"])
                raise Rejected("crashed")
            elif "rejected" in message:
                raise Rejected(str(message["rejected"]), **_scalars(message["params"]))
            elif "document" in message:
                return _document(message, tuple(elements), tuple(parts))
    except (KeyError, TypeError, ValueError, RecursionError, AttributeError) as error:
        raise Rejected("crashed") from error
    raise Rejected("crashed")


def _document(
    message: dict[str, Any], elements: tuple[Element, ...], parts: tuple[Part, ...]
) -> ParsedDocument:
    fields = {name: _expect(str, message["document"][name]) for name in _TEXT_FIELDS}
    quality = message["quality"]
    return ParsedDocument(
        **fields,
        elements=elements,
        parts=parts,
        properties=_expect(dict, message["properties"]),
        quality=Quality(
            pages=_optional_count(quality["pages"]),
            pages_with_text=_optional_count(quality["pages_with_text"]),
            page_characters=tuple(_count(count) for count in quality["page_characters"][:_MOST_PAGES]),
            ocr_pages=_count(quality["ocr_pages"]),
            ocr_confidence=_optional_number(quality["ocr_confidence"]),
            pictures=_count(quality["pictures"]),
            garble_ratio=_number(quality["garble_ratio"]),
            warnings=tuple(_expect(str, warning) for warning in quality["warnings"][:100]),
        ),
    )


def _part(message: dict[str, Any], result: IO[bytes]) -> Part:
    size = _count(message["size_bytes"])
    data = result.read(size)
    if len(data) != size:
        raise ValueError("a part breaks off")
    return Part.of(
        PartRole(message["role"]),
        data,
        name=_expect(str, message["name"])[:500],
        media_type=_expect(str, message["media_type"])[:100],
    )


def _checked(element: Element) -> Element:
    _expect(str, element.text)
    _expect(int, element.level)
    _optional_count(element.page)
    _optional_number(element.confidence)
    _expect(str, element.picture)
    for box in element.boxes:
        _expect(int, box.page)
        for value in (box.x0, box.y0, box.x1, box.y1, box.page_width, box.page_height):
            _number(value)
    if element.table:
        _expect(str, element.table.html)
        _expect(int, element.table.header_rows)
        for row in element.table.rows:
            for cell in row:
                _expect(str, cell)
    return element


def _expect(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"expected a finite number, got {value!r:.40}")
    return value


def _optional_count(value: Any) -> int | None:
    if value is not None and (not isinstance(value, int) or value < 0):
        raise TypeError(f"expected a count, got {value!r:.40}")
    return value


def _count(value: Any) -> int:
    _optional_count(_expect(int, value))
    return int(value)


def _optional_number(value: Any) -> float | None:
    return None if value is None else _number(value)


def _scalars(params: Any) -> dict[str, str | int | float]:
    return {
        str(key): value if isinstance(value, int | float) else str(value)[:200]
        for key, value in _expect(dict, params).items()
    }
