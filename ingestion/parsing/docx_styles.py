"""What a Word file says beside its text: styles and list numbering, resolved."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ingestion.parsing.numerals import spelled

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING_NAME = re.compile(r"^(?:heading|标题|überschrift|titre|título)\s*([1-9])$", re.IGNORECASE)
_TITLE_NAMES = frozenset({"title", "标题"})
_CAPTION_NAMES = frozenset({"caption", "题注"})
_CONTENTS_NAME = re.compile(r"^(?:toc|目录)\s*\d$", re.IGNORECASE)
_MAX_BASES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """What a paragraph style says, inherited values included; size in half points, 0 if unsaid."""

    heading: int = 0
    is_title: bool = False
    is_contents: bool = False
    is_caption: bool = False
    bold: bool = False
    size: int = 0
    numbering: tuple[str, int] | None = None


@dataclass(slots=True)
class Numbering:
    """Definitions of list levels, and the numbers reached so far.

    Lists of one definition count on from each other, unless one says where it starts anew.
    """

    levels: dict[tuple[str, int], tuple[str, str, int]] = field(default_factory=dict)  # format, text, start
    lists: dict[str, str] = field(default_factory=dict)
    starts: dict[tuple[str, int], int] = field(default_factory=dict)  # of single lists
    _reached: dict[tuple[str, int], int] = field(default_factory=dict)

    def mark(self, list_id: str, level: int) -> str:
        """The mark of the next item: "" for a bullet or an unknown list, else the number as written."""
        abstract = self.lists.get(list_id, "")
        number_format, text, start = self._level(list_id, level, "bullet")
        if number_format in {"bullet", "none"}:
            return ""
        anew = self.starts.pop((list_id, level), None)
        key = (abstract, level)
        self._reached[key] = anew if anew is not None else self._reached.get(key, start - 1) + 1
        for deeper in [key for key in self._reached if key[0] == abstract and key[1] > level]:
            del self._reached[deeper]
        return re.sub(r"%(\d)", lambda match: self._number(list_id, int(match[1]) - 1), text)

    def _level(self, list_id: str, level: int, default: str) -> tuple[str, str, int]:
        """A level as the list itself says, else as its definition does."""
        own = self.levels.get((_own(list_id), level))
        return own or self.levels.get((self.lists.get(list_id, ""), level), (default, "", 1))

    def _number(self, list_id: str, level: int) -> str:
        number_format, _text, start = self._level(list_id, level, "decimal")
        return spelled(self._reached.get((self.lists.get(list_id, ""), level), start), number_format)


def _own(list_id: str) -> str:
    return f"list {list_id}"


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
        is_caption=any((value(node, f"{W}name") or "").strip().lower() in _CAPTION_NAMES for node in chain),
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
    if root is None:
        return numbering
    defines: dict[str, str] = {}  # name of a list style -> the definition that says how it counts
    refers: dict[str, str] = {}
    for abstract in root.iter(f"{W}abstractNum"):
        identity = abstract.get(f"{W}abstractNumId", "")
        _read_levels(numbering, identity, abstract.findall(f"{W}lvl"))
        if name := value(abstract, f"{W}styleLink"):
            defines[name] = identity
        if name := value(abstract, f"{W}numStyleLink"):
            refers[identity] = name
    for instance in root.iter(f"{W}num"):
        list_id = instance.get(f"{W}numId", "")
        abstract = value(instance, f"{W}abstractNumId") or ""
        numbering.lists[list_id] = defines.get(refers.get(abstract, ""), abstract)
        for override in instance.findall(f"{W}lvlOverride"):
            _read_levels(numbering, _own(list_id), override.findall(f"{W}lvl"))
            if (start := value(override, f"{W}startOverride")) is not None:
                numbering.starts[(list_id, number(override.get(f"{W}ilvl")))] = number(start, 1)
    return numbering


def _read_levels(numbering: Numbering, identity: str, levels: Iterable[Any]) -> None:
    for level in levels:
        numbering.levels[(identity, number(level.get(f"{W}ilvl")))] = (
            value(level, f"{W}numFmt") or "decimal",
            value(level, f"{W}lvlText") or "",
            number(value(level, f"{W}start"), 1),
        )
