"""JSON from outside, held to what can be stored and given back: bounded depth, finite numbers, plain names."""

import math
from collections.abc import Iterable
from typing import Any

MAX_DEPTH = 64


def is_storable(text: str) -> bool:
    """Whether PostgreSQL and UTF-8 can hold the text: it has neither NUL nor lone surrogates."""
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def is_usable(value: Any, *, storable_texts: bool = False) -> bool:
    """Whether a decoded value keeps to the limits; with `storable_texts` also each text in it, not only the names."""
    level = [value]
    for _depth in range(MAX_DEPTH):
        if not all(_is_plain(item, storable_texts) for item in level):
            return False
        level = [inner for item in level for inner in _inside(item)]
        if not level:
            return True
    return False


def _is_plain(item: Any, storable_texts: bool) -> bool:
    if isinstance(item, dict):
        return all(is_storable(str(name)) for name in item)
    if isinstance(item, float):
        return math.isfinite(item)
    return not (storable_texts and isinstance(item, str)) or is_storable(item)


def _inside(item: Any) -> Iterable[Any]:
    if isinstance(item, dict):
        return item.values()
    return item if isinstance(item, list) else ()
