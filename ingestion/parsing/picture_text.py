"""What the pictures inside a document say, recognised and put to their elements: in the largest first, within a budget.

A picture must be large enough to hold text; what is known of it already stays in front of what is read in it.
"""

import io
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ingestion.parsing.elements import Element, Kind, ParsedDocument, Part
from ingestion.parsing.formats import Source
from ingestion.rendering.child import open_picture

if TYPE_CHECKING:
    from ingestion.parsing.ocr.picture import Recognised, TextLine
    from ingestion.parsing.ocr.recogniser import Recogniser

log = logging.getLogger(__name__)
MAX_PICTURES = 30
_LEAST_SIDE, _LEAST_PIXELS, _MOST_PIXELS = 40, 30_000, 60_000_000
_LONGEST_PX, _SMALL_PX = 2_800, 1_400
_LINE, _WORD = 8, 3  # letters and figures
_SURE, _CERTAIN = 0.7, 0.93
_SAME_LINE = 0.5  # of the height of the type
_READ = frozenset({"image/png", "image/jpeg", "image/gif", "image/bmp", "image/tiff", "image/webp"})


def with_picture_text(document: ParsedDocument, source: Source) -> ParsedDocument:
    """The document with the text of its pictures, and what its quality report says of that."""
    shown = {
        element.picture for element in document.elements if element.kind is Kind.IMAGE and element.picture
    }
    chosen = [part for part in document.parts if part.digest in shown and part.media_type in _READ]
    sizes = {part.digest: pixels for part in chosen if (pixels := _pixels(part))}
    wanted = sorted((p for p in chosen if p.digest in sizes), key=lambda part: -sizes[part.digest])
    if not wanted:
        return document
    reader = _Reader(source=source)
    for part in wanted[:MAX_PICTURES]:
        reader.read(part)
    unread = len(wanted[MAX_PICTURES:]) + reader.failed
    elements = tuple(_said(element, reader) for element in document.elements)
    read = [element for element in elements if element.confidence is not None]
    quality = replace(
        document.quality,
        ocr_pages=len({element.page or place for place, element in enumerate(read)}),
        ocr_confidence=round(sum(e.confidence or 0 for e in read) / len(read), 3) if read else None,
        warnings=(*document.quality.warnings, *([f"pictures_unread:{unread}"] if unread else [])),
    )
    return replace(document, elements=elements, quality=quality)


def _said(element: Element, reader: "_Reader") -> Element:
    text, confidence = reader.texts.get(element.picture, ("", 0.0))
    if not text or element.kind is not Kind.IMAGE:
        return element
    return replace(element, text=f"{element.text}\n{text}" if element.text else text, confidence=confidence)


def _pixels(part: Part) -> int:
    """How many pixels a picture has, 0 for one that is too small or too large to be read, or damaged."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # the rule is here
    try:
        with open_picture(io.BytesIO(part.data)) as opened:
            width, height = opened.size
    except (OSError, SyntaxError, ValueError, EOFError):
        return 0
    pixels = width * height
    fits = min(width, height) >= _LEAST_SIDE and _LEAST_PIXELS <= pixels <= _MOST_PIXELS
    return pixels if fits else 0


@dataclass(kw_only=True)
class _Reader:
    """texts: (text, confidence) by the digest of the picture."""

    source: Source
    started: int = 0
    failed: int = 0
    texts: dict[str, tuple[str, float]] = field(default_factory=dict)

    @cached_property
    def _recogniser(self) -> "Recogniser":
        from ingestion.parsing.ocr.recogniser import Recogniser

        return Recogniser()

    def read(self, part: Part) -> None:
        self.started += 1
        self.source.recognising(self.started)
        try:
            recognised = self._recognised(part.data)
        except Exception as error:  # the document is not lost with one of its pictures
            log.warning("a picture could not be recognised: %s", error)
            self.failed += 1
            return
        if _says_something(recognised):
            self.texts[part.digest] = (_text(recognised.lines), round(recognised.confidence, 3))

    def _recognised(self, data: bytes) -> "Recognised":
        import numpy as np
        from PIL import Image, ImageOps

        with open_picture(io.BytesIO(data)) as opened:
            opened.draft("L", (_LONGEST_PX, _LONGEST_PX))
            upright = ImageOps.exif_transpose(opened).convert("RGBA")
        paper = Image.new("RGBA", upright.size, "white")
        grey = Image.alpha_composite(paper, upright).convert("L")
        longest = max(grey.size)
        factor = 2.0 if longest < _SMALL_PX else min(1.0, _LONGEST_PX / longest)
        size = (max(round(grey.width * factor), 1), max(round(grey.height * factor), 1))
        return self._recogniser.read(np.asarray(grey.resize(size, Image.Resampling.LANCZOS), dtype=np.uint8))


def _says_something(read: "Recognised") -> bool:
    """A line read well, or a word read without doubt: in drawings and photographs letters are seen where none are."""
    least = _SURE if read.letters >= _LINE else _CERTAIN
    return read.letters >= _WORD and read.confidence >= least


def _text(lines: Sequence["TextLine"]) -> str:
    """Lines from top to bottom; what stands beside each other is one line."""
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: line.baseline):
        if rows and abs(line.baseline - rows[-1][0].baseline) < _SAME_LINE * line.size:
            rows[-1].append(line)
        else:
            rows.append([line])
    return "\n".join("  ".join(line.text for line in sorted(row, key=lambda line: line.x0)) for row in rows)
