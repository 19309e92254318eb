"""HTML by an own walk over lxml's tree: headings, lists, tables with their spans, code, captions.

Left out: scripts, styles, navigation, forms' controls and everything hidden. The nesting depth is counted on the
source before a tree is built, because libxml2 drops deep content without a word.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lxml import etree

from ingestion.parsing.elements import Element, Kind, ParsedDocument, Quality
from ingestion.parsing.encodings import decode
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source
from ingestion.parsing.headings import dense_levels, list_mark, numbered_rank, short_enough
from ingestion.parsing.prose import collapse, collapse_lines
from ingestion.parsing.tables import MAX_SPAN, Cell, read_table

MAX_DEPTH = 500
_META_CHARSET = re.compile(rb"<meta[^>]{0,300}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_NEEDS_CLOSING = "div|span|table|ul|ol|dl|section|article|main|aside|header|footer|nav|blockquote|b|i|u|em|strong|font|a|center|form|fieldset|figure|pre|code|small|big|sub|sup|tt|label|q|s|del|ins|mark|details|summary|object|svg|g|math"
_TAGS = re.compile(rf"<(/?)(?:{_NEEDS_CLOSING}|x-[\w-]+|[a-z]+-[\w-]+)(?=[\s/>])[^<>]*?(/?)>", re.IGNORECASE)

_SKIPPED = frozenset(
    [
        "script",
        "style",
        "noscript",
        "template",
        "head",
        "nav",
        "svg",
        "iframe",
        "object",
        "embed",
        "applet",
        "select",
        "datalist",
        "button",
        "input",
        "textarea",
        "canvas",
        "audio",
        "video",
        "map",
        "dialog",
    ]
)
_BLOCKS = frozenset(
    [
        "html",
        "body",
        "div",
        "section",
        "article",
        "main",
        "aside",
        "header",
        "footer",
        "p",
        "blockquote",
        "center",
        "form",
        "fieldset",
        "figure",
        "figcaption",
        "details",
        "summary",
        "address",
        "hr",
        "dl",
        "dt",
        "dd",
        "tr",
        "td",
        "th",
        "table",
        "tbody",
        "thead",
        "tfoot",
        "caption",
        "hgroup",
        "legend",
        "search",
        "menu",
    ]
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CAPTIONS = frozenset({"figcaption", "caption", "legend"})
_CONTENT = frozenset({"article", "section", "main", "blockquote"})
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_BOLD_STYLE = re.compile(r"font-weight\s*:\s*(bold|[6-9]00)", re.IGNORECASE)
_BLANK_LINE = re.compile(r"\x00\s*\x00")
_BOLD_RANK = 10  # below every numbering
_SKIPPED_ROLES = frozenset({"navigation", "search", "menu", "menubar", "toolbar", "contentinfo"})
_BIG_CELL = 1_200
# (address, description) of an image to its element; None for one that is not kept.
Pictures = Callable[[str, str], Element | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    elements: tuple[Element, ...]
    title: str = ""
    author: str = ""


def parse(source: Source) -> ParsedDocument:
    """Read an HTML file of any encoding. Raises Rejected when it is nested too deep."""
    declared = _META_CHARSET.search(source.data[:4096])
    decoded = decode(source.data, declared=declared[1].decode("ascii", "replace") if declared else "")
    page = read_page(decoded.text)
    return ParsedDocument(
        media_type="text/html",
        elements=page.elements,
        quality=Quality(warnings=("lossy_encoding",) if decoded.lossy else ()),
        title=page.title,
        author=page.author,
        encoding=decoded.encoding,
    )


def read_page(text: str, *, pictures: Pictures | None = None) -> Page:
    """A whole page that has been decoded, with what its head says of it."""
    root = _tree(text)
    if root is None:
        return Page(elements=())
    elements = tuple(_elements(root, pictures))
    return Page(elements=elements, title=_title(root, elements), author=_meta(root, "author"))


def fragment_elements(source: str, *, pictures: Pictures | None = None) -> list[Element]:
    """Elements of a piece of HTML inside another format. pictures: what an image's address and description show."""
    root = _tree(source)
    return _elements(root, pictures) if root is not None else []


