"""A parsed document as JSON lines, from the child to its parent. Reading trusts no type and no size."""

import json
import math
from collections.abc import Callable, Iterable
from typing import Any

from ingestion.parsing.elements import Element, ParsedDocument, Quality
from ingestion.parsing.errors import Rejected

_TEXT_FIELDS = ("media_type", "title", "author", "language", "encoding")


def encode(message: dict[str, Any]) -> bytes:
    """One line. Text that is no valid Unicode travels escaped and is replaced by the reader."""
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def write_document(document: ParsedDocument, write: Callable[[bytes], object]) -> None:
    """Elements first, the document's own fields last: a result that breaks off is never taken for whole."""
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
                    "garble_ratio": quality.garble_ratio,
                    "warnings": list(quality.warnings),
                },
            }
        )
    )


def read_document(lines: Iterable[bytes]) -> ParsedDocument:
    """The document, or the Rejected that the child sent. A result without its end counts as a crash."""
    elements: list[Element] = []
    try:
        for line in lines:
            message = json.loads(line)
            if "element" in message:
                elements.append(_checked(Element.from_json(message["element"])))
            elif "rejected" in message:
                raise Rejected(str(message["rejected"]), **_scalars(message["params"]))
            elif "document" in message:
                return _document(message, tuple(elements))
    except (KeyError, TypeError, ValueError, RecursionError, AttributeError) as error:
        raise Rejected("crashed") from error
    raise Rejected("crashed")


def _document(message: dict[str, Any], elements: tuple[Element, ...]) -> ParsedDocument:
    fields = {name: _expect(str, message["document"][name]) for name in _TEXT_FIELDS}
    quality = message["quality"]
    return ParsedDocument(
        **fields,
        elements=elements,
        properties=_expect(dict, message["properties"]),
        quality=Quality(
            pages=_optional_count(quality["pages"]),
            pages_with_text=_optional_count(quality["pages_with_text"]),
            garble_ratio=_number(quality["garble_ratio"]),
            warnings=tuple(_expect(str, warning) for warning in quality["warnings"][:100]),
        ),
    )


def _checked(element: Element) -> Element:
    _expect(str, element.text)
    _expect(int, element.level)
    _optional_count(element.page)
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


def _scalars(params: Any) -> dict[str, str | int | float]:
    return {
        str(key): value if isinstance(value, int | float) else str(value)[:200]
        for key, value in _expect(dict, params).items()
    }
