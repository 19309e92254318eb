"""Charts and diagrams drawn inside office files: their words and figures, as a table and as a list."""

from collections.abc import Iterator
from typing import Any

from ingestion.parsing.elements import Element, Kind
from ingestion.parsing.formulas import FORMULA, formula_text
from ingestion.parsing.number_formats import shown
from ingestion.parsing.ooxml import Package
from ingestion.parsing.prose import collapse
from ingestion.parsing.tables import Cell, read_table

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_D = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
CHART, DIAGRAM = f"{_C}chart", f"{_D}relIds"
DIAGRAM_DATA = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"
MAX_POINTS, MAX_SERIES, MAX_NODES = 2_000, 100, 2_000


def read_chart(package: Package, name: str) -> Element | None:
    """The figures behind a chart as the file last showed them: a row for each category, a column for each series."""
    root = package.xml(name)
    if root is None:
        return None
    title = root.find(f"{_C}chart/{_C}title")
    caption = text_of(title) if title is not None else ""
    series = [_series(node) for node in list(root.iter(f"{_C}ser"))[:MAX_SERIES]]
    if not series:
        return Element(kind=Kind.PARAGRAPH, text=caption) if caption else None
    names = series[0][1]
    places = sorted({place for _name, _names, values in series for place in values} | set(names))
    rows = [[Cell(text=""), *(Cell(text=said) for said, _names, _values in series)]]
    rows += [
        [Cell(text=names.get(place, "")), *(Cell(text=values.get(place, "")) for _n, _s, values in series)]
        for place in places[:MAX_POINTS]
    ]
    return read_table(rows, header_rows=1, caption=caption)


def _series(node: Any) -> tuple[str, dict[int, str], dict[int, str]]:
    """(name, categories, values) of a series, both by place."""
    name = " ".join(_points(node.find(f"{_C}tx")).values())
    return name, _points(_first(node, "cat", "xVal")), _points(_first(node, "val", "yVal"))


def _first(node: Any, *names: str) -> Any:
    return next((found for name in names if (found := node.find(f"{_C}{name}")) is not None), None)


def _points(node: Any) -> dict[int, str]:
    """Cached points of a reference; categories of several levels are read together, the widest level first."""
    if node is None:
        return {}
    if (said := node.findtext(f"{_C}v")) is not None:
        return {0: collapse(said)}
    levels = list(node.iter(f"{_C}lvl"))[::-1] or [node]
    points: dict[int, str] = {}
    for level in levels:
        code = level.findtext(f".//{_C}formatCode") or "General"
        for point in list(level.iter(f"{_C}pt"))[:MAX_POINTS]:
            place = int(point.get("idx", "0")) if point.get("idx", "0").isdigit() else 0
            written = collapse(point.findtext(f"{_C}v") or "")
            value = shown(written, point.get("formatCode") or code)
            points[place] = f"{points[place]} {value}" if place in points else value
    return points


def read_diagram(package: Package, name: str) -> Iterator[Element]:
    """The nodes of a diagram (SmartArt) as a list, those below others deeper."""
    root = package.xml(name)
    if root is None:
        return
    nodes = {n.get("modelId", ""): n for n in list(root.iter(f"{_D}pt"))[: MAX_NODES * 4]}
    below: dict[str, list[tuple[int, str]]] = {}
    for link in root.iter(f"{_D}cxn"):
        if link.get("type", "parOf") == "parOf":
            order = link.get("srcOrd", "0")
            place = int(order) if order.isdigit() else 0
            below.setdefault(link.get("srcId", ""), []).append((place, link.get("destId", "")))
    tops = [identity for identity, node in nodes.items() if node.get("type") == "doc"]
    waiting = [(identity, 0) for identity in reversed(tops)]
    seen: set[str] = set()
    while waiting and len(seen) < MAX_NODES:
        identity, depth = waiting.pop()
        if identity in seen or identity not in nodes:
            continue
        seen.add(identity)
        if depth and (text := text_of(nodes[identity].find(f"{_D}t"))):
            yield Element(kind=Kind.LIST_ITEM, text=text, level=min(depth, 9))
        waiting += [(child, depth + 1) for _place, child in sorted(below.get(identity, []), reverse=True)]


def text_of(node: Any) -> str:
    """The text of all paragraphs below a node, a line each."""
    if node is None:
        return ""
    lines = (paragraph_text(paragraph) for paragraph in node.iter(f"{A}p"))
    return "\n".join(line for line in lines if line)


def paragraph_text(paragraph: Any) -> str:
    """The runs of one paragraph of a drawing; line breaks stay, page numbers and dates of today are no text."""
    parts: list[str] = []
    for node in paragraph.iter(f"{A}r", f"{A}br", f"{A}fld", FORMULA):
        if node.tag == f"{A}br":
            parts.append("\n")
        elif node.tag == FORMULA:
            parts.append(formula_text(node))
        elif node.tag == f"{A}r" or not node.get("type", "").startswith(("slidenum", "datetime")):
            parts.append(node.findtext(f"{A}t") or "")
    lines = (collapse(line) for line in "".join(parts).replace("\x0b", "\n").split("\n"))
    return "\n".join(line for line in lines if line)
