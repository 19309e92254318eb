"""How an audit entry's detail reads: one row per field, with what was before and after."""

import json
from collections.abc import Mapping
from typing import Any

from django.template import Library

register = Library()


@register.filter
def changes(detail: Mapping[str, Any]) -> list[dict[str, str]]:
    """Rows of name, before, after. Equal fields are left out; a plain value stands under `after`."""
    before, after = detail.get("before"), detail.get("after")
    rows = _compared(before, after) if "before" in detail or "after" in detail else []
    plain = {name: value for name, value in detail.items() if name not in ("before", "after")}
    return rows + [
        {"name": name, "before": "", "after": _text(value)} for name, value in sorted(plain.items())
    ]


def _compared(before: Any, after: Any) -> list[dict[str, str]]:
    if not isinstance(before, dict) or not isinstance(after, dict):
        return [{"name": "", "before": _text(before), "after": _text(after)}]
    return [
        {"name": name, "before": _text(before.get(name)), "after": _text(after.get(name))}
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
