"""Formulas of office files (OMML) on one line: (a+b)/2, x^2, √(b^2-4ac), ∑_(k=0)^n."""

from collections.abc import Callable
from typing import Any

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
FORMULA = f"{M}oMath"
_MAX_DEPTH = 100
_PROPERTIES = ("Pr", "ctrlPr")


def formula_text(node: Any, depth: int = 0) -> str:
    """What a formula, or a part of one, says. Parts of no known shape say their contents one after the other."""
    if node is None or depth > _MAX_DEPTH:
        return ""
    name = node.tag.removeprefix(M) if isinstance(node.tag, str) else ""
    if name == "t":
        return node.text or ""
    if shape := _SHAPES.get(name):
        return shape(_Parts(node, depth))
    inner = (c for c in node if isinstance(c.tag, str) and not c.tag.endswith(_PROPERTIES))
    return "".join(formula_text(child, depth + 1) for child in inner)


class _Parts:
    """The named parts of one shape."""

    def __init__(self, node: Any, depth: int) -> None:
        self._node, self._depth = node, depth

    def said(self, name: str) -> str:
        return formula_text(self._node.find(f"{M}{name}"), self._depth + 1)

    def each(self, path: str) -> list[str]:
        return [formula_text(node, self._depth + 1) for node in self._node.findall(path)]

    def option(self, name: str, default: str) -> str:
        """A sign that the properties of the shape give; "" where they take it away."""
        node = self._node.find(f"./*/{M}{name}")
        return default if node is None else str(node.get(f"{M}val", ""))


def _grouped(text: str) -> str:
    return text if len(text) <= 1 or text.isalnum() else f"({text})"


def _fraction(parts: _Parts) -> str:
    return f"{_grouped(parts.said('num'))}/{_grouped(parts.said('den'))}"


def _scripts(parts: _Parts) -> str:
    return parts.said("e") + _raised("_", parts.said("sub")) + _raised("^", parts.said("sup"))


def _raised(sign: str, text: str) -> str:
    return f"{sign}{_grouped(text)}" if text else ""


def _root(parts: _Parts) -> str:
    degree = parts.said("deg")
    return f"{degree}√{_grouped(parts.said('e'))}"


def _sum(parts: _Parts) -> str:
    limits = _raised("_", parts.said("sub")) + _raised("^", parts.said("sup"))
    return f"{parts.option('chr', '∫')}{limits}{' ' if limits else ''}{parts.said('e')}"


def _bracketed(parts: _Parts) -> str:
    inner = parts.option("sepChr", "|").join(parts.each(f"{M}e"))
    return f"{parts.option('begChr', '(')}{inner}{parts.option('endChr', ')')}"


_SHAPES: dict[str, Callable[[_Parts], str]] = {
    "f": _fraction,
    "sSup": _scripts,
    "sSub": _scripts,
    "sSubSup": _scripts,
    "rad": _root,
    "nary": _sum,
    "d": _bracketed,
    "func": lambda parts: f"{parts.said('fName')} {parts.said('e')}",
    "limLow": lambda parts: parts.said("e") + _raised("_", parts.said("lim")),
    "limUpp": lambda parts: parts.said("e") + _raised("^", parts.said("lim")),
    "eqArr": lambda parts: "; ".join(parts.each(f"{M}e")),
    "mr": lambda parts: ", ".join(parts.each(f"{M}e")),
    "m": lambda parts: "; ".join(parts.each(f"{M}mr")),
}
