"""The parts of a Word file: XML read safely, styles and numbering resolved.

Read from the ZIP in memory, by name, with the real bytes counted. Strict OOXML is brought to the usual namespaces.
"""

import posixpath
import re
import zipfile
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from lxml import etree

from ingestion.parsing.errors import Rejected
from ingestion.parsing.kinds import MAX_ZIP_BYTES, check_archive

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT = (
    (b"http://purl.oclc.org/ooxml/wordprocessingml/main", b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"),
    (b"http://purl.oclc.org/ooxml/officeDocument/relationships", b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"),
    (b"http://purl.oclc.org/ooxml/officeDocument/math", b"http://schemas.openxmlformats.org/officeDocument/2006/math"),
)  # fmt: skip
_TOO_MUCH = re.compile(r"too long|amplification|excessive|huge|maximum|memory", re.IGNORECASE)
_HEADING_NAME = re.compile(r"^(?:heading|标题|überschrift|titre|título)\s*([1-9])$", re.IGNORECASE)
_TITLE_NAMES = frozenset({"title", "标题"})
_CONTENTS_NAME = re.compile(r"^(?:toc|目录)\s*\d$", re.IGNORECASE)
_MAX_BASES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """What a paragraph style says, inherited values included; size in half points, 0 if unsaid."""

    heading: int = 0
    is_title: bool = False
    is_contents: bool = False
    bold: bool = False
    size: int = 0
    numbering: tuple[str, int] | None = None


@dataclass(slots=True)
class Numbering:
    """Definitions of list levels, and the numbers reached so far."""

    levels: dict[tuple[str, int], tuple[str, str, int]] = field(default_factory=dict)  # format, text, start
    lists: dict[str, str] = field(default_factory=dict)
    _reached: dict[tuple[str, int], int] = field(default_factory=dict)

    def mark(self, list_id: str, level: int) -> str:
        """The mark of the next item: "" for a bullet or an unknown list, else the number as written."""
        abstract = self.lists.get(list_id, "")
        number_format, text, start = self.levels.get((abstract, level), ("bullet", "", 1))
        if number_format in {"bullet", "none"}:
            return ""
        self._reached[(list_id, level)] = self._reached.get((list_id, level), start - 1) + 1
        for key in [key for key in self._reached if key[0] == list_id and key[1] > level]:
            del self._reached[key]
        return re.sub(r"%(\d)", lambda match: self._number(list_id, abstract, int(match[1]) - 1), text)

    def _number(self, list_id: str, abstract: str, level: int) -> str:
        number_format, _text, start = self.levels.get((abstract, level), ("decimal", "", 1))
        return spelled(self._reached.get((list_id, level), start), number_format)


class Package:
    """An open Word file. Raises Rejected on anything that is no sound package."""

    def __init__(self, data: bytes) -> None:
        try:
            self._archive = zipfile.ZipFile(BytesIO(data))
        except (zipfile.BadZipFile, ValueError) as error:
            raise Rejected("corrupt") from error
        check_archive(self._archive)
        self._names = {name.lower(): name for name in self._archive.namelist()}
        self._left = MAX_ZIP_BYTES
        self.main_name = self._target("", "officeDocument") or "word/document.xml"

    @property
    def names(self) -> list[str]:
        return list(self._names.values())

    def xml(self, name: str) -> Any:
        """Root of a part, None if there is no such part."""
        stored = self._names.get(name.lower())
        if stored is None:
            return None
        data = self._read(stored)
        if b"<!DOCTYPE" in data[:4096] or b"<!ENTITY" in data[:4096]:
            raise Rejected("corrupt")
        for strict, usual in _STRICT:
            data = data.replace(strict, usual)
        try:
            return etree.fromstring(
                data, etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
            )
        except etree.XMLSyntaxError as error:
            if _TOO_MUCH.search(str(error)):
                raise Rejected("too_complex", limit="XML size") from error
            raise Rejected("corrupt") from error

    def related(self, kind: str) -> Any:
        """Root of the part that the main document relates to by this kind (styles, footnotes …)."""
        name = self._target(self.main_name, kind)
        return self.xml(name) if name else None

    def related_names(self, kind: str) -> list[str]:
        return [target for found, target in self._relations(self.main_name) if found == kind]

    def _target(self, source: str, kind: str) -> str:
        return next((target for found, target in self._relations(source) if found == kind), "")

    def _relations(self, source: str) -> list[tuple[str, str]]:
        """(kind, part name) of the relations of a part; of the package for ""."""
        folder, name = posixpath.split(source)
        root = self.xml(posixpath.join(folder, "_rels", f"{name}.rels"))
        if root is None:
            return []
        return [
            (
                relation.get("Type", "").rpartition("/")[2],
                posixpath.normpath(posixpath.join(folder, relation.get("Target", ""))).lstrip("/"),
            )
            for relation in root
            if isinstance(relation.tag, str) and relation.get("TargetMode") != "External"
        ]

    def _read(self, name: str) -> bytes:
        try:
            with self._archive.open(name) as part:
                data = part.read(self._left + 1)
        except (
            zipfile.BadZipFile,
            EOFError,
            RuntimeError,
            NotImplementedError,
            OSError,
            ValueError,
        ) as error:
            raise Rejected("corrupt") from error
        self._left -= len(data)
        if self._left < 0:
            raise Rejected("too_large", limit=f"{MAX_ZIP_BYTES // 1_000_000} MB unpacked")
        return data


def value(node: Any, path: str) -> str | None:
    """The w:val of a descendant, "" if it has none, None if there is no such descendant."""
    found = node.find(path) if node is not None else None
    return None if found is None else found.get(f"{W}val", "")


def is_on(node: Any, path: str) -> bool:
    """A switch element, present and not turned off."""
    said = value(node, path)
    return said is not None and said not in {"0", "false", "none", "off"}


def number(said: str | None, default: int = 0) -> int:
    return int(said) if said and re.fullmatch(r"-?\d{1,9}", said) else default


def read_styles(root: Any) -> dict[str, Style]:
    """Paragraph styles by id, with what they inherit; "" is the default style."""
    if root is None:
        return {}
    nodes = {node.get(f"{W}styleId", ""): node for node in root.iter(f"{W}style")}
    styles = {identity: _style(identity, nodes, root) for identity in nodes}
    default = next(
        (
            i
            for i, n in nodes.items()
            if n.get(f"{W}type") == "paragraph" and n.get(f"{W}default") in {"1", "true"}
        ),
        "",
    )
    styles.setdefault("", styles.get(default, Style()))
    return styles


def _style(identity: str, nodes: dict[str, Any], root: Any) -> Style:
    chain: list[Any] = []
    while identity in nodes and len(chain) < _MAX_BASES:
        chain.append(nodes[identity])
        identity = value(nodes[identity], f"{W}basedOn") or ""
    name = (value(chain[0], f"{W}name") or "").strip()
    named = _HEADING_NAME.match(name)
    outline = next(
        (said for node in chain if (said := value(node, f"{W}pPr/{W}outlineLvl")) is not None), None
    )
    level = int(named[1]) if named else number(outline, 9) + 1
    sizes = [
        *(value(node, f"{W}rPr/{W}sz") for node in chain),
        value(root, f"{W}docDefaults/{W}rPrDefault/{W}rPr/{W}sz"),
    ]
    bold = next((node for node in chain if node.find(f"{W}rPr/{W}b") is not None), None)
    return Style(
        heading=level if 1 <= level <= 9 else 0,
        is_title=name.lower() in _TITLE_NAMES,
        is_contents=bool(_CONTENTS_NAME.match(name)),
        bold=bold is not None and is_on(bold, f"{W}rPr/{W}b"),
        size=next((number(size) for size in sizes if size), 20),
        numbering=next((found for node in chain if (found := list_of(node)) is not None), None),
    )


def list_of(node: Any) -> tuple[str, int] | None:
    """(list id, level) that a paragraph or style says it belongs to; an id of "0" takes it out of any list."""
    properties = node.find(f"{W}pPr/{W}numPr")
    if properties is None:
        return None
    identity = value(properties, f"{W}numId")
    return (identity or "", number(value(properties, f"{W}ilvl"))) if identity is not None else None


def read_numbering(root: Any) -> Numbering:
    numbering = Numbering()
    for abstract in root.iter(f"{W}abstractNum") if root is not None else ():
        identity = abstract.get(f"{W}abstractNumId", "")
        for level in abstract.iter(f"{W}lvl"):
            numbering.levels[(identity, number(level.get(f"{W}ilvl")))] = (
                value(level, f"{W}numFmt") or "decimal",
                value(level, f"{W}lvlText") or "",
                number(value(level, f"{W}start"), 1),
            )
    for instance in root.iter(f"{W}num") if root is not None else ():
        numbering.lists[instance.get(f"{W}numId", "")] = value(instance, f"{W}abstractNumId") or ""
    return numbering


_CHINESE = "零一二三四五六七八九"
_ROMAN = ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))


def spelled(count: int, number_format: str) -> str:
    """A number in the digits of a list format; formats that are rare come out in figures."""
    lower = number_format.lower()
    if "chinese" in lower or "ideographdigital" in lower or "japanesecounting" in lower:
        return _in_chinese(count)
    if lower.endswith("letter") and 1 <= count <= 26:
        letter = chr(ord("a") + count - 1)
        return letter.upper() if lower.startswith("upper") else letter
    if lower.endswith("roman") and 1 <= count <= 39:
        text = ""
        for size, sign in _ROMAN:
            text, count = text + sign * (count // size), count % size
        return text.upper() if lower.startswith("upper") else text
    return str(count)


def _in_chinese(count: int) -> str:
    if not 0 <= count <= 99:
        return str(count)
    tens, ones = divmod(count, 10)
    head = "" if tens == 0 else "十" if tens == 1 else f"{_CHINESE[tens]}十"
    return head + (_CHINESE[ones] if ones or not tens else "")
