"""Pictures as documents: photographs, screenshots, scans, and TIFF of many pages. Their text is what OCR reads in them.

The picture itself is kept as a part, so that it can be shown; a picture that says next to nothing is refused.
"""

import io
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from ingestion.parsing.elements import Element, Kind, PageBox, ParsedDocument, Part, PartRole, Quality
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source
from ingestion.parsing.limits import MAX_PAGES
from ingestion.parsing.ocr.pages import level_sizes, page_of
from ingestion.parsing.ocr.picture import scaled
from ingestion.parsing.page_numbers import spans
from ingestion.parsing.pdf_elements import elements_of
from ingestion.parsing.pdf_page import Page
from ingestion.parsing.pdf_scan import Scans
from ingestion.rendering.child import open_picture

if TYPE_CHECKING:
    from ingestion.parsing.ocr.picture import Grey

MAX_PIXELS = 60_000_000
_LONGEST_PX = 2_800
_SMALL_PX = 1_400  # pictures of the screen: enlarged, as their letters are small
_PAGE_LONG = 842.0  # points of the longer side, where the picture does not say how large it is
_PLAUSIBLE_DPI = (72, 1_200)
_DESCRIPTION, _ARTIST, _DATE = 270, 315, 306  # tags of EXIF


def parse(source: Source) -> ParsedDocument:
    """Read a picture. Raises Rejected: too_large (pixels or pages), truncated, corrupt, no_text."""
    Image.MAX_IMAGE_PIXELS = None  # the rule is here, with its own words
    try:
        with open_picture(io.BytesIO(source.data)) as opened:
            return _read(opened, source)
    except (UnidentifiedImageError, SyntaxError, ValueError, EOFError) as error:
        raise Rejected("corrupt") from error
    except OSError as error:
        raise Rejected("truncated" if "truncated" in str(error) else "corrupt") from error


def _read(opened: Image.Image, source: Source) -> ParsedDocument:
    count = _pages(opened)
    source.progress(0, count)
    scans = Scans(recognising=source.recognising)
    pages: list[Page] = []
    failed: list[int] = []
    written = _written(opened)
    media_type = Image.MIME.get(opened.format or "", "image/png")
    for number in range(1, count + 1):
        try:
            pages.append(_page(opened, number, scans))
        except (OSError, SyntaxError, ValueError, EOFError):
            if count == 1:
                raise
            failed.append(number)
        source.progress(number, count)
    if not scans.read:
        raise Rejected("no_text")
    level_sizes(scans.read)
    elements = elements_of([page for page in pages if page.lines], [])
    part = Part.of(PartRole.PICTURE, source.data, name=PurePath(source.file_name).name, media_type=media_type)
    characters = {page.number: page.characters for page in pages}
    return ParsedDocument(
        media_type=media_type,
        elements=(_shown(pages[0], part, written.get("title", "")), *elements),
        quality=Quality(
            pages=count,
            pages_with_text=len(scans.read),
            page_characters=tuple(characters.get(number, 0) for number in range(1, count + 1)),
            ocr_pages=len(scans.read),
            ocr_confidence=scans.mean_confidence,
            pictures=1,
            warnings=(*scans.warnings, *([f"pages_failed:{spans(failed)}"] if failed else [])),
        ),
        author=written.get("author", ""),
        created=written.get("created", ""),
        parts=(part,),
    )


def _pages(opened: Image.Image) -> int:
    """TIFF holds pages; what other formats hold more of are moments of a film, of which the first is read."""
    _check_pixels(opened)
    count = getattr(opened, "n_frames", 1) if opened.format == "TIFF" else 1
    if count > MAX_PAGES:
        raise Rejected("too_large", limit=f"{MAX_PAGES} pages")
    return count


def _check_pixels(opened: Image.Image) -> None:
    if opened.width * opened.height > MAX_PIXELS:
        raise Rejected("too_large", limit=f"{MAX_PIXELS // 1_000_000} megapixels")


def _page(opened: Image.Image, number: int, scans: Scans) -> Page:
    if number > 1:
        opened.seek(number - 1)
        _check_pixels(opened)
    long_side = _long_side(opened)
    opened.draft("L", (_LONGEST_PX, _LONGEST_PX))
    upright = ImageOps.exif_transpose(_grey(opened))
    width, height = upright.size
    longest = max(width, height)
    factor = 2.0 if longest < _SMALL_PX else min(1.0, _LONGEST_PX / longest)
    read = upright.resize(
        (max(round(width * factor), 1), max(round(height * factor), 1)), Image.Resampling.LANCZOS
    )
    del upright
    grey: Grey = np.asarray(read, dtype=np.uint8)
    point = long_side / max(grey.shape)
    display = (grey.shape[1] * point, grey.shape[0] * point)
    recognised = scans.recognise(grey)
    page = page_of(recognised, number=number, display=display, shown=scaled(point), point=point)
    scans.note(recognised, page)
    return page


def _grey(opened: Image.Image) -> Image.Image:
    """Light and dark only, on white; deep pictures over their whole range. Keeps how the camera was held."""
    if opened.mode.startswith(("I", "F")):
        deep = np.asarray(opened, dtype=np.float32)
        low, high = float(deep.min()), float(deep.max())
        grey = Image.fromarray(((deep - low) * (255 / max(high - low, 1e-6))).astype(np.uint8))
    elif opened.has_transparency_data:
        full = opened.convert("LA")
        grey = Image.new("L", full.size, 255)
        grey.paste(full.getchannel("L"), mask=full.getchannel("A"))
    else:
        grey = opened.convert("L")
    grey.getexif().update(opened.getexif())
    return grey


def _long_side(opened: Image.Image) -> float:
    """Points of the longer side of the page: as the picture says, where that is a size of paper."""
    low, high = _PLAUSIBLE_DPI
    try:
        dpi = float(opened.info.get("dpi", (0, 0))[0])
    except (TypeError, ValueError, ZeroDivisionError, IndexError):
        return _PAGE_LONG
    inches = max(opened.size) / dpi if low < dpi <= high else 0.0
    return inches * 72 if 2 <= inches <= 50 else _PAGE_LONG


def _shown(page: Page, part: Part, title: str) -> Element:
    """The picture as an element: what it calls itself, else its name."""
    width, height = page.display
    box = PageBox(page=page.number, x0=0, y0=0, x1=width, y1=height, page_width=width, page_height=height)
    text = title or PurePath(part.name).stem or part.media_type
    return Element(kind=Kind.IMAGE, text=text, page=page.number, boxes=(box,), picture=part.digest)


def _written(opened: Image.Image) -> dict[str, str]:
    """What the camera or scanner wrote: a description, who, and when (ISO 8601)."""
    exif = opened.getexif()
    date = str(exif.get(_DATE, ""))
    day, _space, clock = date.partition(" ")
    facts = {
        "title": exif.get(_DESCRIPTION, ""),
        "author": exif.get(_ARTIST, ""),
        "created": f"{day.replace(':', '-')}T{clock}" if len(date) == 19 else "",
    }
    return {name: str(value).strip() for name, value in facts.items() if str(value).strip()}
