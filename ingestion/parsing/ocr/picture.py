"""Plain values of recognition: grey pictures, the lines found in them, and how an upright picture lies in the given one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Grey = NDArray[np.uint8]
Quad = NDArray[np.float32]  # four corners of a line of text, from its top left, clockwise as it is read
Affine = tuple[float, float, float, float, float, float]  # as in PDF: x' = a x + c y + e, y' = b x + d y + f

STRAIGHT: Affine = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_LEAST_SKEW = 0.4  # degrees; below that lines are read as they are
_MOST_SKEW = 30.0
_TALL = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLine:
    """One line read: its place in the upright picture in pixels, the height of its type, and 0..1 how sure it is."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    baseline: float
    size: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognised:
    """What a picture says. `back` brings points of the upright picture to the picture that was given.

    seen: how many stretches looked like text, read or not.
    """

    lines: tuple[TextLine, ...] = ()
    back: Affine = STRAIGHT
    width: float = 0.0
    height: float = 0.0
    seen: int = 0
    cover: float = field(default=0.0)  # share of the picture that its lines take

    @property
    def confidence(self) -> float:
        return weighted([(line.confidence, len(line.text)) for line in self.lines])

    @property
    def letters(self) -> int:
        return sum(map(str.isalnum, "".join(line.text for line in self.lines)))


def weighted(values: Sequence[tuple[float, int]]) -> float:
    total = sum(weight for _value, weight in values)
    return sum(value * weight for value, weight in values) / total if total else 0.0


def is_blank(picture: Grey) -> bool:
    """Hardly any difference between its darkest and lightest parts."""
    low, high = np.percentile(picture[::4, ::4], (0.05, 99.95))
    return bool(high - low < 24)


def lies_sideways(quads: Sequence[Quad]) -> bool:
    """Whether most of what looks like text is taller than wide."""
    lengths = [(max(_sides(quad)), _sides(quad)[1] > _TALL * _sides(quad)[0]) for quad in quads]
    tall = sum(length for length, is_tall in lengths if is_tall)
    return tall > 0.6 * sum(length for length, _tall in lengths)


def skew_of(quads: Sequence[Quad]) -> float:
    """Degrees that the lines fall to the right, by the longest of them; 0 where they do not agree."""
    wide = sorted((q for q in quads if _sides(q)[0] > 3 * _sides(q)[1]), key=lambda q: -_sides(q)[0])[:40]
    if not wide:
        return 0.0
    angles = [math.degrees(math.atan2(q[1][1] - q[0][1], q[1][0] - q[0][0])) for q in wide]
    angle = median(angles)
    agree = sum(abs(other - angle) < 1.5 for other in angles)
    return angle if _LEAST_SKEW < abs(angle) < _MOST_SKEW and agree > 0.6 * len(angles) else 0.0


def _sides(quad: Quad) -> tuple[float, float]:
    return float(np.linalg.norm(quad[1] - quad[0])), float(np.linalg.norm(quad[3] - quad[0]))


def turned(picture: Grey, quarters: int) -> tuple[Grey, Affine]:
    """The picture turned clockwise by quarters, and the way back."""
    height, width = picture.shape
    quarters %= 4
    if not quarters:
        return picture, STRAIGHT
    back: Affine = (
        (0.0, -1.0, 1.0, 0.0, 0.0, float(height)),
        (-1.0, 0.0, 0.0, -1.0, float(width), float(height)),
        (0.0, 1.0, -1.0, 0.0, float(width), 0.0),
    )[quarters - 1]
    return np.ascontiguousarray(np.rot90(picture, -quarters)), back


def levelled(picture: Grey, degrees: float) -> tuple[Grey, Affine]:
    """The picture turned so that lines falling by `degrees` lie level, on a sheet that holds all of it."""
    if not degrees:
        return picture, STRAIGHT
    height, width = picture.shape
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0)
    cosine, sine = abs(matrix[0, 0]), abs(matrix[0, 1])
    new_width, new_height = int(height * sine + width * cosine), int(height * cosine + width * sine)
    matrix[0, 2] += (new_width - width) / 2
    matrix[1, 2] += (new_height - height) / 2
    level: Any = cv2.warpAffine(
        picture, matrix, (new_width, new_height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    inverse = cv2.invertAffineTransform(matrix)
    a, c, e = map(float, inverse[0])
    b, d, f = map(float, inverse[1])
    return level, (a, b, c, d, e, f)


def after(first: Affine, second: Affine) -> Affine:
    """First one way, then the other."""
    a, b, c, d, e, f = first
    p, q, r, s, t, u = second
    return (
        a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u
    )  # fmt: skip


def scaled(factor: float) -> Affine:
    return (factor, 0.0, 0.0, factor, 0.0, 0.0)
