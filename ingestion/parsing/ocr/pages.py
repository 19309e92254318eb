"""From what a picture of a page says to a Page, so that the same rules make its columns, tables, headings and paragraphs."""

from collections import Counter
from collections.abc import Sequence

from ingestion.parsing.ocr.picture import Affine, Recognised, after, scaled
from ingestion.parsing.pdf_page import Line, Page

_SAME_TYPE = 0.22  # heights of type that differ by less are taken for one: no two lines measure the same
_NEAR_BODY = 0.15
_LEAST_LETTERS = 2
_FEW_LETTERS, _LITTLE_COVER = 16, 0.01


def says_something(read: Recognised) -> bool:
    """More than specks taken for letters: a few characters count where they are what the picture shows."""
    if read.letters < _LEAST_LETTERS:
        return False
    return read.letters >= _FEW_LETTERS or read.cover >= _LITTLE_COVER


def page_of(
    read: Recognised, *, number: int, display: tuple[float, float], shown: Affine, point: float
) -> Page:
    """The page that was recognised.

    shown: brings points of the given picture, in pixels, to the displayed page; point: points to a pixel.
    """
    return Page(
        number=number,
        width=read.width * point,
        height=read.height * point,
        display=display,
        to_display=after(scaled(1 / point), after(read.back, shown)),
        lines=[
            Line(
                text=line.text,
                x0=line.x0 * point,
                y0=line.y0 * point,
                x1=line.x1 * point,
                y1=line.y1 * point,
                baseline=line.baseline * point,
                size=line.size * point,
                confidence=line.confidence,
            )
            for line in read.lines
        ],
        has_pictures=True,
    )


def level_sizes(pages: Sequence[Page]) -> None:
    """Give lines of about one height of type the same size, on a page and over the pages, in place."""
    bodies = {page.number: _body(page.lines) for page in pages if page.lines}
    if not bodies:
        return
    usual = sorted(bodies.values())[len(bodies) // 2]
    for page in pages:
        body = bodies.get(page.number, usual)
        level = usual if abs(body - usual) < _NEAR_BODY * usual else body
        for line in (line for line in page.lines if line.confidence is not None):
            ratio = line.size / body
            near = abs(ratio - 1) < _SAME_TYPE
            line.size = round(level * (1.0 if near else round(ratio * 4) / 4 or 0.25), 2)


def _body(lines: Sequence[Line]) -> float:
    """The median height of type over the letters."""
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    passed, half = 0, sizes.total() / 2
    for size, letters in sorted(sizes.items()):
        passed += letters
        if passed >= half:
            return size
    return 0.0
