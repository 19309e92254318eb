"""Pictures in a PDF that carry content: taken out, put where their caption is, and read.

Logos, rules, backgrounds and what stands on several pages are left out, as is a picture that nothing is known of.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pymupdf

from ingestion.parsing.elements import Element, Kind, PageBox, ParsedDocument, Part, PartRole, Quality
from ingestion.parsing.formats import Source
from ingestion.parsing.pdf_page import Page
from ingestion.parsing.picture_text import with_picture_text

_MOST_PICTURES, _MOST_BYTES = 100, 60_000_000
_LEAST_PX, _MOST_PX = 100, 60_000_000
_LEAST_SHARE, _MOST_SHARE = 0.015, 0.9  # of the page
_LONGEST = 8.0  # a side as a multiple of the other: beyond it is a rule or a banner
_SHOWN_AGAIN = 3  # pages from which a picture is furniture
_NEAR = 40.0  # points between a picture and its caption


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A picture that was taken out, and its place on the displayed page."""

    part: Part
    box: PageBox


def with_pictures(
    parsed: ParsedDocument, document: Any, pages: Sequence[Page], source: Source
) -> ParsedDocument:
    """The document with its pictures as elements. pages: those whose own text was read."""
    placed = list(_placed(document, pages))
    if not placed:
        return parsed
    parts = {each.part.digest: each.part for each in placed}
    shown = with_picture_text(
        replace(
            parsed, elements=tuple(_inserted(parsed.elements, placed)), parts=(*parsed.parts, *parts.values())
        ),
        source,
    )
    elements = tuple(e for e in shown.elements if e.kind is not Kind.IMAGE or e.text)
    named = {element.picture for element in elements}
    warnings = shown.quality.warnings
    quality = replace(parsed.quality, warnings=warnings, pictures=len(named - {""}))
    return replace(
        shown,
        elements=elements,
        parts=tuple(part for part in shown.parts if part.digest not in parts or part.digest in named),
        quality=_with_read_pages(quality, [e for e in elements if e.picture in parts]),
    )


def _with_read_pages(quality: Quality, pictures: Sequence[Element]) -> Quality:
    """A page whose pictures say more than its own text counts as one that was recognised."""
    own = quality.page_characters
    said = Counter[int]()
    for element in pictures:
        if element.confidence is not None and element.page:
            said[element.page] += len(element.text)
    read = {page for page, length in said.items() if page > len(own) or length > own[page - 1]}
    if not read:
        return quality
    sure = [e.confidence for e in pictures if e.confidence is not None and e.page in read]
    before = quality.ocr_pages * (quality.ocr_confidence or 0.0)
    mean = (before + len(read) * sum(sure) / len(sure)) / (quality.ocr_pages + len(read))
    return replace(
        quality,
        ocr_pages=quality.ocr_pages + len(read),
        ocr_confidence=round(mean, 3),
        page_characters=tuple(
            length + said[page] * (page in read) for page, length in enumerate(own, start=1)
        ),
    )


def _placed(document: Any, pages: Sequence[Page]) -> Iterator[Placed]:
    shown_on: dict[int, int] = {}
    on_page: dict[int, list[Any]] = {}
    for page in pages:
        if page.has_images:
            on_page[page.number] = document[page.number - 1].get_images()
            for xref in {image[0] for image in on_page[page.number]}:
                shown_on[xref] = shown_on.get(xref, 0) + 1
    taken, size = set[int](), 0
    for page in pages:
        large = {
            image[0]
            for image in on_page.get(page.number, ())
            if min(image[2:4]) >= _LEAST_PX and image[2] * image[3] <= _MOST_PX
        }
        wanted = {xref for xref in large if shown_on[xref] < _SHOWN_AGAIN} - taken
        if not wanted or len(taken) >= _MOST_PICTURES:
            continue
        for xref, box in _boxes(document, page, wanted):
            data = _png_or_jpeg(document, xref)
            size += len(data)
            if data and size <= _MOST_BYTES and xref not in taken:
                taken.add(xref)
                kind = "png" if data.startswith(b"\x89PNG") else "jpeg"
                name = f"page-{page.number}-{xref}.{kind}"
                part = Part.of(PartRole.PICTURE, data, name=name, media_type=f"image/{kind}")
                yield Placed(part=part, box=box)


def _boxes(document: Any, page: Page, wanted: set[int]) -> Iterator[tuple[int, PageBox]]:
    whole = page.width * page.height
    for image in document[page.number - 1].get_image_info(xrefs=True):
        x0, y0, x1, y1 = image["bbox"]
        width, height = x1 - x0, y1 - y0
        if image["xref"] not in wanted or min(width, height) <= 0:
            continue
        share = width * height / max(whole, 1.0)
        if _LEAST_SHARE <= share <= _MOST_SHARE and max(width, height) <= _LONGEST * min(width, height):
            yield image["xref"], page.box(x0, y0, x1, y1)


def _png_or_jpeg(document: Any, xref: int) -> bytes:
    """The bytes of a picture as browsers show it; b"" for one that cannot be made into that."""
    try:
        found = document.extract_image(xref)
        if found["ext"] in {"png", "jpeg"} and not found["smask"] and found["colorspace"] <= 3:
            return bytes(found["image"])
        pixels = pymupdf.Pixmap(document, xref)
        if pixels.colorspace is None or pixels.colorspace.n > 3:
            pixels = pymupdf.Pixmap(pymupdf.csRGB, pixels)
        return bytes(pixels.tobytes("png"))
    except MemoryError:
        raise
    except Exception:  # a broken picture costs itself
        return b""


def _inserted(elements: Sequence[Element], placed: Sequence[Placed]) -> list[Element]:
    """Each picture in place of its caption, else after the last element of its page."""
    result = list(elements)
    for each in placed:
        box = each.box
        picture = Element(kind=Kind.IMAGE, text="", page=box.page, boxes=(box,), picture=each.part.digest)
        caption = next((n for n, e in enumerate(result) if e.kind is Kind.CAPTION and _belongs(e, box)), None)
        if caption is not None:
            said = result[caption]
            result[caption] = replace(picture, text=said.text, boxes=(box, *said.boxes))
            continue
        last = max((n for n, e in enumerate(result) if (e.page or 0) <= box.page and e.boxes), default=-1)
        result.insert(last + 1, picture)
    return result


def _belongs(caption: Element, box: PageBox) -> bool:
    """Right below or above the picture, and not beside it."""
    return any(
        place.page == box.page
        and min(place.x1, box.x1) > max(place.x0, box.x0)
        and (-5 < place.y0 - box.y1 < _NEAR or -5 < box.y0 - place.y1 < _NEAR)
        for place in caption.boxes
    )
