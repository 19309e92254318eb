"""Markdown by markdown-it tokens: headings, nested lists, tables, code; HTML inside goes through the HTML reader.

Front matter becomes properties and never text.
"""

import re
from collections.abc import Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ingestion.parsing.elements import Element, Kind, ParsedDocument, Quality
from ingestion.parsing.encodings import decode
from ingestion.parsing.formats import Source
from ingestion.parsing.prose import collapse, collapse_lines
from ingestion.parsing.tables import Cell, read_table

_MAX_NESTING = 250
_FRONT_MATTER = re.compile(r"\A\ufeff?(---|\+\+\+)[ \t]*\r?\n(.*?)\r?\n\1[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_PROPERTY = re.compile(r"^([A-Za-z_][\w .-]{0,60})\s*[:=]\s*(.*)$")
_ADMONITION = re.compile(r"^:{3,}[ \t]*(.*)$", re.MULTILINE)
_HEADING_ID = re.compile(r"\s*\{#[\w.-]+\}\s*$")
_MARKUP = re.compile(r"<!--.*?-->|<[^>]*>|^\[[^\]\n]+\]:[^\n]*$", re.DOTALL | re.MULTILINE)
_WORD = re.compile(r"[^\W_]")
_TAG = re.compile(r"<[^>]*>")
_LINE_TAG = re.compile(r"<(br|/p|/div|/li)\b[^>]*>", re.IGNORECASE)


def parse(source: Source) -> ParsedDocument:
    """Read a Markdown file of any encoding."""
    decoded = decode(source.data)
    properties, body = split_front_matter(decoded.text)
    reader = _Reader()
    reader.read(
        MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable(["table", "strikethrough"]).parse(body)
    )
    if not reader.elements and _WORD.search(_MARKUP.sub("", body)):  # nested beyond all measure
        reader.elements.append(Element(kind=Kind.PARAGRAPH, text=body))
    title = str(properties.get("title", "")) or next(
        (e.text for e in reader.elements if e.kind is Kind.HEADING and e.level == 1), ""
    )
    return ParsedDocument(
        media_type="text/markdown",
        elements=tuple(reader.elements or _property_elements(properties)),
        quality=Quality(warnings=("lossy_encoding",) if decoded.lossy else ()),
        title=title,
        author=str(properties.get("author", "")),
        encoding=decoded.encoding,
        properties=properties,
    )


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """`key: value` lines and `- item` lists between the fences at the top; anything deeper is left out."""
    match = _FRONT_MATTER.match(text)
    if not match:
        return {}, text
    properties: dict[str, Any] = {}
    last = ""
    for line in match[2].splitlines():
        if pair := _PROPERTY.match(line):
            last = pair[1].strip()
            properties[last] = pair[2].strip().strip("\"'")
        elif last and line.strip().startswith("- "):
            items = properties[last] if isinstance(properties[last], list) else []
            properties[last] = [*items, line.strip()[2:].strip().strip("\"'")]
    return properties, text[match.end() :]


def _property_elements(properties: dict[str, Any]) -> list[Element]:
    """A page that is only front matter (a redirect, a stub) is still found by its title."""
    if not properties.get("title"):
        return []
    others = "\n".join(
        f"{key}: {value}"
        for key, value in properties.items()
        if key != "title" and isinstance(value, str) and value
    )
    title = Element(kind=Kind.TITLE, text=str(properties["title"]))
    return [title, Element(kind=Kind.PARAGRAPH, text=others)] if others else [title]


class _Reader:
    """Walks block tokens in order. One open list item gathers its paragraphs; code and tables end it."""

    def __init__(self) -> None:
        self.elements: list[Element] = []
        self._lists: list[int | None] = []  # next number of an ordered list, None for bullets
        self._item: list[str] | None = None
        self._mark = ""
        self._heading = 0

    def read(self, tokens: Sequence[Token]) -> None:
        position = 0
        while position < len(tokens):
            token = tokens[position]
            if token.type == "table_open":
                position = self._table(tokens, position)
            else:
                handler = getattr(self, f"_on_{token.type}", None)
                if handler is not None:
                    handler(token)
                position += 1
        self._flush_item()

    def _on_heading_open(self, token: Token) -> None:
        self._flush_item()
        self._heading = int(token.tag[1])

    def _on_heading_close(self, token: Token) -> None:
        self._heading = 0

    def _on_bullet_list_open(self, token: Token) -> None:
        self._flush_item()
        self._lists.append(None)

    def _on_ordered_list_open(self, token: Token) -> None:
        self._flush_item()
        self._lists.append(int(token.attrGet("start") or 1))

    def _on_bullet_list_close(self, token: Token) -> None:
        self._flush_item()
        self._lists.pop()

    _on_ordered_list_close = _on_bullet_list_close

    def _on_list_item_open(self, token: Token) -> None:
        self._flush_item()
        self._item = []
        number = self._lists[-1]
        self._mark = "" if number is None else f"{number}. "
        if number is not None:
            self._lists[-1] = number + 1

    def _on_list_item_close(self, token: Token) -> None:
        self._flush_item()

    def _on_inline(self, token: Token) -> None:
        text = _inline_text(token.children or [])
        if self._heading:
            self._add(Kind.HEADING, _HEADING_ID.sub("", collapse(text)), level=self._heading)
        elif self._item is not None:
            self._item.append(collapse_lines(text))
        elif self._lists:  # a paragraph of an item after its code or table
            self._add(Kind.PARAGRAPH, collapse_lines(text))
        else:
            only_pictures = all(
                c.type in {"image", "softbreak"} or not c.content.strip() for c in token.children or []
            )
            text = collapse_lines(_ADMONITION.sub(r"\1", text))
            self._add(Kind.CAPTION if only_pictures else Kind.PARAGRAPH, text)

    def _on_fence(self, token: Token) -> None:
        self._flush_item()
        self._add(Kind.CODE, token.content.rstrip().expandtabs(4))

    _on_code_block = _on_fence

    def _on_html_block(self, token: Token) -> None:
        if not _TAG.sub("", token.content).strip():
            return
        self._flush_item()
        from ingestion.parsing.html import fragment_elements

        self.elements.extend(fragment_elements(token.content))

    def _table(self, tokens: Sequence[Token], position: int) -> int:
        """Read the rows up to the end of the table; returns the position after it."""
        self._flush_item()
        rows: list[list[Cell]] = []
        while tokens[position].type != "table_close":
            token = tokens[position]
            if token.type == "tr_open":
                rows.append([])
            elif token.type in {"th_open", "td_open"}:
                text = collapse_lines(_inline_text(tokens[position + 1].children or []))
                rows[-1].append(Cell(text=text, is_header=token.type == "th_open"))
            position += 1
        if table := read_table(rows):
            self.elements.append(table)
        return position + 1

    def _flush_item(self) -> None:
        if self._item is not None:
            text = "\n".join(part for part in self._item if part)
            kind = Kind.STEP if self._mark else Kind.LIST_ITEM
            if text:
                self._add(kind, self._mark + text, level=len(self._lists))
        self._item = None

    def _add(self, kind: Kind, text: str, *, level: int = 0) -> None:
        if text.strip():
            self.elements.append(Element(kind=kind, text=text, level=level))


def _inline_text(children: Sequence[Token]) -> str:
    """Text of inline tokens; line breaks that only wrap the source join as prose does."""
    parts: list[str] = []
    for child in children:
        if child.type == "hardbreak" or (child.type == "html_inline" and _LINE_TAG.match(child.content)):
            parts.append("\x00")
        elif child.type == "softbreak":
            parts.append("\n")
        elif child.type == "image":
            parts.append(_inline_text(child.children or []))
        elif child.type != "html_inline":
            parts.append(child.content)
    return "\n".join(collapse(line) for line in "".join(parts).split("\x00"))
