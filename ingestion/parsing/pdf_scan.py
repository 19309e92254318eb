"""Pages of a PDF whose text is missing or garbled, read from their picture instead."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pymupdf

from ingestion.parsing.page_numbers import spans
from ingestion.parsing.pdf_page import LEAST_CHARACTERS, Line, Page

log = logging.getLogger(__name__)
if TYPE_CHECKING:
    from ingestion.parsing.ocr.picture import Grey, Recognised
    from ingestion.parsing.ocr.recogniser import Recogniser

_DPI = 200
_LONGEST_PX = 2_800
_THIN, _COVERED = (
    200,
    0.6,
)  # so few characters on a page that pictures cover so much of: its text is in the picture
_GARBLED = 0.3
_ENOUGH = 200  # characters from which their kinds say something
_LATIN = re.compile("[\u0080-\u00ff]")
_SYMBOL = re.compile(r"[!-'*+/:-@\[-^`{-~]")  # what figures and dotted lines of tables are not made of
_ASCII_LETTER = re.compile("[A-Za-z]")
_VOWEL = re.compile("[AEIOUaeiou]")
_AGREES = 0.5  # share of pairs of characters that two readings of one page have in common
_SURE = 0.6
_LEAST_SHARE = 0.3  # of the garbled characters that a recognised text must come to
_TEXT_LIKE = 3  # stretches that look like text before a page is said to hold some


@dataclass(kw_only=True)
class Scans:
    """Reads the pages that need it, and keeps what is to be told of that, by page number."""

    recognising: Callable[[int], None]
    started: int = 0
    confidence: dict[int, float] = field(default_factory=dict)
    read: list[Page] = field(default_factory=list)
    pictured: list[int] = field(default_factory=list)  # pictures, and nothing in them that looks like text
    unread: list[int] = field(default_factory=list)  # something looks like text, and could not be read

    @cached_property
    def recogniser(self) -> "Recogniser":
        from ingestion.parsing.ocr.recogniser import Recogniser

        return Recogniser()

    def recognise(self, picture: "Grey") -> "Recognised":
        """The text of one picture, within the time that each is given."""
        self.started += 1
        self.recognising(self.started)
        return self.recogniser.read(picture)

    def page(self, document: Any, page: Page) -> Page:
        """The page as it is, or with what its picture says where that is the better reading."""
        is_garbled = _is_garbled(page)
        if not is_garbled and not _lacks_text(document, page):
            return page
        try:
            recognised, scan = self._scan(document, page)
        except Exception as error:  # the text layer, whatever it is worth, is not lost with it
            log.warning("page %d could not be recognised: %s", page.number, error)
            self.unread.append(page.number)
            return page
        if is_garbled:
            if not _is_better(scan, page):
                return page
            scan.lines += _form_lines(page)
        else:
            scan.lines += _not_said_in(scan, page.lines)
        self.note(recognised, scan)
        return scan

    def _scan(self, document: Any, page: Page) -> "tuple[Recognised, Page]":
        from ingestion.parsing.ocr.pages import page_of
        from ingestion.parsing.ocr.picture import STRAIGHT, after, scaled

        drawn = document[page.number - 1]
        longest = max(drawn.rect.width, drawn.rect.height, 1.0)
        point = max(72 / _DPI, longest / _LONGEST_PX)
        recognised = self.recognise(_picture(drawn, 1 / point))
        a, b, c, d, e, f = page.to_display
        shown = after(scaled(point), (a, b, c, d, e, f))
        scan = page_of(recognised, number=page.number, display=page.display, shown=shown, point=point)
        scan.asides, scan.notes = page.asides, page.notes
        if recognised.back == STRAIGHT and page.grids:
            scan.grids = page.grids
            scan.words = [(line.x0, line.y0, line.x1, line.y1, line.text) for line in scan.lines]
        return recognised, scan

    def note(self, recognised: "Recognised", scan: Page) -> None:
        """Keep how a page was read; lines that say nothing are taken off it."""
        from ingestion.parsing.ocr.pages import says_something

        if says_something(recognised):
            self.confidence[scan.number] = recognised.confidence
            self.read.append(scan)
            return
        scan.lines = [line for line in scan.lines if line.confidence is None]
        if scan.characters < LEAST_CHARACTERS:
            (self.unread if recognised.seen >= _TEXT_LIKE else self.pictured).append(scan.number)

    @property
    def mean_confidence(self) -> float | None:
        weights = {page.number: max(page.characters, 1) for page in self.read}
        total = sum(weights.values())
        said = sum(self.confidence[number] * weight for number, weight in weights.items())
        return round(said / total, 3) if total else None

    @property
    def warnings(self) -> list[str]:
        """What a reader has to know of the pages that were pictures."""
        unsure = [number for number, confidence in self.confidence.items() if confidence < _SURE]
        told = (
            ("pages_without_text", self.unread),
            ("pages_of_pictures", self.pictured),
            ("ocr_unsure", unsure),
        )
        return [f"{code}:{spans(numbers)}" for code, numbers in told if numbers]


def _picture(drawn: Any, scale: float) -> "Grey":
    import numpy as np

    pixels = drawn.get_pixmap(
        matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csGRAY, alpha=False, annots=True
    )
    rows = np.frombuffer(pixels.samples, dtype=np.uint8).reshape(pixels.height, pixels.stride)
    return np.ascontiguousarray(rows[:, : pixels.width])


def _lacks_text(document: Any, page: Page) -> bool:
    count = page.characters
    if count < LEAST_CHARACTERS:
        return page.has_pictures
    return count < _THIN and page.has_images and _covered(document, page.number) >= _COVERED


def _covered(document: Any, number: int) -> float:
    """Share of the page that its largest picture takes."""
    drawn = document[number - 1]
    whole = abs(drawn.rect) or 1.0
    boxes = [pymupdf.Rect(image["bbox"]) & drawn.rect for image in drawn.get_image_info()]
    return max((abs(box) for box in boxes if not box.is_empty), default=0.0) / whole


def _is_garbled(page: Page) -> bool:
    """Characters without a meaning, or of kinds that no writing is made of."""
    count = page.characters
    if count < LEAST_CHARACTERS:
        return False
    if page.garbled > _GARBLED * count:
        return True
    text = "".join([line.text for line in page.lines])
    vowels = sum(map(text.count, "aeiou"))
    if vowels > 0.2 * len(text) or len(text) < _ENOUGH:
        return False
    text = "".join(text.split())
    letters = len(_ASCII_LETTER.findall(text))
    return (
        len(_LATIN.findall(text)) > 0.4 * len(text)
        or len(_SYMBOL.findall(text)) > 0.5 * len(text)
        or (letters > max(0.6 * len(text), _ENOUGH) and len(_VOWEL.findall(text)) < 0.2 * letters)
    )


def _is_better(scan: Page, page: Page) -> bool:
    """Whether the picture says something else than the text layer, and says it clearly."""
    said = "".join(line.text for line in scan.lines)
    clearly = sum((line.confidence or 0) * len(line.text) for line in scan.lines) >= _SURE * len(said)
    enough = len(said) >= _LEAST_SHARE * page.characters
    return bool(said) and clearly and enough and _in_common(said, page) < _AGREES


def _in_common(said: str, page: Page) -> float:
    first, second = _pairs(said), _pairs("".join(line.text for line in page.lines))
    return (first & second).total() / max(first.total(), 1)


def _pairs(text: str) -> Counter[tuple[str, str]]:
    return Counter(pairwise(filter(str.isalnum, text)))


def _form_lines(page: Page) -> list[Line]:
    return [line for line in page.lines if line.is_filled_in]


def _not_said_in(scan: Page, lines: Sequence[Line]) -> list[Line]:
    """Lines of the text layer that the picture does not say."""
    said = "".join(filter(str.isalnum, "".join(line.text for line in scan.lines))).lower()
    return [line for line in lines if "".join(filter(str.isalnum, line.text)).lower() not in said]
