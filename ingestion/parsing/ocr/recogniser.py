"""From the picture of a page to its lines: found, turned upright, told apart by script, and read by who reads it best."""

import logging
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ingestion.parsing.ocr import tesseract
from ingestion.parsing.ocr.picture import (
    STRAIGHT,
    Affine,
    Grey,
    Quad,
    Recognised,
    TextLine,
    after,
    is_blank,
    levelled,
    lies_sideways,
    skew_of,
    turned,
    weighted,
)
from ingestion.parsing.ocr.rapid import RapidReader
from ingestion.parsing.prose import cjk_share

log = logging.getLogger(__name__)
DPI = 200
_SAMPLE = 5  # lines read to tell how the page lies and which script it is in
_UPRIGHT = 0.8  # confidence at which nobody doubts that the sample stands upright
_LATIN = 0.05  # least share of ideographs that makes a page one for RapidOCR
_WELL_READ = 0.7


class Recogniser:
    """Reads one picture after the other; what it loads, it loads once."""

    @cached_property
    def _rapid(self) -> RapidReader:
        return RapidReader()

    def read(self, picture: Grey) -> Recognised:
        """The lines of a grey picture of about DPI pixels an inch."""
        if min(picture.shape) < 16 or is_blank(picture):
            return Recognised()
        quads = self._rapid.find(picture)
        if not quads:
            return Recognised()
        page = self._straightened(picture, quads)
        lines = self._lines(page)
        height, width = page.picture.shape
        area = sum((line.x1 - line.x0) * (line.y1 - line.y0) for line in lines)
        return Recognised(
            lines=tuple(lines),
            back=page.back,
            width=width,
            height=height,
            seen=len(quads),
            cover=area / (width * height),
        )

    def _straightened(self, picture: Grey, quads: Sequence[Quad]) -> "_Upright":
        """The picture with its lines level and on their feet."""
        back = STRAIGHT
        if lies_sideways(quads):
            picture, back = turned(picture, 1)
            quads = self._rapid.find(picture)
        if skew := skew_of(quads):
            picture, level = levelled(picture, skew)
            back = after(level, back)
            quads = self._rapid.find(picture)
        page = self._sampled(picture, back, quads)
        if _sure(page.sample) < _UPRIGHT:
            other, flip = turned(picture, 2)
            flipped = self._sampled(
                other, after(flip, back), [_half_turned(quad, picture.shape) for quad in quads]
            )
            if _sure(flipped.sample) > _sure(page.sample):
                return flipped
        return page

    def _sampled(self, picture: Grey, back: Affine, quads: Sequence[Quad]) -> "_Upright":
        """Read some lines of middle length, from all over the page."""
        by_length = sorted(quads, key=lambda quad: float(np.linalg.norm(quad[1] - quad[0])))
        longer = range(len(by_length) // 3, len(by_length))
        chosen = set(longer[:: max(len(longer) // _SAMPLE, 1)][:_SAMPLE])
        return _Upright(
            picture=picture,
            back=back,
            sample=self._rapid.read(picture, [by_length[number] for number in sorted(chosen)]),
            rest=[quad for number, quad in enumerate(by_length) if number not in chosen],
        )

    def _lines(self, page: "_Upright") -> list[TextLine]:
        latin: list[TextLine] = []
        said = " ".join(line.text for line in page.sample)
        if said and cjk_share(said) < _LATIN and tesseract.program():
            try:
                latin = tesseract.read(page.picture, dpi=DPI)
            except (OSError, subprocess.SubprocessError) as error:
                log.warning("tesseract failed: %s", type(error).__name__)
            if _sure(latin) >= _WELL_READ:
                return latin
        lines = [*page.sample, *self._rapid.read(page.picture, page.rest)]
        return lines if _worth(lines) >= _worth(latin) else latin


@dataclass(frozen=True, slots=True, kw_only=True)
class _Upright:
    """A picture on its feet, with some of its lines read, and where the rest of them are."""

    picture: Grey
    back: Affine
    sample: list[TextLine]
    rest: list[Quad]


def _sure(lines: Sequence[TextLine]) -> float:
    return weighted([(line.confidence, len(line.text)) for line in lines])


def _worth(lines: Sequence[TextLine]) -> float:
    return sum(line.confidence * len(line.text) for line in lines)


def _half_turned(quad: Quad, shape: tuple[int, ...]) -> Quad:
    far = np.array([shape[1], shape[0]], dtype=np.float32)
    return (far - quad)[[2, 3, 0, 1]]
