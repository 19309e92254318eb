"""The sheets of an Excel file, row by row from the XML: values in their formats, merged cells, what hangs on the sheet.

Only what is there is read: a sheet of two cells at its far corners costs two cells. Styles that are damaged, or that no
program should have written, cost the formats of numbers and nothing else.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from lxml import etree

from ingestion.parsing.drawings import CHART, A, read_chart, text_of
from ingestion.parsing.elements import Element, Kind
from ingestion.parsing.embedded import Inside, alternative_text
from ingestion.parsing.errors import Rejected
from ingestion.parsing.grids import Row, Span
from ingestion.parsing.number_formats import BUILT_IN, shown
from ingestion.parsing.ooxml import Package, R, children, xml_verdict
from ingestion.parsing.prose import collapse_lines
from ingestion.parsing.sheets import MAX_SHEETS, Budget, Sheet, Workbook, cell_text

_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_XDR = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_CELL = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_IMAGE_CELL = re.compile(r"DISPIMG\(\"([^\"]+)\"", re.IGNORECASE)
_MAX_SPANS = 200_000
_MAX_NESTED = 60
_MOST_NAMED_FORMULA = 200


def read_workbook(package: Package, inside: Inside, progress: Callable[[int, int], None]) -> Workbook:
    """All sheets in their order; progress is told of each. Raises Rejected: corrupt, too_large, too_complex."""
    root = package.xml(package.main_name)
    if root is None:
        raise Rejected("corrupt")
    reader = _Reader(package=package, inside=inside, workbook=Workbook())
    nodes = list(root.iter(f"{_S}sheet"))
    if len(nodes) > MAX_SHEETS:
        raise Rejected("too_large", limit=f"{MAX_SHEETS} sheets")
    properties = root.find(f"{_S}workbookPr")
    reader.since_1904 = properties is not None and properties.get("date1904") in {"1", "true"}
    reader.read_strings()
    reader.read_styles()
    progress(0, len(nodes))
    for done, node in enumerate(nodes, start=1):
        part = package.target(package.main_name, node.get(f"{R}id"))
        sheet = Sheet(name=node.get("name", ""), is_hidden=node.get("state", "visible") != "visible")
        reader.workbook.sheets.append(sheet)
        reader.read_sheet(sheet, part)
        progress(done, len(nodes))
    return reader.workbook


@dataclass(slots=True, kw_only=True)
class _Reader:
    package: Package
    inside: Inside
    workbook: Workbook
    since_1904: bool = False
    _strings: list[str] = field(default_factory=list)
    _formats: list[str] = field(default_factory=list)
    _bold: list[bool] = field(default_factory=list)  # by style, as the formats
    _budget: Budget = field(default_factory=Budget)
    _cell_pictures: dict[str, tuple[str, str]] | None = None  # name -> part, description

    def read_strings(self) -> None:
        name = next(iter(self.package.related_names("sharedStrings")), "")
        if self.package.has(name):
            for node in self._nodes(name, "si"):
                self._strings.append(_string(node))

    def read_styles(self) -> None:
        try:
            root = self.package.related("styles")
        except Rejected:
            self.workbook.warnings.append("formats_lost")
            return
        if root is None:
            return
        own = {node.get("numFmtId", ""): node.get("formatCode", "") for node in root.iter(f"{_S}numFmt")}
        fonts = root.find(f"{_S}fonts")
        is_bold = [node.find(f"{_S}b") is not None for node in (fonts if fonts is not None else ())]
        styles = root.find(f"{_S}cellXfs")
        for node in styles.iter(f"{_S}xf") if styles is not None else ():
            identity = node.get("numFmtId", "0")
            code = own.get(identity) or BUILT_IN.get(int(identity) if identity.isdigit() else 0, "General")
            self._formats.append(code)
            font = node.get("fontId", "0")
            self._bold.append(font.isdigit() and int(font) < len(is_bold) and is_bold[int(font)])

    def read_sheet(self, sheet: Sheet, part: str) -> None:
        """Cells first, then what hangs on the sheet. A damaged sheet keeps what came before the damage."""
        self._budget.begin_sheet()
        if not self.package.has(part):
            sheet.has_failed = True
            return
        pictures: list[str] = []
        spans: list[Span] = []
        try:
            for node in self._nodes(part, "row", "mergeCell"):
                if node.tag.endswith("}row"):
                    self._row(sheet, node, pictures)
                elif len(spans) < _MAX_SPANS and (span := _span(node.get("ref", ""))):
                    spans.append(span)
        except Rejected as verdict:
            if verdict.code != "corrupt":
                raise
            sheet.has_failed = True
        if list(sheet.rows) != sorted(sheet.rows):
            sheet.rows = dict(sorted(sheet.rows.items()))
        sheet.spans = [span for span in spans if sheet.rows.get(span[0], {}).get(span[1])]
        sheet.extras += [*self._pictures_in_cells(pictures), *self._drawings(part), *self._remarks(part)]
        for relation in self.package.relations(part):
            if relation.kind in {"package", "oleObject"} and not relation.is_external:
                self.inside.attachment(relation.target)

    def _nodes(self, name: str, *tags: str) -> Iterator[Any]:
        """Nodes of these names as they end, each forgotten after its use."""
        wanted = [f"{{*}}{tag}" for tag in tags]
        with self.package.stream(name) as part:
            try:
                for _event, node in etree.iterparse(part, events=("end",), tag=wanted, resolve_entities=False, no_network=True, remove_comments=True):  # fmt: skip
                    yield node
                    node.clear()
                    while node.getprevious() is not None:
                        del node.getparent()[0]
            except etree.XMLSyntaxError as error:
                raise xml_verdict(error) from error

    # --- cells ----------------------------------------------------------------------------------------------------

    def _row(self, sheet: Sheet, node: Any, pictures: list[str]) -> None:
        said = node.get("r", "")
        line = int(said) - 1 if said.isdigit() and len(said) < 9 else max(sheet.rows, default=-1) + 1
        row: Row = {}
        column = -1
        is_bold = True
        tags = _tags(node.tag)
        for cell in node:
            place = cell.get("r")
            column += 1
            if place and place != f"{_name(column)}{said}":
                column = _column(place)
            text = self._text(cell, tags)
            if text and "DISPIMG(" in text and (found := _IMAGE_CELL.search(text)):
                pictures.append(found[1])
                text = ""
            if text:
                row[column] = text
                is_bold = is_bold and self._is_bold(cell.get("s"))
        if row:
            self._budget.take(row)
            if is_bold:
                sheet.bold.add(line)
            sheet.rows[line] = row

    def _text(self, cell: Any, tags: tuple[str, str, str]) -> str:
        value = formula = ""
        for child in cell:
            tag = child.tag
            if tag == tags[0]:
                value = child.text or ""
            elif tag == tags[1]:
                formula = child.text or " "
            elif tag == tags[2]:
                return _string(child)
        if not value and not formula:
            return ""
        kind = cell.get("t", "n")
        if kind == "s":
            place = int(value) if value.isdigit() else -1
            return self._strings[place] if 0 <= place < len(self._strings) else ""
        if not value:
            return self._unsolved(formula) if formula.strip() else ""
        if kind == "n":
            return shown(value, self._code(cell.get("s")), since_1904=self.since_1904)
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        return (
            cell_text(_unescaped(value)) if kind != "d" else value.replace("T", " ").removesuffix(" 00:00:00")
        )

    def _unsolved(self, formula: str) -> str:
        self.workbook.formulas += 1
        return f"={formula[:_MOST_NAMED_FORMULA]}"

    def _is_bold(self, style: str | None) -> bool:
        place = int(style) if style and style.isdigit() else 0
        return place < len(self._bold) and self._bold[place]

    def _code(self, style: str | None) -> str:
        place = int(style) if style and style.isdigit() else 0
        return self._formats[place] if place < len(self._formats) else "General"

    # --- beside the cells -----------------------------------------------------------------------------------------

    def _pictures_in_cells(self, names: list[str]) -> Iterator[Element]:
        """Pictures that a formula of WPS puts into a cell."""
        if names and self._cell_pictures is None:
            self._cell_pictures = dict(self._named_pictures())
        for name in names:
            target, text = (self._cell_pictures or {}).get(name, ("", ""))
            digest = self.inside.picture(target) if target else ""
            if digest or text:
                yield Element(kind=Kind.IMAGE, text=text, picture=digest)

    def _named_pictures(self) -> Iterator[tuple[str, tuple[str, str]]]:
        for relation in self.package.relations(self.package.main_name):
            if relation.kind.lower() != "cellimage" or (root := self.package.xml(relation.target)) is None:
                continue
            for picture in root.iter(f"{_XDR}pic"):
                said, blip = picture.find(f".//{_XDR}cNvPr"), picture.find(f".//{A}blip")
                if said is not None and blip is not None:
                    target = self.package.target(relation.target, blip.get(f"{R}embed"))
                    yield said.get("name", ""), (target, alternative_text(said.get("descr")))

    def _drawings(self, part: str) -> Iterator[Element]:
        """Text boxes, charts and pictures that lie on the sheet."""
        for relation in self.package.relations(part):
            if relation.kind != "drawing" or (root := self._xml(relation.target)) is None:
                continue
            for node in _drawn(root):
                if node.tag == CHART:
                    chart = read_chart(self.package, self.package.target(relation.target, node.get(f"{R}id")))
                    if chart:
                        yield chart
                elif node.tag == f"{_XDR}sp":
                    if text := text_of(node.find(f"{_XDR}txBody")):
                        yield Element(kind=Kind.PARAGRAPH, text=text)
                else:
                    yield from self._picture(relation.target, node)

    def _picture(self, drawing: str, node: Any) -> Iterator[Element]:
        said = node.find(f".//{_XDR}cNvPr")
        text = alternative_text(said.get("descr"), said.get("title")) if said is not None else ""
        for blip in node.iter(f"{A}blip"):
            target = self.package.target(drawing, blip.get(f"{R}embed"))
            digest = self.inside.picture(target) if target else ""
            if digest or text:
                yield Element(kind=Kind.IMAGE, text=text, picture=digest)

    def _remarks(self, part: str) -> Iterator[Element]:
        """Comments and notes with their cell; of a thread its own words, not the stand-in for older programs."""
        relations = self.package.relations(part)
        threads: set[str] = set()
        for kind, name in (("threadedComment", "threadedComment"), ("comments", "comment")):
            for relation in relations:
                root = self._xml(relation.target) if relation.kind == kind else None
                for node in root.iter(f"{{*}}{name}") if root is not None else ():
                    place = node.get("ref", "")
                    if kind == "comments" and place in threads:
                        continue
                    texts = (t.text or "" for t in node.iter("{*}t", "{*}text"))
                    if text := collapse_lines("".join(texts)):
                        yield Element(kind=Kind.NOTE, text=f"{place}: {text}")
                    threads |= {place} if kind == "threadedComment" else set()

    def _xml(self, name: str) -> Any:
        try:
            return self.package.xml(name)
        except Rejected as verdict:
            if verdict.code != "corrupt":
                raise
            return None


def _drawn(node: Any, depth: int = 0) -> Iterator[Any]:
    """Shapes, pictures and charts in order, of alternatives the first."""
    for child in children(node) if depth < _MAX_NESTED else ():
        if child.tag in {f"{_XDR}sp", f"{_XDR}pic", CHART}:
            yield child
        else:
            yield from _drawn(child, depth + 1)


def _string(node: Any) -> str:
    """Text of a plain or rich string, without the readings that Japanese files put above it."""
    parts: list[str] = []
    for child in node:
        name = child.tag.rpartition("}")[2]
        if name == "t":
            parts.append(child.text or "")
        elif name == "r":
            parts += [t.text or "" for t in child if t.tag.endswith("}t")]
    return cell_text(_unescaped("".join(parts)))


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


@lru_cache(maxsize=4)
def _tags(row: str) -> tuple[str, str, str]:
    """Names of value, formula and inline string in the namespace of the row."""
    space = row.removesuffix("row")
    return f"{space}v", f"{space}f", f"{space}is"


@lru_cache(maxsize=20_000)
def _name(column: int) -> str:
    """A, B … Z, AA …"""
    name, column = "", column + 1
    while column:
        column, letter = divmod(column - 1, 26)
        name = chr(65 + letter) + name
    return name


@lru_cache(maxsize=20_000)
def _letters(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


def _column(place: str) -> int:
    return _letters(place.rstrip("0123456789").lstrip("$")[:3].upper())


def _span(reference: str) -> Span | None:
    places = _CELL.findall(reference.replace("$", ""))
    if len(places) != 2:
        return None
    (left, top), (right, bottom) = places
    return int(top) - 1, _letters(left), int(bottom) - 1, _letters(right)
