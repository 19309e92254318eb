"""What one PDF page holds, in a frame where its text stands upright: lines with font and baseline, ruled grids, form values.

Many pages are stored turned; `to_display` brings a box from the upright frame to the page as a reader sees it.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pymupdf

from ingestion.parsing.elements import PageBox

_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
_WITH_RULES = _FLAGS | pymupdf.TEXT_COLLECT_VECTORS
_VECTOR = 3  # type of a block that is a line or a rectangle
_THIN, _WIDE, _HIGH = 3.0, 20.0, 8.0  # of rules, in points
_BOLD_FONT = re.compile(r"bold|black|heavy|demi|-medi\b|simhei|heiti|黑体|é»\x91ä½\x93", re.IGNORECASE)
_BOLD, _MONO = 16, 8
LEAST_CHARACTERS = 3  # below that a page counts as one without text
_MAX_PATHS = 4_000  # above: a drawing or a map, whose lines are no table
_GARBLED = re.compile("[\ufffd\x00-\x08\x0e-\x1f\ue000-\uf8ff\U000f0000-\U0010ffff]")


@dataclass(slots=True, kw_only=True)
class Line:
    """One run of text on one baseline; coordinates in the upright frame, size in points."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    baseline: float
    size: float
    bold: float = 0.0  # share of its letters
    mono: bool = False
    confidence: float | None = None  # 0..1 where it was recognised in a picture
    is_filled_in: bool = False  # the value of a form field


