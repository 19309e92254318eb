"""Reading order of a PDF page: columns found by their gutter, full-width lines part the page into bands."""

from collections.abc import Sequence
from itertools import accumulate
from statistics import median
from typing import Protocol, TypeVar

from ingestion.parsing.pdf_tables import weight


class Placed(Protocol):
    """Anything with a place on the page."""

    x0: float
    y0: float
    x1: float
    y1: float


P = TypeVar("P", bound=Placed)
Gutter = tuple[float, float]
_LEAST_GUTTER = 5.0
_LEAST_LINES = 4
_DEEPEST = 6
_FINE = 16  # steps of a point that heights are counted in


def regions(items: Sequence[P], *, depth: int = 0) -> list[list[P]]:
    """Groups of items in reading order; within a group there are no columns."""
    if not items:
        return []
    gutter = _gutter(items) if depth < _DEEPEST else None
    if gutter is None:
        return [list(items)]
    ordered: list[list[P]] = []
    for band in _bands(items, gutter):
        left = [item for item in band if item.x1 <= gutter[1]]
        right = [item for item in band if item.x0 >= gutter[0] and item.x1 > gutter[1]]
        crossing = [item for item in band if item.x1 > gutter[1] and item.x0 < gutter[0]]
        if crossing:
            ordered.append(crossing)
        else:
            ordered.extend(regions(left, depth=depth + 1))
            ordered.extend(regions(right, depth=depth + 1))
    return ordered


def _bands(items: Sequence[P], gutter: Gutter) -> list[list[P]]:
    """Runs of items that cross the gutter, and the runs of two-column items between them, from top to bottom."""
    crossing = sorted((i for i in items if i.x0 < gutter[0] and i.x1 > gutter[1]), key=lambda item: item.y0)
    rest = sorted((i for i in items if not (i.x0 < gutter[0] and i.x1 > gutter[1])), key=lambda item: item.y0)
    bands: list[list[P]] = []
    for item in crossing:
        middle = (item.y0 + item.y1) / 2
        above = [other for other in rest if (other.y0 + other.y1) / 2 < middle]
        rest = [other for other in rest if (other.y0 + other.y1) / 2 >= middle]
        if above or not bands:
            bands.extend([above, [item]] if above else [[item]])
        else:
            bands[-1].append(item)
    return [*bands, rest] if rest else bands


def _gutter(items: Sequence[P]) -> Gutter | None:
    """The clearest vertical gap with running text on both sides."""
    left, right = min(item.x0 for item in items), max(item.x1 for item in items)
    if right - left < 150 or len(items) < 2 * _LEAST_LINES:
        return None
    steps = [0] * (
        int(right - left) + 3
    )  # what begins and ends at each point: summed up, the height that covers it
    for item in items:
        height = int((item.y1 - item.y0) * _FINE)
        steps[max(int(item.x0 - left), 0)] += height
        steps[min(int(item.x1 - left) + 1, len(steps) - 1)] -= height
    cover = list(accumulate(steps))[:-1]
    limit = 0.6 * max(cover)
    gaps = sorted(_gaps(cover, limit), key=lambda gap: (gap[2], gap[0] - gap[1]))
    for start, end, _depth in gaps[:8]:
        gutter = (left + start, left + end)
        if _parts_text(items, gutter):
            return gutter
    return None


def _gaps(cover: Sequence[int], limit: float) -> list[tuple[int, int, float]]:
    """(start, end, cover) of each local minimum wide enough, in the inner part of the region."""
    found: list[tuple[int, int, float]] = []
    low, high = int(0.15 * len(cover)), int(0.85 * len(cover))
    place = low
    while place < high:
        end = place
        while end < high and abs(cover[end] - cover[place]) < _FINE // 2:
            end += 1
        if cover[place] <= limit and end - place >= _LEAST_GUTTER:
            found.append((place, end, cover[place]))
        place = max(end, place + 1)
    return found


def _parts_text(items: Sequence[Placed], gutter: Gutter) -> bool:
    sides = (
        [item for item in items if item.x1 <= gutter[1]],
        [item for item in items if item.x0 >= gutter[0]],
    )
    if min(map(len, sides)) < _LEAST_LINES or not _overlap(*sides):
        return False
    prose = [_is_running_text(side) for side in sides]
    return all(prose) or (any(prose) and not _on_shared_rows(*sides))


def _overlap(left: Sequence[Placed], right: Sequence[Placed]) -> bool:
    """Columns stand beside each other, not one below the other."""
    top = max(min(item.y0 for item in side) for side in (left, right))
    bottom = min(max(item.y1 for item in side) for side in (left, right))
    heights = [max(i.y1 for i in side) - min(i.y0 for i in side) for side in (left, right)]
    return bottom - top > 0.4 * min(heights)


def _is_running_text(side: Sequence[Placed]) -> bool:
    """Most lines are long, and about as wide as the column."""
    width = max(item.x1 for item in side) - min(item.x0 for item in side)
    wide = sum(item.x1 - item.x0 >= 0.6 * width for item in side)
    lengths = [weight(getattr(item, "text", "")) for item in side]
    return wide >= 0.5 * len(side) and median(lengths) >= 18


def _on_shared_rows(left: Sequence[Placed], right: Sequence[Placed]) -> bool:
    heights = [(item.y0 + item.y1) / 2 for item in left]
    shared = sum(any(abs(height - (item.y0 + item.y1) / 2) < 1.5 for height in heights) for item in right)
    return shared > 0.6 * len(right)
