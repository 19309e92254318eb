"""Data files (JSON, JSON Lines, YAML, XML) as text that keeps the path of every value.

Records of one shape become a table, other values `name: value` lines under a heading for each branch. A file that breaks
the rules of its format is read as plain text, so that nothing in it is lost.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ingestion.parsing.elements import Element, Kind, ParsedDocument, Quality
from ingestion.parsing.encodings import Decoded, decode
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source, extension_of
from ingestion.parsing.html import read_page
from ingestion.parsing.tables import Cell, read_table
from ingestion.parsing.text import text_elements

MAX_VALUES = 400_000
MAX_DEPTH = 200
_XML_ENCODING = re.compile(rb"\A[^<]{0,8}<\?xml[^>]*?encoding\s*=\s*[\"']([\w.:-]{2,40})")
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_COMMENT = re.compile(r"^\s*#[ \t]?(.*)$")
_DEEPEST_HEADING = 4
_INLINE = 300  # characters up to which a branch is told in the lines of the one above it
_RECORD = 1_500  # the same for a record of a list
_LINES = 40  # lines in one paragraph
_MOST_COLUMNS = 30
_NAMES = ("title", "name", "label", "id", "key", "标题", "名称")


def parse(source: Source) -> ParsedDocument:
    """Read a data file. Raises Rejected (`too_complex`) for more values or deeper nesting than allowed."""
    declared = _XML_ENCODING.match(source.data[:300])
    decoded = decode(source.data, declared=declared[1].decode("ascii") if declared else "")
    kind = _kind(source.file_name, decoded.text)
    try:
        branch, notes, warnings = _READERS[kind](decoded.text)
        elements = [*_Writer().write(branch), *notes]
    except RecursionError as error:
        raise Rejected("too_complex", limit=f"nesting depth {MAX_DEPTH}") from error
    except ValueError:
        return _as_text(decoded, kind)
    warnings += ("lossy_encoding",) if decoded.lossy else ()
    return ParsedDocument(
        media_type=f"application/{kind}",
        elements=tuple(elements),
        quality=Quality(warnings=warnings),
        title=_title(branch),
        encoding=decoded.encoding,
    )


def _kind(file_name: str, text: str) -> str:
    extension = extension_of(file_name)
    if extension in {"yaml", "yml"}:
        return "yaml"
    if extension in {"jsonl", "ndjson"}:
        return "jsonl"
    return "xml" if text.lstrip("\ufeff \t\r\n").startswith("<") else "json"


def _as_text(decoded: Decoded, kind: str) -> ParsedDocument:
    lossy = ("lossy_encoding",) if decoded.lossy else ()
    return ParsedDocument(
        media_type="text/plain",
        elements=tuple(text_elements(decoded.text)),
        quality=Quality(warnings=(f"not_well_formed:{kind.upper()}", *lossy)),
        encoding=decoded.encoding,
    )


# --- reading ----------------------------------------------------------------------------------------------

Read = tuple[Any, list[Element], tuple[str, ...]]


def _read_json(text: str) -> Read:
    try:
        data = json.loads(text.lstrip("\ufeff"), object_pairs_hook=_Pairs)
    except json.JSONDecodeError:
        return _read_lines(text)
    return _Tree().value(data), [], ()


def _read_lines(text: str) -> Read:
    """JSON Lines: a record each; lines that are none are kept as text and counted. Raises ValueError when most are not."""
    records, broken = [], []
    for number, line in enumerate(filter(str.strip, text.lstrip("\ufeff").split("\n")), start=1):
        try:
            records.append(json.loads(line, object_pairs_hook=_Pairs))
        except json.JSONDecodeError:
            broken.append((number, line))
    if len(records) <= len(broken) or not all(isinstance(record, list) for record in records):
        raise ValueError("no JSON lines")
    notes = [Element(kind=Kind.PARAGRAPH, text=line) for _number, line in broken]
    told = ", ".join(str(number) for number, _line in broken[:20])
    return _Tree().value(records), notes, (f"lines_failed:{told}",) if broken else ()


def _read_yaml(text: str) -> Read:
    import yaml

    loader: Any = type("Loader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {})
    loader.add_multi_constructor("", _plain_node)  # tags of applications are not obeyed
    loader.add_constructor("tag:yaml.org,2002:timestamp", lambda _loader, node: node.value)
    loader.add_constructor("tag:yaml.org,2002:map", _yaml_pairs)
    try:
        documents = list(yaml.load_all(text, Loader=loader))
    except yaml.YAMLError as error:
        raise ValueError("no YAML") from error
    data = documents[0] if len(documents) == 1 else documents
    if not isinstance(data, list):
        raise ValueError("a text")
    return _Tree().value(data), _yaml_comments(text), ()


def _plain_node(loader: Any, _suffix: str, node: Any) -> Any:
    if node.id == "scalar":
        return node.value
    return loader.construct_sequence(node, deep=True) if node.id == "sequence" else _yaml_pairs(loader, node)


def _yaml_pairs(loader: Any, node: Any) -> "_Pairs":
    loader.flatten_mapping(node)
    return _Pairs(
        (str(loader.construct_object(key, deep=True)), loader.construct_object(value, deep=True))
        for key, value in node.value
    )


def _yaml_comments(text: str) -> list[Element]:
    """Lines of comment, those that follow each other together."""
    notes: list[Element] = []
    lines: list[str] = []
    for line in [*text.split("\n"), ""]:
        if match := _COMMENT.match(line):
            lines.append(match[1].strip())
        elif lines:
            if said := "\n".join(filter(None, lines)):
                notes.append(Element(kind=Kind.NOTE, text=said))
            lines = []
    return notes


def _read_xml(text: str) -> Read:
    from lxml import etree

    source = _XML_DECLARATION.sub("", text.lstrip("\ufeff").replace("\x00", "")).encode("utf-8", "replace")
    root = None
    for entities in (
        "internal",
        False,
    ):  # without its entities, a file that points outside of itself still has its text
        parser = etree.XMLParser(
            resolve_entities=entities, no_network=True, remove_comments=True, remove_pis=True
        )
        try:
            root = etree.fromstring(source, parser)
            break
        except etree.XMLSyntaxError as error:
            if "depth" in str(error).lower() or "amplification" in str(error).lower():
                raise Rejected("too_complex", limit=f"nesting depth {MAX_DEPTH}") from error
    if root is None:
        raise ValueError("no XML")
    if _local(root.tag).lower() == "html":
        return [], list(read_page(text).elements), ()
    return _Tree().nodes([root]), [], ()


_READERS = {"json": _read_json, "jsonl": _read_lines, "yaml": _read_yaml, "xml": _read_xml}


class _Pairs(list[Any]):
    """The members of an object as pairs: nothing is lost where a name comes twice."""


@dataclass(slots=True)
class _Tree:
    """Data of a format as a Value, counted."""

    count: int = field(default=0)

    def value(self, data: Any, depth: int = 0) -> Any:
        self._count(depth)
        if isinstance(data, _Pairs):
            return [(str(key), self.value(item, depth + 1)) for key, item in data]
        if isinstance(data, list | tuple | set):
            return [("", self.value(item, depth + 1)) for item in data]
        return _said(data)

    def nodes(self, nodes: Iterable[Any], depth: int = 0) -> Any:
        """Elements of XML by their local names."""
        return [
            (_local(node.tag), self._node(node, depth + 1)) for node in nodes if isinstance(node.tag, str)
        ]

    def _node(self, node: Any, depth: int) -> Any:
        self._count(depth)
        attributes = [(f"@{_local(name)}", value) for name, value in node.attrib.items()]
        texts = [node.text, *(child.tail for child in node)]
        if any(text and text.strip() for text in texts):  # running text, with or without marks inside
            said = " ".join("".join(node.itertext()).split())
            return [*attributes, ("", said)] if attributes else said
        children = self.nodes(node, depth)
        return [*attributes, *children] if attributes or children else ""

    def _count(self, depth: int) -> None:
        self.count += 1
        if self.count > MAX_VALUES:
            raise Rejected("too_large", limit=f"{MAX_VALUES:,} values")
        if depth > MAX_DEPTH:
            raise Rejected("too_complex", limit=f"nesting depth {MAX_DEPTH}")


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _said(data: Any) -> str:
    if data is None:
        return ""
    if isinstance(data, bool):
        return "true" if data else "false"
    return data if isinstance(data, str) else str(data)


# --- writing ----------------------------------------------------------------------------------------------


class _Writer:
    """A tree of values as elements, in the order of the file."""

    def __init__(self) -> None:
        self._elements: list[Element] = []
        self._lines: list[str] = []

    def write(self, value: Any) -> list[Element]:
        if isinstance(value, str):
            return text_elements(value)
        self._branch(value, (), 1)
        self._flush()
        return self._elements

    def _branch(self, pairs: list[tuple[str, Any]], path: tuple[str, ...], level: int) -> None:
        for name, items in _runs(pairs):
            if len(items) > 1 and (self._texts(name, items, path) or self._table(name, items, path, level)):
                continue
            for place, value in enumerate(items, start=1):
                is_item = len(items) > 1
                own = _name(name, value, place if is_item else 0)
                self._entry(own, value, path, level, most=_RECORD if is_item else _INLINE)
                if is_item and not isinstance(value, str):
                    self._flush()

    def _texts(self, name: str, items: list[Any], path: tuple[str, ...]) -> bool:
        """A list of short texts in one line."""
        if not all(isinstance(item, str) for item in items) or sum(map(len, items)) > _RECORD:
            return False
        label = ".".join(filter(None, (*path[_DEEPEST_HEADING:], name)))
        self._lines.append(f"{label}: {', '.join(items)}" if label else "\n".join(items))
        return True

    def _entry(self, name: str, value: Any, path: tuple[str, ...], level: int, *, most: int) -> None:
        if isinstance(value, str) or _size(value, most) <= most:
            # below the last level of headings the path is told in the line itself
            prefix = (*path[_DEEPEST_HEADING:], name)
            self._lines += _told(value, ".".join(filter(None, prefix)))
            if len(self._lines) >= _LINES:
                self._flush()
            return
        self._flush()
        if level <= _DEEPEST_HEADING and name:
            self._elements.append(Element(kind=Kind.HEADING, text=name[:200], level=level))
        self._branch(value, (*path, name), level + 1)
        self._flush()

    def _table(self, name: str, items: list[Any], path: tuple[str, ...], level: int) -> bool:
        """Records of one shape as a table under its name; False when they have none."""
        columns = _columns(items)
        if not columns:
            return False
        header = [Cell(text=column, is_header=True) for column in columns]
        rows = [[Cell(text=dict(item).get(column, "")) for column in columns] for item in items]
        self._flush()
        if name and level <= _DEEPEST_HEADING:
            self._elements.append(Element(kind=Kind.HEADING, text=name[:200], level=level))
        if table := read_table([header, *rows], header_rows=1):
            self._elements.append(table)
        return True

    def _flush(self) -> None:
        if self._lines:
            self._elements.append(Element(kind=Kind.PARAGRAPH, text="\n".join(self._lines)))
            self._lines = []


def _runs(pairs: list[tuple[str, Any]]) -> Iterator[tuple[str, list[Any]]]:
    """Neighbours of one name together, and a list under the name that holds it."""
    place = 0
    while place < len(pairs):
        name, value = pairs[place]
        end = place + 1
        while end < len(pairs) and pairs[end][0] == name:
            end += 1
        items = [item for _name, item in pairs[place:end]]
        if (
            len(items) == 1
            and not isinstance(value, str)
            and len(value) > 1
            and not any(key for key, _ in value)
        ):
            items = [item for _key, item in value]
        yield name, items
        place = end


def _columns(items: list[Any]) -> list[str]:
    """Names that flat records share: all of them, when most records have most of them."""
    names: dict[str, int] = {}
    for item in items:
        if isinstance(item, str) or not all(isinstance(value, str) and key for key, value in item):
            return []
        if len({key for key, _value in item}) < len(item) or sum(len(value) for _key, value in item) > 2_000:
            return []
        for key, _value in item:
            names[key] = names.get(key, 0) + 1
    filled = sum(names.values())
    usual = len(names) >= 2 and len(names) <= _MOST_COLUMNS and filled >= 0.5 * len(names) * len(items)
    return list(names) if usual else []


def _name(name: str, value: Any, place: int) -> str:
    """What an entry is called: its name, its place in a named list, and what it calls itself."""
    own = ""
    if place and not isinstance(value, str):
        leaves = {key.lstrip("@").lower(): text for key, text in value if isinstance(text, str)}
        own = next((leaves[key] for key in _NAMES if leaves.get(key)), "")[:100]
    if place and isinstance(value, str):
        return name
    counted = f"{name} {place}" if place and name else name
    return f"{counted}: {own}" if own and counted else own or counted


def _size(value: Any, most: int) -> int:
    """Characters of a value, counted until there are more than `most`."""
    if isinstance(value, str):
        return len(value)
    total = 0
    for key, item in value:
        total += len(key) + _size(item, most)
        if total > most:
            break
    return total


def _told(value: Any, path: str) -> list[str]:
    """Lines `path: value` of a small branch; a list of texts in one line."""
    if isinstance(value, str):
        return [f"{path}: {value}" if path and value else value or f"{path}:"] if path or value else []
    if value and all(not key and isinstance(item, str) for key, item in value):
        return [
            f"{path}: {', '.join(item for _key, item in value)}" if path else ", ".join(i for _, i in value)
        ]
    lines = []
    for key, item in value:
        lines += _told(item, f"{path}.{key}" if path and key else path or key)
    return lines


def _title(branch: Any) -> str:
    """What the file calls itself at its top, or right below a single root."""
    pairs = branch if isinstance(branch, list) else []
    if len(pairs) == 1 and not isinstance(pairs[0][1], str):
        pairs = pairs[0][1]
    return next(
        (value for key, value in pairs if key.lower() in {"title", "标题"} and isinstance(value, str)),
        "",
    )
