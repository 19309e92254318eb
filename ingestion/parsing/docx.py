"""Word files by an own walk over their XML: what a reader sees now, in order.

Deleted and hidden text is left out, inserted text counts; text boxes, pictures, charts and diagrams follow the paragraph
they hang on; footnotes and comments become notes after theirs. Headings by style level; in a file without any, by bold,
size and numbering. Files put into the file are attachments.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ingestion.parsing.docx_styles import (
    Numbering,
    Style,
    W,
    is_on,
    list_of,
    number,
    read_numbering,
    read_styles,
    value,
)
from ingestion.parsing.drawings import CHART, DIAGRAM, DIAGRAM_DATA, A, read_chart, read_diagram
from ingestion.parsing.elements import Element, Kind, ParsedDocument, Quality
from ingestion.parsing.embedded import Inside, alternative_text
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source
from ingestion.parsing.formulas import FORMULA, formula_text
from ingestion.parsing.headings import LAST_WORDED_RANK, dense_levels, list_mark, numbered_rank, short_enough
from ingestion.parsing.ooxml import Package, R, children, core_facts
from ingestion.parsing.picture_text import with_picture_text
from ingestion.parsing.prose import cjk_share, collapse
from ingestion.parsing.symbols import symbol
from ingestion.parsing.tables import Cell, read_table

_WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_V = "{urn:schemas-microsoft-com:vml}"
_O = "{urn:schemas-microsoft-com:office:office}"
_GONE = frozenset({f"{W}del", f"{W}moveFrom", f"{W}instrText", f"{W}delText", f"{W}rPr", f"{W}pPr", f"{W}rt"})
_BREAKS = frozenset({f"{W}br", f"{W}cr"})
_UNNUMBERED_RANK = 50
_CAPTION = re.compile(
    r"^(?:[图表]\s?[\d一二三四五六七八九十]+(?:[-.–]\d+)*[\s:：.、]|(?:Figure|Fig\.|Table)\s+\d)",
    re.IGNORECASE,
)
_OF_TABLE = re.compile(r"^(?:表|Table\b)", re.IGNORECASE)
_PAGE_ONLY = re.compile(r"^[\W\d_]*(?:page|of|第|页|共|[\W\d_])*$", re.IGNORECASE)


@dataclass(slots=True)
class _Inline:
    """What the runs of one paragraph hold besides text."""

    parts: list[str] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)  # contents of text boxes
    notes: list[tuple[str, str]] = field(default_factory=list)  # (kind of note, id)
    drawings: list[Any] = field(default_factory=list)
    letters: int = 0
    bold_letters: int = 0
    sizes: Counter[int] = field(default_factory=Counter)


def parse(source: Source) -> ParsedDocument:
    """Read a Word file. Raises Rejected: corrupt, too_large, too_complex."""
    package = Package(source.data, main="word/document.xml")
    root = package.xml(package.main_name)
    body = root.find(f"{W}body") if root is not None else None
    if body is None:
        raise Rejected("corrupt")
    reader = _Reader(package)
    reader.read_blocks(body)
    elements = reader.elements if reader.has_headings else _guessed_headings(reader)
    facts = core_facts(package)
    for relation in package.relations(package.main_name):
        if relation.kind in {"package", "oleObject", "aFChunk"} and not relation.is_external:
            reader.inside.attachment(relation.target)
    document = ParsedDocument(
        media_type="application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        elements=(*_captioned(elements), *reader.remarks_left(), *_margins(package, reader)),
        quality=Quality(pictures=reader.inside.pictures, warnings=reader.inside.warnings),
        title=facts.title or next((e.text for e in elements if e.kind is Kind.TITLE), ""),
        author=facts.author,
        created=facts.created,
        modified=facts.modified,
        parts=tuple(reader.inside.parts.values()),
    )
    return with_picture_text(document, source)


def _captioned(elements: Iterable[Element]) -> Iterator[Element]:
    """A caption below a picture becomes what the picture is known by."""
    waiting: Element | None = None
    for element in elements:
        if waiting is not None and element.kind is Kind.CAPTION and not _OF_TABLE.match(element.text):
            said = [element.text, waiting.text] if waiting.text not in element.text else [element.text]
            yield replace(waiting, text="\n".join(said))
            waiting = None
            continue
        if waiting is not None:
            yield waiting
        waiting = element if element.kind is Kind.IMAGE else None
        if waiting is None:
            yield element
    if waiting is not None:
        yield waiting


def _margins(package: Package, reader: "_Reader") -> Iterator[Element]:
    """Headers and footers, each wording once, without mere page numbers."""
    said: set[str] = set()
    for kind in ("header", "footer"):
        for name in package.related_names(kind):
            root = package.xml(name)
            text = reader.plain_text(root) if root is not None else ""
            if text and text not in said and not _PAGE_ONLY.match(text):
                said.add(text)
                yield Element(kind=Kind.NOTE, text=text)


class _Reader:
    """Walks blocks in order; knows the styles, lists and notes of the file."""

    def __init__(self, package: Package) -> None:
        self.elements: list[Element] = []
        self.inside = Inside(package)
        self.looks: dict[int, tuple[int, bool]] = {}  # (size, bold) of paragraphs by their element's number
        self.sizes: Counter[int] = Counter()
        self.has_headings = False
        self._package = package
        self._begun: _Inline | None = None  # a paragraph that runs on into the next
        self._told: set[str] = set()  # ids of comments that have been read
        self._styles = read_styles(package.related("styles"))
        self._numbering: Numbering = read_numbering(package.related("numbering"))
        self._notes = {
            kind: {node.get(f"{W}id", ""): node for node in root if isinstance(node.tag, str)}
            for kind in ("footnotes", "endnotes", "comments")
            if (root := package.related(kind)) is not None
        }

    def read_blocks(self, container: Any) -> None:
        for node in children(container):
            if node.tag == f"{W}p":
                self._paragraph(node)
            elif node.tag == f"{W}tbl":
                self._table(node)
            elif node.tag not in _GONE:
                self.read_blocks(node)

    def plain_text(self, container: Any) -> str:
        """Text of all paragraphs below a node, a line each."""
        lines = [
            _text(self._inline(node)) for node in container.iter(f"{W}p") if not _inside_box(node, container)
        ]
        return "\n".join(line for line in lines if line)

    # --- paragraphs ---------------------------------------------------------------------------------------------

    def _paragraph(self, node: Any) -> None:
        inline, self._begun = self._begun or _Inline(), None
        self._gather(node, inline)
        if _runs_on(node):
            self._begun = inline
            return
        style = self._styles.get(value(node, f"{W}pPr/{W}pStyle") or "", self._styles.get("", Style()))
        text = _text(inline)
        if text and not style.is_contents:
            self._write(node, text, style, inline)
        for drawing in inline.drawings:
            self._drawing(drawing)
        for box in inline.boxes:
            self.read_blocks(box)
        self._read_notes(inline)

    def _read_notes(self, inline: _Inline) -> None:
        for kind, identity in inline.notes:
            note = self._notes.get(kind, {}).get(identity)
            if kind == "comments":
                self._told.add(identity)
            if note is not None and (said := self.plain_text(note)):
                self.elements.append(Element(kind=Kind.NOTE, text=said))

    def remarks_left(self) -> Iterator[Element]:
        """Comments that no text refers to any more."""
        for identity, note in self._notes.get("comments", {}).items():
            if identity not in self._told and (said := self.plain_text(note)):
                yield Element(kind=Kind.NOTE, text=said)

    def _drawing(self, node: Any) -> None:
        """Pictures, charts and diagrams of one drawing, new or old."""
        main = self._package.main_name
        said = node.find(f".//{_WP}docPr")
        text = alternative_text(said.get("descr"), said.get("title")) if said is not None else ""
        for found in node.iter(f"{A}blip", f"{_V}imagedata", CHART, DIAGRAM):
            if found.tag == CHART:
                chart = read_chart(self._package, self._package.target(main, found.get(f"{R}id")))
                self.elements += [chart] if chart else []
            elif found.tag == DIAGRAM:
                self.elements += read_diagram(
                    self._package, self._package.target(main, found.get(DIAGRAM_DATA))
                )
            else:
                target = self._package.target(main, found.get(f"{R}embed") or found.get(f"{R}id"))
                alt = text or alternative_text(found.get(f"{_O}title"), found.getparent().get("alt"))
                digest = self.inside.picture(target) if target else ""
                if digest or alt:
                    self.elements.append(Element(kind=Kind.IMAGE, text=alt, picture=digest))

    def _write(self, node: Any, text: str, style: Style, inline: _Inline) -> None:
        outline = value(node, f"{W}pPr/{W}outlineLvl")
        level = number(outline, 9) + 1 if outline is not None else style.heading
        listed = list_of(node) or style.numbering
        if 1 <= level <= 9:
            self.has_headings = True
            mark = self._numbering.mark(*listed) if listed else ""
            is_worded = cjk_share(mark) > 0 and not text.startswith(
                mark
            )  # 第三章; figures alone are left to the page
            self._add(Kind.HEADING, collapse(f"{mark} {text}" if is_worded else text), level=level)
        elif style.is_caption or (_CAPTION.match(text) and short_enough(text)):
            self._add(Kind.CAPTION, text)
        elif style.is_title:
            self._add(Kind.TITLE, collapse(text))
        elif listed and listed[0] != "0":
            mark = self._numbering.mark(*listed)
            self._add(Kind.STEP if mark else Kind.LIST_ITEM, f"{mark} {text}".strip(), level=listed[1] + 1)
        elif written := list_mark(text):
            self._look(style, inline)
            self._add(written.kind, written.text, level=1)
        else:
            self._look(style, inline)
            self._add(Kind.PARAGRAPH, text)

    def _look(self, style: Style, inline: _Inline) -> None:
        size = inline.sizes.most_common(1)[0][0] if inline.sizes else 0
        bold = inline.letters > 0 and (
            inline.bold_letters == inline.letters or (style.bold and not inline.bold_letters)
        )
        self.looks[len(self.elements)] = (size or style.size, bold)
        self.sizes[size or style.size] += inline.letters

    def _add(self, kind: Kind, text: str, *, level: int = 0) -> None:
        self.elements.append(Element(kind=kind, text=text, level=level))

    def _inline(self, node: Any) -> _Inline:
        inline = _Inline()
        self._gather(node, inline)
        return inline

    def _gather(self, node: Any, inline: _Inline) -> None:
        for child in children(node):
            tag = child.tag
            if tag in _GONE:
                continue
            if tag == f"{W}r":
                if not is_on(child, f"{W}rPr/{W}vanish"):
                    self._run(child, inline)
            elif tag == f"{W}txbxContent":
                inline.boxes.append(child)
            elif tag in _DRAWINGS:
                inline.drawings.append(child)
                self._gather(child, inline)
            elif tag == FORMULA:
                inline.parts.append(formula_text(child))
            else:
                self._gather(child, inline)

    def _run(self, run: Any, inline: _Inline) -> None:
        before = len(inline.parts)
        for child in children(run):
            _run_part(child, inline)
            if child.tag in _DRAWINGS:
                inline.drawings.append(child)
            if child.tag not in _PLAIN_PARTS and child.tag not in _GONE:
                self._gather(child, inline)
        letters = sum(len(part.strip()) for part in inline.parts[before:])
        inline.letters += letters
        if is_on(run, f"{W}rPr/{W}b"):
            inline.bold_letters += letters
        if size := number(value(run, f"{W}rPr/{W}sz")):
            inline.sizes[size] += letters

    # --- tables -------------------------------------------------------------------------------------------------

    def _table(self, node: Any) -> None:
        rows = [row for row in _table_rows(node) if row.find(f"{W}trPr/{W}del") is None]
        cells = [list(_row_cells(row)) for row in rows]
        if max((len(row) for row in cells), default=0) < 2:  # a frame around text
            for row in cells:
                for cell in row:
                    self.read_blocks(cell)
            return
        marked = 0
        while marked < len(rows) and is_on(rows[marked], f"{W}trPr/{W}tblHeader"):
            marked += 1
        grid = _with_spans(
            [[self._cell(cell) for cell in row] for row in cells], [_skipped_columns(row) for row in rows]
        )
        if table := read_table(grid, header_rows=marked if 0 < marked < len(rows) else None):
            self.elements.append(table)
        for row in cells:
            for cell in row:
                self._cell_extras(cell)

    def _cell(self, node: Any) -> tuple[Cell, str]:
        """A cell and its part in a vertical merge: "", "restart" or "continue"."""
        merge = value(node, f"{W}tcPr/{W}vMerge")
        width = max(number(value(node, f"{W}tcPr/{W}gridSpan"), 1), 1)
        return Cell(text=self._cell_text(node), colspan=width), "" if merge is None else merge or "continue"

    def _cell_text(self, node: Any) -> str:
        """Lines of a cell; the rows of a table inside it are lines too."""
        lines: list[str] = []
        for child in children(node):
            if child.tag == f"{W}p":
                inline = self._inline(child)
                listed = list_of(child)
                mark = self._numbering.mark(*listed) if listed and listed[0] != "0" else ""
                lines.append(f"{mark} {_text(inline)}".strip())
                lines.extend(self._cell_text(box) for box in inline.boxes)
            elif child.tag == f"{W}tbl":
                for row in _table_rows(child):
                    lines.append(
                        " | ".join(self._cell_text(cell).replace("\n", " ") for cell in _row_cells(row))
                    )
            elif child.tag not in _GONE:
                lines.append(self._cell_text(child))
        return "\n".join(line for line in lines if line)

    def _cell_extras(self, cell: Any) -> None:
        """Pictures and notes in a cell stand after its table."""
        for node in cell.iter(f"{W}p"):
            inline = self._inline(node)
            for drawing in inline.drawings:
                self._drawing(drawing)
            self._read_notes(inline)


# An object of another program (w:object) shows a picture of itself: the object is kept, its picture is not.
_DRAWINGS = frozenset({f"{W}drawing", f"{W}pict"})
_NOTE_KINDS = {
    f"{W}footnoteReference": "footnotes",
    f"{W}endnoteReference": "endnotes",
    f"{W}commentReference": "comments",
}
_PLAIN_PARTS = frozenset({f"{W}t", f"{W}tab", f"{W}noBreakHyphen", f"{W}sym", *_BREAKS, *_NOTE_KINDS})


def _run_part(child: Any, inline: _Inline) -> None:
    tag = child.tag
    if tag == f"{W}t":
        inline.parts.append(child.text or "")
    elif tag == f"{W}tab":
        inline.parts.append(" ")
    elif tag in _BREAKS:
        inline.parts.append("\n")
    elif tag == f"{W}noBreakHyphen":
        inline.parts.append("-")
    elif tag == f"{W}sym":
        inline.parts.append(symbol(child.get(f"{W}font", ""), child.get(f"{W}char", "")))
    elif tag in _NOTE_KINDS:
        inline.notes.append((_NOTE_KINDS[tag], child.get(f"{W}id", "")))


def _runs_on(node: Any) -> bool:
    """The end of the paragraph was deleted: what follows belongs to it."""
    following = node.getnext()
    is_gone = any(node.find(f"{W}pPr/{W}rPr/{W}{name}") is not None for name in ("del", "moveFrom"))
    return is_gone and following is not None and following.tag == f"{W}p"


def _inside_box(node: Any, container: Any) -> bool:
    """In a text box below the container: its paragraph reports it."""
    return any(parent.tag == f"{W}txbxContent" for parent in node.iterancestors() if parent is not container)


def _text(inline: _Inline) -> str:
    lines = (collapse(line) for line in "".join(inline.parts).split("\n"))
    return "\n".join(line for line in lines if line)


def _table_rows(table: Any) -> Iterator[Any]:
    for child in children(table):
        if child.tag == f"{W}tr":
            yield child
        elif child.tag in {f"{W}sdt", f"{W}sdtContent", f"{W}customXml", f"{W}ins"}:
            yield from _table_rows(child)


def _row_cells(row: Any) -> Iterator[Any]:
    for child in children(row):
        if child.tag == f"{W}tc":
            yield child
        elif child.tag in {f"{W}sdt", f"{W}sdtContent", f"{W}customXml"}:
            yield from _row_cells(child)


def _skipped_columns(row: Any) -> int:
    return max(number(value(row, f"{W}trPr/{W}gridBefore")), 0)


def _with_spans(rows: list[list[tuple[Cell, str]]], skipped: list[int]) -> list[list[Cell]]:
    """Cells that continue a vertical merge go; the cell that began it gets their rows."""
    grid: list[list[Cell]] = []
    begun: dict[int, tuple[int, int]] = {}  # column -> row and place of the cell that began the merge
    for line, row in enumerate(rows):
        cells: list[Cell] = [Cell(text="", colspan=skipped[line])] if skipped[line] else []
        column = skipped[line]
        for cell, merge in row:
            if merge == "continue" and column in begun:
                start, place = begun[column]
                first = grid[start][place]
                grid[start][place] = replace(first, rowspan=line - start + 1)
            else:
                begun.pop(column, None)
                if merge == "restart":
                    begun[column] = (line, len(cells))
                cells.append(cell)
            column += cell.colspan
        grid.append(cells)
    return grid


def _guessed_headings(reader: _Reader) -> list[Element]:
    """Short paragraphs in bold or larger type, or numbered like 第一章 or 一、, in a file without heading styles."""
    body = reader.sizes.most_common(1)[0][0] if reader.sizes else 0
    total = sum(reader.sizes.values())
    elements = list(reader.elements)
    bold_letters = sum(len(elements[n].text) for n, (_size, bold) in reader.looks.items() if bold)
    bold_counts = bold_letters < 0.5 * total
    keys: dict[int, tuple[int, int]] = {}
    for place, (size, bold) in reader.looks.items():
        text = elements[place].text
        rank = numbered_rank(text)
        stands_out = (bold and bold_counts) or size >= body + 3
        is_item = elements[place].kind is not Kind.PARAGRAPH
        if short_enough(text) and (
            (stands_out and not (is_item and not rank)) or 0 < rank <= LAST_WORDED_RANK
        ):
            keys[place] = (-size, rank or _UNNUMBERED_RANK)
    levels = {key: level for level, key in enumerate(sorted(set(keys.values())), start=1)}
    for place, key in keys.items():
        elements[place] = Element(kind=Kind.HEADING, text=collapse(elements[place].text), level=levels[key])
    return dense_levels(elements)