@dataclass(slots=True, kw_only=True)
class Page:
    """One page read; `grids` are the cell rectangles of ruled tables, `words` fill them."""

    number: int
    width: float
    height: float
    display: tuple[float, float]
    to_display: tuple[float, ...]
    lines: list[Line] = field(default_factory=list)
    asides: list[Line] = field(
        default_factory=list
    )  # runs at an angle to the rest: stamps, margins, axis labels
    grids: list[list[tuple[float, float, float, float]]] = field(default_factory=list)
    words: list[tuple[float, float, float, float, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    has_images: bool = False
    has_pictures: bool = False  # images; on a page without text drawings too
    tables_failed: bool = False

    def box(self, x0: float, y0: float, x1: float, y1: float) -> PageBox:
        """A rectangle of the upright frame as it lies on the displayed page."""
        a, b, c, d, e, f = self.to_display
        width, height = self.display
        xs = (a * x0 + c * y0 + e, a * x1 + c * y1 + e, a * x0 + c * y1 + e, a * x1 + c * y0 + e)
        ys = (b * x0 + d * y0 + f, b * x1 + d * y1 + f, b * x0 + d * y1 + f, b * x1 + d * y0 + f)
        return PageBox(
            page=self.number,
            x0=round(min(max(min(xs), 0.0), width), 1),
            y0=round(min(max(min(ys), 0.0), height), 1),
            x1=round(min(max(max(xs), 0.0), width), 1),
            y1=round(min(max(max(ys), 0.0), height), 1),
            page_width=round(width, 1),
            page_height=round(height, 1),
        )

    @property
    def characters(self) -> int:
        return sum([len(line.text) for line in self.lines]) + sum([len(line.text) for line in self.asides])

    @property
    def garbled(self) -> int:
        return sum(len(_GARBLED.findall(line.text)) for line in self.lines if not line.text.isascii())


def read_page(document: Any, number: int) -> Page:
    """Read page `number` (from 1). Raises what MuPDF raises on a broken page."""
    page = document[number - 1]
    rect = page.rect
    display = (rect.width, rect.height)
    shown = pymupdf.Matrix(1, 1)
    if page.rotation:
        shown = page.rotation_matrix
        page.set_rotation(0)
        rect = page.rect
    raw = page.get_text("dict", flags=_WITH_RULES)
    turn = _upright_turn(raw)
    upright = pymupdf.Matrix(1, 1)
    if turn:
        page.set_rotation(turn)
        upright = page.rotation_matrix
        page.remove_rotation()
        rect = page.rect
        raw = page.get_text("dict", flags=_WITH_RULES)
    back = ~upright
    images = page.get_images()
    result = Page(
        number=number,
        width=rect.width,
        height=rect.height,
        display=display,
        to_display=tuple(back * shown),
        lines=list(_lines(raw)),
        asides=list(_asides(raw)),
        has_images=bool(images),
    )
    entered = _fill_in(page, result)
    result.notes.extend(_remarks(page))
    result.has_pictures = bool(images) or (
        result.characters < LEAST_CHARACTERS and bool(page.get_cdrawings())
    )
    _find_grids(page, result, raw)
    if result.grids:
        result.words = list(_words(page, entered))
    return result


def _upright_turn(raw: dict[str, Any]) -> int:
    """The rotation under which most characters run from left to right: 0, 90, 180 or 270."""
    if all(line["dir"][0] > 0.7 for block in raw["blocks"] for line in block.get("lines", ())):
        return 0
    votes: Counter[int] = Counter()
    for block in raw["blocks"]:
        for line in block.get("lines", ()):
            if line["wmode"]:
                continue
            x, y = line["dir"]
            turn = 0 if x > 0.7 else 180 if x < -0.7 else 90 if y < -0.7 else 270 if y > 0.7 else 0
            votes[turn] += sum(len(span["text"]) for span in line["spans"])
    return votes.most_common(1)[0][0] if votes else 0


def _lines(raw: dict[str, Any]) -> Iterator[Line]:
    for block in raw["blocks"]:
        vertical: list[Line] = []
        for line in block.get("lines", ()):
            text = "".join(span["text"] for span in line["spans"])
            if not text.strip() or not (line["wmode"] or _is_level(line)):
                continue
            if line["wmode"]:
                vertical.append(_line(line, text))
            else:
                yield _line(line, text)
        if vertical:
            yield _stacked(vertical)


def _asides(raw: dict[str, Any]) -> Iterator[Line]:
    for block in raw["blocks"]:
        for line in block.get("lines", ()):
            if line["wmode"] or _is_level(line):
                continue
            text = "".join(span["text"] for span in line["spans"])
            if len(text.strip()) > 1:
                yield _line(line, text)


def _is_level(line: dict[str, Any]) -> bool:
    return bool(line["dir"][0] > 0.9)


def _line(line: dict[str, Any], text: str) -> Line:
    spans = [span for span in line["spans"] if span["text"].strip()]
    main, bold = spans[0], float(_is_bold(spans[0]))
    if len(spans) > 1:
        main = max(spans, key=lambda span: len(span["text"]))
        letters = sum(len(span["text"].strip()) for span in spans)
        bold = sum(len(span["text"].strip()) for span in spans if _is_bold(span)) / letters
    x0, y0, x1, y1 = line["bbox"]
    baseline, size = main["origin"][1], main["size"]
    if y1 - y0 > 1.8 * size and not line["wmode"]:  # fonts with wild ascents would make lines overlap
        y0, y1 = baseline - 0.9 * size, baseline + 0.25 * size
    return Line(
        text=" ".join((text if text.isascii() else text.replace("\u00ad", "-")).split()),
        x0=max(x0, min([span["bbox"][0] for span in spans])),
        y0=y0,
        x1=min(x1, max([span["bbox"][2] for span in spans])),
        y1=y1,
        baseline=baseline,
        size=size,
        bold=bold,
        mono=all(span["flags"] & _MONO for span in spans),
    )


def _is_bold(span: dict[str, Any]) -> bool:
    return bool(span["flags"] & _BOLD) or _is_bold_font(span["font"])


@lru_cache(maxsize=1_000)
def _is_bold_font(name: str) -> bool:
    return bool(_BOLD_FONT.search(name))


def _stacked(lines: list[Line]) -> Line:
    """A column of vertical writing as one line, read from top to bottom."""
    return Line(
        text="".join(line.text for line in lines),
        x0=min(line.x0 for line in lines),
        y0=min(line.y0 for line in lines),
        x1=max(line.x1 for line in lines),
        y1=max(line.y1 for line in lines),
        baseline=min(line.y0 for line in lines) + lines[0].size,
        size=lines[0].size,
    )


def _fill_in(page: Any, result: Page) -> list[Line]:
    """What was entered into form fields: on lines beside their labels, ticks in front of theirs; nothing is said twice."""
    entered: list[Line] = []
    if not (widgets := list(page.widgets() or ())):
        return entered
    printed = result.lines
    result.lines = list(printed)
    for widget in widgets:
        box = widget.rect
        shown = [line for line in printed if box.contains(((line.x0 + line.x1) / 2, (line.y0 + line.y1) / 2))]
        entries = _entries(widget)
        if widget.field_type == pymupdf.PDF_WIDGET_TYPE_TEXT and _squeezed(shown) == _squeezed(entries):
            for line in shown:
                line.size, line.bold, line.is_filled_in = min(line.size, _LARGEST_ENTRY), 0.0, True
            continue
        if entries or widget.field_type in _MARKS:
            result.lines = [line for line in result.lines if not any(line is other for other in shown)]
        lines = list(_entry_lines(entries, box, printed))
        entered.extend(lines)
        label = _ticked(box, printed) if entries == [_TICKED] else None
        if label:
            label.text, label.x0 = f"{_TICKED} {label.text}", min(label.x0, box.x0)
        else:
            result.lines.extend(lines)
    return entered


def _ticked(box: Any, printed: list[Line]) -> Line | None:
    """What stands right behind a box."""
    beside = [
        line
        for line in printed
        if -3 <= line.x0 - box.x1 < 2 * box.width + 8 and line.y0 <= (box.y0 + box.y1) / 2 <= line.y1
    ]
    return min(beside, key=lambda line: line.x0, default=None)


def _entries(widget: Any) -> list[str]:
    """The lines of a field as a reader sees them: the names of what was chosen, a tick in a box."""
    value, kind = widget.field_value, widget.field_type
    if kind in _MARKS:
        return [_TICKED] if value and value != "Off" else []
    if kind not in _WRITTEN:
        return []
    chosen = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
    names = dict(each for each in widget.choice_values or () if isinstance(each, tuple) and len(each) == 2)
    return [line.strip() for each in chosen for line in names.get(each, each).splitlines() if line.strip()]


def _squeezed(texts: list[Line] | list[str]) -> str:
    return "".join("".join((text if isinstance(text, str) else text.text).split()) for text in texts)


def _entry_lines(entries: list[str], box: Any, printed: list[Line]) -> Iterator[Line]:
    size = min(max(box.height * 0.7, 6.0), _LARGEST_ENTRY)
    alone = len(entries) == 1 and box.height < 2.5 * size
    baseline = (box.y0 + box.y1) / 2 + 0.35 * size if alone else box.y0 + size
    if alone:  # on one baseline with its label
        beside = [
            line
            for line in printed
            if abs(line.baseline - baseline) < 0.6 * size and (line.x0 >= box.x1 - 2 or line.x1 <= box.x0 + 2)
        ]
        near = min(beside, key=lambda line: max(line.x0 - box.x1, box.x0 - line.x1), default=None)
        baseline = near.baseline if near else baseline
    for number, text in enumerate(entries):
        at = baseline + number * size * 1.2
        yield Line(text=text, x0=box.x0, y0=at - size, x1=box.x1, y1=at + 0.3 * size, baseline=at, size=size, is_filled_in=True)  # fmt: skip


_MARKS = frozenset({pymupdf.PDF_WIDGET_TYPE_CHECKBOX, pymupdf.PDF_WIDGET_TYPE_RADIOBUTTON})
_WRITTEN = frozenset(
    {pymupdf.PDF_WIDGET_TYPE_TEXT, pymupdf.PDF_WIDGET_TYPE_COMBOBOX, pymupdf.PDF_WIDGET_TYPE_LISTBOX}
)
_TICKED = "☑"
_LARGEST_ENTRY = 11.0


def _remarks(page: Any) -> Iterator[str]:
    """Texts of comments that readers left on the page."""
    for remark in page.annots() or ():
        content = (remark.info or {}).get("content", "").strip()
        if content:
            yield content


def _find_grids(page: Any, result: Page, raw: dict[str, Any]) -> None:
    """Cell rectangles of ruled tables. A failure here costs the tables of this page, not its text."""
    rules = [block["bbox"] for block in raw["blocks"] if block["type"] == _VECTOR]
    if len(rules) > _MAX_PATHS or not result.lines or not _may_frame(rules):
        return
    try:
        found = page.find_tables(use_layout=False, refine=True).tables
        result.grids = [
            [tuple(cell) for cell in table.cells if cell] for table in found if len(table.cells) > 2
        ]
    except MemoryError:
        raise
    except Exception:
        result.tables_failed = True


def _words(page: Any, entered: list[Line]) -> Iterator[tuple[float, float, float, float, str]]:
    """The words printed on the page, and what was entered into its fields in place of what these show."""
    for x0, y0, x1, y1, text, *_rest in page.get_text("words", flags=_FLAGS):
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        if not any(line.x0 <= x <= line.x1 and line.y0 <= y <= line.y1 for line in entered):
            yield x0, y0, x1, y1, text
    yield from ((line.x0, line.y0, line.x1, line.y1, line.text) for line in entered)


def _may_frame(rules: list[tuple[float, float, float, float]]) -> bool:
    """Whether lines of both directions, or boxes, could make up a grid: looking for tables takes ten times the reading."""
    level = sum(y1 - y0 < _THIN and x1 - x0 > _WIDE for x0, y0, x1, y1 in rules)
    upright = sum(x1 - x0 < _THIN and y1 - y0 > _HIGH for x0, y0, x1, y1 in rules)
    boxes = sum(x1 - x0 >= _THIN and y1 - y0 > _HIGH for x0, y0, x1, y1 in rules)
    return boxes > 1 or (level > 1 and upright > 1) or (boxes > 0 and level + upright > 1)
