"""PowerPoint files by an own walk over their XML: slide by slide, the page of each element being its slide's number.

The title of a slide is its heading; lists keep their depth and numbers, groups are walked into, tables and charts become
tables, diagrams lists; notes and comments follow their slide. What is the same on every slide (a footer) is said once.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ingestion.parsing.drawings import (
    CHART,
    DIAGRAM,
    DIAGRAM_DATA,
    A,
    paragraph_text,
    read_chart,
    read_diagram,
    text_of,
)
from ingestion.parsing.elements import Element, Kind, ParsedDocument, Quality
from ingestion.parsing.embedded import Inside, alternative_text
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source
from ingestion.parsing.headings import list_mark, short_enough
from ingestion.parsing.numerals import spelled
from ingestion.parsing.ooxml import MC, Package, R, children, core_facts
from ingestion.parsing.picture_text import with_picture_text
from ingestion.parsing.pptx_order import as_seen
from ingestion.parsing.prose import cjk_share, collapse
from ingestion.parsing.tables import Cell, read_table

_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_MAX_SLIDES = 2_000
_MAX_DEPTH = 60
_MOST_NAMED = 30
_TITLES = frozenset({"title", "ctrTitle"})
_BODIES = frozenset({"body", "obj", ""})
_RUNNING = frozenset({"ftr", "dt", "hdr"})
_NO_TEXT = frozenset({"sldNum", "sldImg"})
# The first letters of an automatic numbering's name, and the digits they stand for.
_DIGITS = (
    ("alphaLc", "lowerLetter"),
    ("alphaUc", "upperLetter"),
    ("romanLc", "lowerRoman"),
    ("romanUc", "upperRoman"),
    ("ea1", "chineseCounting"),
)


def parse(source: Source) -> ParsedDocument:
    """Read a PowerPoint file. Raises Rejected: corrupt, too_large, too_complex."""
    package = Package(source.data, main="ppt/presentation.xml")
    if package.xml(package.main_name) is None:
        raise Rejected("corrupt")
    deck = _Deck(package)
    names = deck.slide_names()
    source.progress(0, len(names))
    for number, name in enumerate(names, start=1):
        deck.read_slide(number, name)
        if number % 20 == 0:
            source.progress(number, len(names))
    facts = core_facts(package)
    written: Counter[int] = Counter()
    for element in deck.elements:
        written[element.page or 0] += len(element.text)
    counts = tuple(written[number] for number in range(1, len(names) + 1))
    document = ParsedDocument(
        media_type="application/vnd.openxmlformats-officedocument.presentationml.presentation",
        elements=tuple(deck.elements),
        quality=Quality(
            pages=len(names),
            pages_with_text=sum(count > 0 for count in counts),
            page_characters=counts,
            pictures=deck.inside.pictures,
            warnings=(*deck.warnings(), *deck.inside.warnings),
        ),
        title=facts.title or next((e.text for e in deck.elements if e.kind is Kind.TITLE), ""),
        author=facts.author,
        created=facts.created,
        modified=facts.modified,
        parts=tuple(deck.inside.parts.values()),
    )
    return with_picture_text(document, source)


class _Deck:
    """All slides in order. `elements` grows slide by slide."""

    def __init__(self, package: Package) -> None:
        self.elements: list[Element] = []
        self.inside = Inside(package)
        self._package = package
        self._hidden: list[int] = []
        self._failed: list[int] = []
        self._said: set[str] = set()  # running texts and pictures that have been read
        self._layouts: dict[str, _Layout] = {}

    def slide_names(self) -> list[str]:
        """Part names in the order of the presentation; of a file whose list is lost, in the order of their numbers."""
        root = self._package.xml(self._package.main_name)
        listed = [
            self._package.target(self._package.main_name, node.get(f"{R}id"))
            for node in root.iter(f"{_P}sldId")
        ]
        names = [name for name in listed if self._package.has(name)]
        if not names:
            loose = [
                n for n in self._package.names if n.startswith("ppt/slides/slide") and n.endswith(".xml")
            ]
            names = sorted(loose, key=lambda name: (len(name), name))
        if len(names) > _MAX_SLIDES:
            raise Rejected("too_large", limit=f"{_MAX_SLIDES} slides")
        return names

    def read_slide(self, number: int, name: str) -> None:
        try:
            root = self._package.xml(name)
        except Rejected as verdict:
            if verdict.code != "corrupt":
                raise
            root = None
        tree = root.find(f"{_P}cSld/{_P}spTree") if root is not None else None
        if tree is None:
            self._failed.append(number)
            return
        if root.get("show") in {"0", "false"}:
            self._hidden.append(number)
        slide = _Slide(package=self._package, inside=self.inside, name=name, layout=self._layout_of(name))
        slide.read(tree)
        found = [*_titled(slide, number), *self._running(slide), *self._notes(name), *self._comments(name)]
        self.elements += [replace(element, page=number) for element in found if self._is_new(element)]

    def warnings(self) -> Iterator[str]:
        for code, numbers in (("slides_hidden", self._hidden), ("pages_failed", self._failed)):
            if numbers:
                more = "…" if len(numbers) > _MOST_NAMED else ""
                yield f"{code}:{', '.join(map(str, numbers[:_MOST_NAMED]))}{more}"

    def _is_new(self, element: Element) -> bool:
        """A picture that stands on every slide is shown on the first."""
        if element.kind is not Kind.IMAGE or not element.picture:
            return True
        key = f"{element.picture} {element.text}"
        is_new = key not in self._said
        self._said.add(key)
        return is_new

    def _running(self, slide: "_Slide") -> Iterator[Element]:
        for text in slide.running:
            if text not in self._said:
                self._said.add(text)
                yield Element(kind=Kind.NOTE, text=text)

    def _notes(self, name: str) -> Iterator[Element]:
        for relation in self._package.relations(name):
            if relation.kind != "notesSlide" or (root := self._package.xml(relation.target)) is None:
                continue
            for shape in root.iter(f"{_P}sp"):
                if _placeholder(shape) in _BODIES and (text := text_of(shape.find(f"{_P}txBody"))):
                    yield Element(kind=Kind.NOTE, text=text)

    def _comments(self, name: str) -> Iterator[Element]:
        """Remarks of either generation; answers to them too."""
        for relation in self._package.relations(name):
            if relation.kind != "comments" or (root := self._package.xml(relation.target)) is None:
                continue
            for node in root.iter():
                tag = node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""
                text = (
                    text_of(node) if tag == "txBody" else collapse(node.text or "") if tag == "text" else ""
                )
                if text:
                    yield Element(kind=Kind.NOTE, text=text)

    def _layout_of(self, name: str) -> "_Layout":
        layout = next((r.target for r in self._package.relations(name) if r.kind == "slideLayout"), "")
        if layout not in self._layouts:
            self._layouts[layout] = _read_layout(self._package, layout)
        return self._layouts[layout]


def _titled(slide: "_Slide", number: int) -> Iterator[Element]:
    """The heading first: the title, else the first short line, else the slide's number, so that nothing stands under
    the heading of the slide before."""
    found = list(slide.elements)
    if not found and not slide.title:
        return
    title = slide.title
    if not title:
        first = next((e for e in found if e.kind is Kind.PARAGRAPH), None)
        if first is not None and short_enough(first.text) and len(found) > 1:
            title = first.text
            found.remove(first)
    if number == 1 and slide.is_cover and title:
        yield Element(kind=Kind.TITLE, text=title)
    else:
        yield Element(kind=Kind.HEADING, text=collapse(title) or _numbered(number, found), level=1)
    yield from found


def _numbered(number: int, found: list[Element]) -> str:
    is_chinese = cjk_share("".join(element.text for element in found)) > 0.3
    return f"幻灯片 {number}" if is_chinese else f"Slide {number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """What a slide inherits: which levels of which placeholder have bullets."""

    bullets: dict[str, dict[int, bool]] = field(default_factory=dict)

    def has_bullet(self, keys: tuple[str, ...], level: int) -> bool | None:
        for key in keys:
            if (said := self.bullets.get(key, {}).get(level)) is not None:
                return said
        return None


def _read_layout(package: Package, name: str) -> _Layout:
    bullets: dict[str, dict[int, bool]] = {}
    master = next((r.target for r in package.relations(name) if r.kind == "slideMaster"), "") if name else ""
    for part in (master, name):
        try:
            root = package.xml(part) if part else None
        except Rejected:
            root = None
        if root is None:
            continue
        if (style := root.find(f"{_P}txStyles/{_P}bodyStyle")) is not None:
            bullets["body"] = _levels(style)
        for shape in root.iter(f"{_P}sp"):
            node = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
            style = shape.find(f"{_P}txBody/{A}lstStyle")
            if node is not None and style is not None and (levels := _levels(style)):
                bullets[f"#{node.get('idx', '0')}"] = levels
    return _Layout(bullets=bullets)


def _levels(style: Any) -> dict[int, bool]:
    """Which levels 0..8 say that they have a bullet or number, or none."""
    found = {}
    for level in range(9):
        said = _bulleted(style.find(f"{A}lvl{level + 1}pPr"))
        if said is not None:
            found[level] = said
    return found


def _bulleted(properties: Any) -> bool | None:
    if properties is None:
        return None
    if properties.find(f"{A}buNone") is not None:
        return False
    has_mark = any(properties.find(f"{A}{name}") is not None for name in ("buChar", "buAutoNum", "buBlip"))
    return True if has_mark else None


def _placeholder(shape: Any) -> str | None:
    """The type of a placeholder, "" for one of no type, None for a shape that is none."""
    node = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
    return None if node is None else node.get("type", "")


@dataclass(slots=True, kw_only=True)
class _Slide:
    """Walks the shapes of one slide."""

    package: Package
    inside: Inside
    name: str
    layout: _Layout
    title: str = ""
    is_cover: bool = False
    elements: list[Element] = field(default_factory=list)
    running: list[str] = field(default_factory=list)

    def read(self, tree: Any, depth: int = 0) -> None:
        if depth > _MAX_DEPTH:
            raise Rejected("too_complex", limit=f"{_MAX_DEPTH} groups in groups")
        for node in as_seen(list(children(tree))) if depth == 0 else children(tree):
            if _is_hidden(node):
                continue
            if node.tag == f"{_P}sp":
                self._shape(node)
            elif node.tag == f"{_P}graphicFrame":
                self._frame(node)
            elif node.tag == f"{_P}pic":
                self._picture(node)
            elif node.tag in {f"{_P}grpSp", f"{MC}Choice", f"{MC}AlternateContent", f"{MC}Fallback"}:
                self.read(node, depth + 1)

    def _shape(self, shape: Any) -> None:
        role = _placeholder(shape)
        body = shape.find(f"{_P}txBody")
        if role in _NO_TEXT:
            return
        if role in _RUNNING:
            self.running += [text] if (text := text_of(body)) else []
            return
        if role in _TITLES and not self.title and (text := text_of(body)):
            self.title, self.is_cover = text, role == "ctrTitle"
            return
        if body is not None:
            self._text(body, shape, is_body=role in _BODIES)
        self._fill(shape)

    def _text(self, body: Any, shape: Any, *, is_body: bool) -> None:
        node = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
        keys = (f"#{node.get('idx', '0')}", "body") if node is not None and is_body else ()
        own = body.find(f"{A}lstStyle")
        levels = _levels(own) if own is not None else {}
        count = _Counting()
        paragraphs = [(p, paragraph_text(p)) for p in body.findall(f"{A}p")]
        is_alone = sum(bool(text) for _p, text in paragraphs) == 1
        for paragraph, text in paragraphs:
            if not text:
                continue
            properties = paragraph.find(f"{A}pPr")
            level = _level(properties)
            listed = _bulleted(properties)
            if listed is None:
                listed = levels.get(level)
            if listed is None:
                inherited = self.layout.has_bullet(keys, level)
                listed = (is_body if inherited is None else inherited) and not is_alone
            self.elements.append(count.element(properties, text, level=level, is_listed=listed))

    def _frame(self, frame: Any) -> None:
        for node in frame.iter(f"{A}tbl", CHART, DIAGRAM, f"{_P}oleObj"):
            if node.tag == f"{A}tbl":
                self._table(node)
            elif node.tag == CHART:
                chart = read_chart(self.package, self.package.target(self.name, node.get(f"{R}id")))
                self.elements += [chart] if chart else []
            elif node.tag == DIAGRAM:
                self.elements += read_diagram(
                    self.package, self.package.target(self.name, node.get(DIAGRAM_DATA))
                )
            elif target := self.package.target(self.name, node.get(f"{R}id")):
                self.inside.attachment(target)

    def _table(self, table: Any) -> None:
        rows = []
        for row in table.findall(f"{A}tr"):
            rows.append(
                [
                    Cell(
                        text=text_of(cell.find(f"{A}txBody")),
                        colspan=_count(cell.get("gridSpan")),
                        rowspan=_count(cell.get("rowSpan")),
                    )
                    for cell in row.findall(f"{A}tc")
                    if cell.get("hMerge") not in {"1", "true"} and cell.get("vMerge") not in {"1", "true"}
                ]
            )
        properties = table.find(f"{A}tblPr")
        is_headed = properties is not None and properties.get("firstRow") in {"1", "true"} and len(rows) > 1
        if element := read_table(rows, header_rows=1 if is_headed else None):
            self.elements.append(element)

    def _picture(self, node: Any) -> None:
        said = node.find(f"{_P}nvPicPr/{_P}cNvPr")
        for blip in node.iter(f"{A}blip"):
            target = self.package.target(self.name, blip.get(f"{R}embed"))
            digest = self.inside.picture(target) if target else ""
            text = alternative_text(said.get("descr"), said.get("title")) if said is not None else ""
            if digest or text:
                self.elements.append(Element(kind=Kind.IMAGE, text=text, picture=digest))

    def _fill(self, shape: Any) -> None:
        """A picture that fills a shape, as placeholders for pictures do."""
        for blip in shape.findall(f"{_P}spPr/{A}blipFill/{A}blip"):
            if target := self.package.target(self.name, blip.get(f"{R}embed")):
                said = shape.find(f"{_P}nvSpPr/{_P}cNvPr")
                text = alternative_text(said.get("descr")) if said is not None else ""
                if digest := self.inside.picture(target):
                    self.elements.append(Element(kind=Kind.IMAGE, text=text, picture=digest))


def _is_hidden(node: Any) -> bool:
    said = next(iter(node.iterfind(f"./*/{_P}cNvPr")), None)
    return said is not None and said.get("hidden") in {"1", "true"}


def _level(properties: Any) -> int:
    said = properties.get("lvl", "0") if properties is not None else "0"
    return min(int(said), 8) if said.isdigit() else 0


def _count(said: str | None) -> int:
    return max(int(said), 1) if said and said.isdigit() and len(said) < 6 else 1


@dataclass(slots=True)
class _Counting:
    """The numbers reached in one text body, by level."""

    reached: dict[int, tuple[str, int]] = field(default_factory=dict)

    def element(self, properties: Any, text: str, *, level: int, is_listed: bool) -> Element:
        numbered = properties.find(f"{A}buAutoNum") if properties is not None else None
        for deeper in [n for n in self.reached if n > level or (n == level and numbered is None)]:
            del self.reached[deeper]
        if numbered is not None and is_listed:
            return Element(kind=Kind.STEP, text=f"{self._mark(numbered, level)} {text}", level=level + 1)
        if is_listed:
            return Element(kind=Kind.LIST_ITEM, text=text, level=level + 1)
        if written := list_mark(text):
            return Element(kind=written.kind, text=written.text, level=level + 1)
        return Element(kind=Kind.PARAGRAPH, text=text)

    def _mark(self, numbered: Any, level: int) -> str:
        scheme = numbered.get("type", "arabicPeriod")
        start = _count(numbered.get("startAt"))
        before, number = self.reached.get(level, ("", 0))
        key = f"{scheme} {start}"
        number = number + 1 if before == key else start
        self.reached[level] = (key, number)
        digits = next((name for head, name in _DIGITS if scheme.startswith(head)), "decimal")
        if scheme.startswith("circleNum") and number <= 20:
            return chr(ord("①") + number - 1)
        shown = spelled(number, digits)
        if scheme.endswith("ParenBoth"):
            return f"({shown})"
        if scheme.endswith("ParenR"):
            return f"{shown})"
        return shown if scheme.endswith("Plain") else f"{shown}."
