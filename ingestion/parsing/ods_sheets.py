"""The sheets of an OpenDocument spreadsheet: each cell holds its text as the program showed it."""

from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from ingestion.parsing.elements import Element, Kind
from ingestion.parsing.errors import Rejected
from ingestion.parsing.grids import Row
from ingestion.parsing.ooxml import Facts, Package, iso_date, xml_verdict
from ingestion.parsing.prose import collapse
from ingestion.parsing.sheets import MAX_SHEETS, Budget, Sheet, Workbook, cell_text

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
_MOST_REPEATED = 1_000  # a row or cell with a text; empty ones are only counted


def read_workbook(package: Package) -> Workbook:
    """All sheets in their order. Raises Rejected: encrypted, corrupt, too_large."""
    if package.has("META-INF/manifest.xml") and b"encryption-data" in package.read("META-INF/manifest.xml"):
        raise Rejected("encrypted")
    if not package.has("content.xml"):
        raise Rejected("corrupt")
    reader = _Reader()
    tags = [f"{_STYLE}style", f"{_TABLE}table", f"{_TABLE}table-row"]
    with package.stream("content.xml") as part:
        try:
            for event, node in etree.iterparse(part, events=("start", "end"), tag=tags, resolve_entities=False, no_network=True):  # fmt: skip
                reader.take(event, node)
        except etree.XMLSyntaxError as error:
            raise xml_verdict(error) from error
    return reader.workbook


def facts(package: Package) -> Facts:
    """Title, author and dates from the file's meta part."""
    try:
        root = package.xml("meta.xml")
    except Rejected:
        root = None
    if root is None:
        return Facts()
    return Facts(
        title=collapse(root.findtext(f".//{_DC}title") or ""),
        author=collapse(
            root.findtext(f".//{_META}initial-creator") or root.findtext(f".//{_DC}creator") or ""
        ),
        created=iso_date(root.findtext(f".//{_META}creation-date") or ""),
        modified=iso_date(root.findtext(f".//{_DC}date") or ""),
    )


@dataclass(slots=True)
class _Reader:
    workbook: Workbook = field(default_factory=Workbook)
    _budget: Budget = field(default_factory=Budget)
    _unseen: set[str] = field(default_factory=set)  # styles of hidden sheets
    _line: int = 0

    def take(self, event: str, node: Any) -> None:
        if node.tag == f"{_TABLE}table" and event == "start":
            self._begin(node)
        elif event == "end" and node.tag == f"{_TABLE}table-row":
            self._row(node)
            node.clear()
        elif event == "end" and node.tag == f"{_STYLE}style":
            properties = node.find(f"{_STYLE}table-properties")
            if properties is not None and properties.get(f"{_TABLE}display") == "false":
                self._unseen.add(node.get(f"{_STYLE}name", ""))

    def _begin(self, node: Any) -> None:
        hidden = node.get(f"{_TABLE}style-name", "") in self._unseen
        self.workbook.sheets.append(Sheet(name=node.get(f"{_TABLE}name", ""), is_hidden=hidden))
        if len(self.workbook.sheets) > MAX_SHEETS:
            raise Rejected("too_large", limit=f"{MAX_SHEETS} sheets")
        self._budget.begin_sheet()
        self._line = 0

    def _row(self, node: Any) -> None:
        if not self.workbook.sheets:
            return
        sheet = self.workbook.sheets[-1]
        repeated = _count(node.get(f"{_TABLE}number-rows-repeated"))
        row: Row = {}
        column = 0
        for cell in node.iter(f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            times = _count(cell.get(f"{_TABLE}number-columns-repeated"))
            text = _text(cell)
            if text and cell.tag == f"{_TABLE}table-cell":
                row.update((column + n, text) for n in range(min(times, _MOST_REPEATED)))
                down = _count(cell.get(f"{_TABLE}number-rows-spanned"))
                across = _count(cell.get(f"{_TABLE}number-columns-spanned"))
                if down > 1 or across > 1:
                    sheet.spans.append((self._line, column, self._line + down - 1, column + across - 1))
            sheet.extras += _remarks(cell)
            column += times
        for n in range(min(repeated, _MOST_REPEATED) if row else 0):
            self._budget.take(row)
            sheet.rows[self._line + n] = row
        self._line += repeated


def _text(cell: Any) -> str:
    lines = ("".join(_words(p)) for p in cell if p.tag == f"{_TEXT}p")
    return cell_text("\n".join(lines))


def _words(node: Any) -> list[str]:
    """Text below a node; spaces and tabs are elements of their own."""
    words = [node.text or ""]
    for child in node:
        if child.tag in {f"{_TEXT}s", f"{_TEXT}tab"}:
            words.append(" ")
        elif child.tag == f"{_TEXT}line-break":
            words.append("\n")
        elif isinstance(child.tag, str) and child.tag != f"{_OFFICE}annotation":
            words += _words(child)
        words.append(child.tail or "")
    return words


def _remarks(cell: Any) -> list[Element]:
    return [
        Element(kind=Kind.NOTE, text=text)
        for note in cell.findall(f"{_OFFICE}annotation")
        if (text := "\n".join(collapse("".join(_words(p))) for p in note.iter(f"{_TEXT}p")).strip())
    ]


def _count(said: str | None) -> int:
    return max(int(said), 1) if said and said.isdigit() and len(said) < 8 else 1