def _tree(source: str) -> Any:
    check_depth(source)
    cleaned = source.replace("\x00", "")
    cleaned = re.sub(r"\A\s*<\?xml[^>]*\?>", "", cleaned)  # its encoding no longer holds for decoded text
    if not cleaned.strip():
        return None
    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(cleaned.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:  # nothing but comments or declarations
        return None


def check_depth(source: str) -> None:
    """Raises Rejected when tags that must be closed are nested more than MAX_DEPTH deep."""
    depth = 0
    for match in _TAGS.finditer(source):
        if match[1]:
            depth = max(depth - 1, 0)
        elif not match[2]:
            depth += 1
            if depth > MAX_DEPTH:
                raise Rejected("too_complex", limit=f"nesting depth {MAX_DEPTH}")


def _title(root: Any, elements: tuple[Element, ...]) -> str:
    written = collapse("".join(root.findtext(".//title") or "")) if root is not None else ""
    return written or next((e.text for e in elements if e.kind is Kind.HEADING), "")


def _meta(root: Any, name: str) -> str:
    found = root.find(f".//meta[@name='{name}']") if root is not None else None
    return collapse(found.get("content") or "") if found is not None else ""


def _is_hidden(node: Any) -> bool:
    return (
        node.get("hidden") is not None
        or node.get("aria-hidden") == "true"
        or (node.get("role") or "").lower() in _SKIPPED_ROLES
        or bool(_HIDDEN_STYLE.search(node.get("style") or ""))
    )


def _is_bold(node: Any) -> bool:
    return node.tag in {"b", "strong"} or bool(_BOLD_STYLE.search(node.get("style") or ""))


def _elements(root: Any, pictures: Pictures | None = None) -> list[Element]:
    """Elements of a tree. In a page without any heading tag, short lines in bold throughout are its headings."""
    reader = _Reader(pictures)
    elements = reader.read(root)
    if any(element.kind is Kind.HEADING for element in elements):
        return elements
    for number in reader.bold_lines:
        text = elements[number].text
        elements[number] = Element(kind=Kind.HEADING, text=text, level=numbered_rank(text) or _BOLD_RANK)
    return dense_levels(elements)


class _Reader:
    """One pass over start and end events; running text gathers in a buffer that every block edge empties."""

    def __init__(self, pictures: Pictures | None = None) -> None:
        self.elements: list[Element] = []
        self._pictures = pictures
        self.bold_lines: list[int] = []  # paragraphs that are bold throughout and of a heading's length
        self._buffer: list[str] = []
        self._lists: list[int | None] = []  # next number of an ordered list, None for bullets
        self._marks: list[str | None] = []  # mark of each open item, None once it has been written
        self._heading = 0
        self._caption = 0
        self._pre = 0
        self._content = 0
        self._bold = 0
        self._size = self._bold_size = 0  # characters in the buffer, and those of them in bold

    def read(self, root: Any) -> list[Element]:
        walk = etree.iterwalk(root, events=("start", "end"))
        skipped: set[Any] = set()
        for event, node in walk:
            if not isinstance(node.tag, str):
                continue
            if event == "end":
                if node in skipped:
                    skipped.discard(node)
                else:
                    self._end(node)
                if node is not root:
                    self._text(node.tail)
            elif self._left_out(node) or (node.tag == "table" and self._table(node)):
                walk.skip_subtree()
                skipped.add(node)
            else:
                self._start(node)
        self._flush()
        return self.elements

    def _left_out(self, node: Any) -> bool:
        if node.tag == "footer" and not self._content:
            return True
        return node.tag in _SKIPPED or (node.tag not in {"html", "body"} and _is_hidden(node))

    def _start(self, node: Any) -> None:
        tag = node.tag
        if tag in _HEADINGS:
            self._flush()
            self._heading = _HEADINGS[tag]
        elif tag in {"ul", "ol"}:
            self._flush()
            self._lists.append(_start_number(node) if tag == "ol" else None)
        elif tag == "li":
            self._flush()
            self._open_item()
        elif tag == "pre":
            self._flush()
            self._pre += 1
        elif tag == "br":
            self._buffer.append("\x00")
        elif tag == "img":
            self._image(node)
        elif tag in _BLOCKS:
            self._flush()
            self._caption += tag in _CAPTIONS
            self._content += tag in _CONTENT
        self._bold += _is_bold(node)
        self._text(node.text)

    def _end(self, node: Any) -> None:
        tag = node.tag
        if tag in _HEADINGS:
            self._flush()
            self._heading = 0
        elif tag in {"ul", "ol"}:
            self._flush()
            if self._lists:
                self._lists.pop()
        elif tag == "li":
            self._flush()
            if self._marks:
                self._marks.pop()
        elif tag == "pre":
            self._flush()
            self._pre -= 1
        elif tag in _BLOCKS:
            self._flush()
            self._caption -= tag in _CAPTIONS
            self._content -= tag in _CONTENT
        self._bold -= _is_bold(node)

    def _image(self, node: Any) -> None:
        """A kept picture stands by itself; of another one its description remains."""
        alt = collapse(node.get("alt") or "")
        shown = self._pictures(node.get("src") or "", alt) if self._pictures else None
        if shown is None:
            self._text(f" {alt} ")
        else:
            self._flush()
            self.elements.append(shown)

    def _open_item(self) -> None:
        number = self._lists[-1] if self._lists else None
        self._marks.append("" if number is None else f"{number}. ")
        if number is not None:
            self._lists[-1] = number + 1

    def _text(self, text: str | None) -> None:
        if text:
            self._buffer.append(text)
            size = len(text.strip())
            self._size += size
            self._bold_size += size if self._bold else 0

    def _flush(self) -> None:
        raw, self._buffer = "".join(self._buffer), []
        bold = self._size > 0 and self._bold_size == self._size
        self._size = self._bold_size = 0
        if not raw.strip(" \t\r\n\x00\u00a0"):
            return
        if self._pre:
            self._add(Kind.CODE, raw.replace("\x00", "\n").strip("\r\n").rstrip().expandtabs(4))
            return
        for part in _BLANK_LINE.split(raw):
            text = "\n".join(line for line in map(collapse, part.split("\x00")) if line)
            if text:
                self._flush_text(text, bold=bold)

    def _flush_text(self, text: str, *, bold: bool) -> None:
        if self._heading:
            self._add(Kind.HEADING, collapse(text), level=self._heading)
        elif self._caption:
            self._add(Kind.CAPTION, text)
        elif self._marks and self._marks[-1] is not None:
            mark, self._marks[-1] = self._marks[-1], None
            self._add(Kind.STEP if mark else Kind.LIST_ITEM, mark + text, level=max(len(self._lists), 1))
        else:
            if bold and short_enough(text):
                self.bold_lines.append(len(self.elements))
            self._add(Kind.PARAGRAPH, text)

    def _add(self, kind: Kind, text: str, *, level: int = 0) -> None:
        self.elements.append(Element(kind=kind, text=text, level=level))

    def _table(self, node: Any) -> bool:
        """Write a data table; False for a table that only lays out the page, whose cells are read as blocks."""
        if _lays_out(node):
            return False
        self._flush()
        rows = _rows(node)
        if items := _list_rows(rows):
            self.elements.extend(items)
            return True
        captions = node.findall("caption")
        caption = collapse("".join(captions[0].itertext())) if captions else ""
        if table := read_table(rows, caption=caption):
            self.elements.append(table)
        return True


def _list_rows(rows: list[list[Cell]]) -> list[Element]:
    """A table used to indent: a single row, or a bullet or number before each text."""
    lines = [" ".join(cell.text for cell in row if cell.text) for row in rows]
    lines = [line for line in lines if line]
    marks = [list_mark(line) for line in lines]
    if lines and all(marks) and all(len([cell for cell in row if cell.text]) <= 2 for row in rows):
        return [Element(kind=mark.kind, text=mark.text, level=1) for mark in marks if mark]
    if len(lines) == 1 and not any(cell.is_header for row in rows for cell in row):
        return [Element(kind=Kind.PARAGRAPH, text=lines[0])]
    return []


def _start_number(node: Any) -> int:
    start = node.get("start") or "1"
    return int(start) if re.fullmatch(r"-?\d{1,6}", start) else 1


def _lays_out(node: Any) -> bool:
    if (node.get("role") or "").lower() in {"presentation", "none"}:
        return True
    if node.find(".//table") is not None or any(node.find(f".//{tag}") is not None for tag in _HEADINGS):
        return True
    rows = _rows(node)
    if max((len(row) for row in rows), default=0) < 2:
        return True
    has_headers = any(cell.is_header for row in rows for cell in row)
    return not has_headers and any(len(cell.text) > _BIG_CELL for row in rows for cell in row)


def _rows(node: Any) -> list[list[Cell]]:
    rows = [row for row in node.iter("tr") if not _is_hidden(row)]
    return [
        [_cell(cell) for cell in row if cell.tag in {"td", "th"} and not _is_hidden(cell)] for row in rows
    ]


def _cell(node: Any) -> Cell:
    return Cell(
        text=cell_text(node),
        colspan=_span(node.get("colspan")),
        rowspan=_span(node.get("rowspan")),
        is_header=node.tag == "th" or next(node.iterancestors("thead"), None) is not None,
    )


def cell_text(node: Any) -> str:
    """Text of a table cell, a line for each block in it."""
    parts: list[str] = []
    walk = etree.iterwalk(node, events=("start", "end"))
    for event, child in walk:
        if not isinstance(child.tag, str):
            continue
        if event == "start":
            if child is not node and (child.tag in _SKIPPED or _is_hidden(child)):
                walk.skip_subtree()
                continue
            if child.tag == "br" or child.tag in _BLOCKS or child.tag == "li":
                parts.append("\x00")
            parts.append(child.text or (child.get("alt") or "" if child.tag == "img" else ""))
        else:
            if child.tag in _BLOCKS:
                parts.append("\x00")
            if child is not node:
                parts.append(child.tail or "")
    return collapse_lines("\n".join(map(collapse, "".join(parts).split("\x00"))))


def _span(value: str | None) -> int:
    digits = (value or "").strip()
    return max(1, min(int(digits), MAX_SPAN)) if re.fullmatch(r"\d{1,6}", digits) else 1
