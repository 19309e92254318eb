"""Source code by its functions and classes: a heading names each, its comment and its lines stand below it.

Eleven languages are read by tree-sitter; the others are cut at blank lines. No line is left out.
"""

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ingestion.parsing.elements import Element, Kind, ParsedDocument, Quality
from ingestion.parsing.encodings import decode
from ingestion.parsing.formats import Source, extension_of
from ingestion.parsing.prose import collapse

# extension -> module of the grammar and the name of its function
_GRAMMARS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("py", "pyi", "pyw"), ("tree_sitter_python", "language")),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), ("tree_sitter_javascript", "language")),
    **dict.fromkeys(("ts", "mts", "cts"), ("tree_sitter_typescript", "language_typescript")),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "java": ("tree_sitter_java", "language"),
    "go": ("tree_sitter_go", "language"),
    "rs": ("tree_sitter_rust", "language"),
    **dict.fromkeys(("c", "h"), ("tree_sitter_c", "language")),
    **dict.fromkeys(("cc", "cpp", "cxx", "hpp", "hh", "hxx"), ("tree_sitter_cpp", "language")),
    "cs": ("tree_sitter_c_sharp", "language"),
    "rb": ("tree_sitter_ruby", "language"),
    "php": ("tree_sitter_php", "language_php"),
}
_NAMED = re.compile(
    r"function|method|class|struct|interface|trait|enum|impl|module|namespace|constructor|type_(declaration|alias|item)"
)
_DEFINITION = re.compile(
    r"(definition|declaration|declarator|item|specifier|statement)$|^(method|class|module)$"
)
_HOLDS = re.compile(r"class|struct|interface|trait|impl|module|namespace|enum|body|declaration_list")
_LONG = 40  # lines from which a class is told by its members
_BLOCK = 60  # lines of loose code in one element
_MAX_SIGNATURE = 160
_MOST_LINES = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Definition:
    """Lines first..last, from 0, comments and decorators before it included."""

    first: int
    last: int
    signature: str
    node: Any


def parse(source: Source) -> ParsedDocument:
    """Read a file of source code; one that no grammar knows is cut at its blank lines."""
    decoded = decode(source.data)
    lines = decoded.text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4).split("\n")
    root = _tree(extension_of(source.file_name), lines)
    elements = list(_by_definitions(root, lines)) if root is not None else list(_blocks(lines, 0, len(lines)))
    return ParsedDocument(
        media_type="text/x-source",
        elements=tuple(elements),
        quality=Quality(warnings=("lossy_encoding",) if decoded.lossy else ()),
        encoding=decoded.encoding,
        properties={"language": extension_of(source.file_name)},
    )


def _tree(extension: str, lines: list[str]) -> Any:
    if extension not in _GRAMMARS or len(lines) > _MOST_LINES:
        return None
    import tree_sitter

    module, function = _GRAMMARS[extension]
    language = tree_sitter.Language(getattr(importlib.import_module(module), function)())
    return tree_sitter.Parser(language).parse("\n".join(lines).encode("utf-8", "replace")).root_node


def _by_definitions(root: Any, lines: list[str]) -> Iterator[Element]:
    yield from _span(root, lines, first=0, last=len(lines) - 1, level=1)


def _span(node: Any, lines: list[str], *, first: int, last: int, level: int) -> Iterator[Element]:
    """Lines first..last of a node: its definitions under headings, what lies between them as it stands."""
    at = first
    for found in _definitions(node, lines, first, last):
        if found.first < at:  # on the line of the one before
            continue
        yield from _blocks(lines, at, found.first)
        yield Element(kind=Kind.HEADING, text=found.signature, level=level)
        yield from _inside(found, lines, level)
        at = found.last + 1
    yield from _blocks(lines, at, last + 1)


def _inside(found: _Definition, lines: list[str], level: int) -> Iterator[Element]:
    is_long = found.last - found.first >= _LONG
    if is_long and level < 4 and _HOLDS.search(found.node.type):
        yield from _span(found.node, lines, first=found.first, last=found.last, level=level + 1)
    else:
        yield from _blocks(lines, found.first, found.last + 1, most=_BLOCK * 2)


def _definitions(node: Any, lines: list[str], first: int, last: int) -> Iterator[_Definition]:
    """The outermost definitions below a node, in order."""
    for child in node.named_children:
        start, end = child.start_point[0], child.end_point[0]
        if end < first or start > last:
            continue
        core = _core(child)
        if core is not None:
            yield _Definition(
                first=_with_comment(lines, start, first),
                last=min(end, last),
                signature=_signature(core),
                node=core,
            )
        elif _HOLDS.search(child.type) or child.type in {
            "ERROR",
            "preproc_ifdef",
            "preproc_if",
            "linkage_specification",
        }:
            yield from _definitions(child, lines, first, last)


def _core(node: Any) -> Any:
    """The definition that a node is or wraps (decorators, exports, templates); None for other code."""
    for _step in range(4):
        if (
            _NAMED.search(node.type)
            and _DEFINITION.search(node.type)
            and not node.type.startswith("expression")
        ):
            return node
        if not re.search(
            r"decorated|export|template_declaration|lexical_declaration|variable_declarat", node.type
        ):
            return None
        inner = [
            child for child in node.named_children if child.type not in {"decorator", "identifier", "comment"}
        ]
        if node.type == "variable_declarator":
            value = node.child_by_field_name("value")
            return node if value is not None and "function" in value.type else None
        if not inner:
            return None
        node = inner[-1]
    return None


def _with_comment(lines: list[str], start: int, first: int) -> int:
    """The first line of the comment right above a definition."""
    while start > first and re.match(r"\s*(//|#(?!include|define|if|end)|/?\*|--|@|\[)", lines[start - 1]):
        start -= 1
    return start


def _signature(node: Any) -> str:
    """The definition up to its body, on one line."""
    body = node.child_by_field_name("body")
    text = node.text.decode("utf-8", "replace")
    if body is not None:
        text = node.text[: max(body.start_byte - node.start_byte, 0)].decode("utf-8", "replace")
    signature = collapse(re.split(r"\{|=>", text)[0] if body is None else text).rstrip("{:= ")
    return signature[:_MAX_SIGNATURE] or node.type


def _blocks(lines: list[str], first: int, end: int, *, most: int = _BLOCK) -> Iterator[Element]:
    """Code in pieces of at most `most` lines, cut at a blank line where there is one in their second half."""
    at = first
    while at < end:
        stop = min(at + most, end)
        if stop < end:
            blank = (n for n in range(stop - 1, at + most // 2, -1) if not lines[n].strip())
            stop = next(blank, stop)
        text = "\n".join(lines[at:stop])
        if text.strip():
            yield Element(kind=Kind.CODE, text=text.strip("\n"))
        at = stop
