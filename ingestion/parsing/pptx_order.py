"""The shapes of a slide in the order in which they are seen: bands from top to bottom, columns from left to right."""

from collections.abc import Sequence
from typing import Any

from ingestion.parsing.drawings import A

Box = tuple[int, int, int, int]  # left, top, right, bottom in the units of the slide
_Placed = tuple[Box, Any]
_OVERLAP = 90_000  # units that shapes may overlap, and still stand one after the other: a tenth of an inch
_MOST = 300


def as_seen(nodes: Sequence[Any]) -> list[Any]:
    """The nodes, sorted where each that shows something says its own place; as they are written otherwise."""
    shown = [node for node in nodes if _is_shown(node)]
    placed = [(box, node) for node in shown if (box := _box(node))]
    if len(placed) < len(shown) or not 1 < len(placed) <= _MOST:
        return list(nodes)
    ordered = iter([node for _box, node in _cut(placed)])
    taken = set(map(id, shown))
    return [next(ordered) if id(node) in taken else node for node in nodes]


def _is_shown(node: Any) -> bool:
    """Says something by itself: a shape without text is a background or a frame, a picture may be one."""
    name = _name(node)
    return name in {"graphicFrame", "grpSp"} or (name == "sp" and any(t.text for t in node.iter(f"{A}t")))


def _name(node: Any) -> str:
    return str(node.tag).rpartition("}")[2]


def _box(node: Any) -> Box | None:
    frame = next((each for each in node if _name(each) in {"spPr", "grpSpPr", "xfrm"}), None)
    if frame is not None and _name(frame) != "xfrm":
        frame = frame.find(f"{A}xfrm")
    offset, size = (frame.find(f"{A}off"), frame.find(f"{A}ext")) if frame is not None else (None, None)
    if offset is None or size is None:
        return None
    try:
        left, top = int(offset.get("x", "")), int(offset.get("y", ""))
        return left, top, left + int(size.get("cx", "")), top + int(size.get("cy", ""))
    except ValueError:
        return None


def _cut(placed: Sequence[_Placed]) -> list[_Placed]:
    """Bands first, then columns; shapes on top of each other stay as they are written."""
    if len(placed) < 2:
        return list(placed)
    for low, high in ((1, 3), (0, 2)):
        groups = _groups(placed, low, high)
        if len(groups) > 1:
            return [each for group in groups for each in _cut(group)]
    return list(placed)


def _groups(placed: Sequence[_Placed], low: int, high: int) -> list[list[_Placed]]:
    """Runs that a gap parts, between the sides `low` and `high` of their boxes; in a run as they are written."""
    order = {id(each): place for place, each in enumerate(placed)}
    groups: list[list[_Placed]] = []
    reached: int | None = None
    for each in sorted(placed, key=lambda each: each[0][low]):
        if reached is not None and each[0][low] < reached - _OVERLAP:
            groups[-1].append(each)
        else:
            groups.append([each])
        reached = each[0][high] if reached is None else max(reached, each[0][high])
    return [sorted(group, key=lambda each: order[id(each)]) for group in groups]
