"""A direct answer as the search page shows it: its lines with numbered links to the passages, and the computed rows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from retrieval.evidence import is_chinese
from retrieval.links import source_url
from retrieval.values import DirectAnswer, Passage

KINDS = {
    "table": gettext_lazy("Computed from a table"),
    "faq": gettext_lazy("Answer of the FAQ"),
    "catalogue": gettext_lazy("From the list of documents"),
}
_MARKER = re.compile(r" ?\[(\d{1,3})\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownDirect:
    """lines: escaped, with links. url: where the rest of a list can be looked through, "" without one. head, rows: a small table to show, empty without one."""

    kind: str
    title: str
    lines: tuple[SafeString, ...]
    language: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    url: str = ""


def shown_direct(direct: DirectAnswer | None) -> ShownDirect | None:
    if direct is None:
        return None
    lines = [line for line in direct.text.split("\n") if line.strip()]
    head, rows = direct.detail.get("head", ()), direct.detail.get("rows", ())
    return ShownDirect(
        kind=direct.kind,
        title=str(KINDS.get(direct.kind, direct.kind)),
        lines=tuple(_linked(line.removeprefix("- "), direct.passages) for line in lines),
        url=further_url(direct),
        language="zh" if is_chinese(direct.text) else "en",
        head=tuple(head) if len(rows) > 1 or len(head) > 1 else (),
        rows=tuple(tuple(row) for row in rows) if len(rows) > 1 or len(head) > 1 else (),
    )


def further_url(direct: DirectAnswer) -> str:
    """The address of the whole list, where the answer shows a part of it."""
    is_cut = direct.kind == "catalogue" and direct.detail["count"] > len(direct.passages) > 0
    return str(direct.detail["url"]) if is_cut else ""


def _linked(line: str, passages: Sequence[Passage]) -> SafeString:
    """The line with a link for each marker that has a passage; others are dropped."""
    out: list[str] = []
    at = 0
    for match in _MARKER.finditer(line):
        out.append(conditional_escape(line[at : match.start()]))
        n = int(match[1])
        if 1 <= n <= len(passages):
            out.append(_link(n, passages[n - 1]))
        at = match.end()
    out.append(conditional_escape(line[at:]))
    return mark_safe("".join(out))  # noqa: S308 every part was escaped above


def _link(n: int, passage: Passage) -> SafeString:
    label = _("Source %(n)d") % {"n": n}
    url = source_url(passage)
    return format_html(
        '<a class="cite" href="{}" aria-label="{}" title="{}">{}</a>', url, label, passage.title, n
    )
