"""Facts a correct parser yields for a file, and which of them a parse fulfils. Compared without white space.

A fact is one entry of a record: one string to contain, one row to keep together, one page of one string.
Keys: must_contain, headings (in order), must_keep_together (cells of one row), reading_order, page_of, pages, outline,
comments, notes_text, encoding, must_not_contain, must_not_contain_visible, expected_error, expected_quality; the
others (ocr_contain, slides, sheets, attachments …) belong to kinds without a parser and count as missing.
"""

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ingestion.parsing.elements import Kind, ParsedDocument
from ingestion.parsing.errors import Rejected

NOT_FACTS = frozenset({"file", "note", "split", "limits", "password"})
# A text file under the name of another format is damaged to its reader; the verdict only says it more exactly.
_SAME_ERROR = {"corrupt": {"corrupt", "wrong_name"}, "truncated": {"truncated", "corrupt"}}
_NEEDS_OCR = frozenset({"no_text_layer", "no_text"})
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One expectation and whether it holds."""

    key: str
    expected: str
    holds: bool


def check(record: dict[str, Any], outcome: ParsedDocument | Rejected) -> list[Fact]:
    """Judge every fact of one record against the parse, or against the reason why there is none."""
    facts: list[Fact] = []
    view = _View(outcome) if isinstance(outcome, ParsedDocument) else None
    for key, expected in record.items():
        if key in NOT_FACTS:
            continue
        if key in {"expected_error", "expected_quality"}:
            facts.append(
                Fact(key=key, expected=str(expected), holds=_verdict_holds(key, str(expected), outcome))
            )
        elif view is None:
            facts.extend(Fact(key=key, expected=text, holds=False) for text in _entries(expected))
        else:
            judge = _JUDGES.get(key, _none)
            facts.extend(Fact(key=key, expected=text, holds=holds) for text, holds in judge(view, expected))
    return facts


def _verdict_holds(key: str, expected: str, outcome: ParsedDocument | Rejected) -> bool:
    if not isinstance(outcome, Rejected):
        return False
    if key == "expected_quality":
        return expected == "needs OCR" and outcome.code in _NEEDS_OCR
    return outcome.code in _SAME_ERROR.get(expected, {expected})


def _entries(expected: Any) -> list[str]:
    if isinstance(expected, dict):
        return [f"{text} @ {place}" for text, place in expected.items()]
    return [_said(entry) for entry in expected] if isinstance(expected, list) else [str(expected)]


def _said(entry: Any) -> str:
    return " | ".join(map(str, entry)) if isinstance(entry, list) else str(entry)


def squeeze(text: str) -> str:
    """The text without any white space."""
    return _SPACE.sub("", text)


class _View:
    """A parsed document as the judges look at it, squeezed once."""

    def __init__(self, document: ParsedDocument) -> None:
        self.document = document
        self.text = squeeze("".join(element.text for element in document.elements))
        self.headings = [squeeze(e.text) for e in document.elements if e.kind in {Kind.HEADING, Kind.TITLE}]
        self.notes = squeeze("".join(e.text for e in document.elements if e.kind is Kind.NOTE))
        self.rows = [squeeze(row) for row in _rows(document)]

    def page_text(self, page: int) -> str:
        return squeeze(
            "".join(
                element.text
                for element in self.document.elements
                if element.page == page or any(box.page == page for box in element.boxes)
            )
        )


def _rows(document: ParsedDocument) -> Iterator[str]:
    """What is surely kept together: a row of a table, a line of any other element."""
    for element in document.elements:
        if element.table:
            yield from ("\x1f".join(row) for row in element.table.rows)
        else:
            yield from element.text.split("\n")


_Judged = Iterator[tuple[str, bool]]


def _contained(view: _View, expected: list[str]) -> _Judged:
    for text in expected:
        yield text, squeeze(text) in view.text


def _absent(view: _View, expected: list[str]) -> _Judged:
    for text in expected:
        yield text, squeeze(text) not in view.text


def _headings(view: _View, expected: list[str]) -> _Judged:
    """Each expected heading is a heading, after the one before it; one miss does not fail the rest."""
    position = 0
    for text in expected:
        found = next(
            (n for n in range(position, len(view.headings)) if squeeze(text) == view.headings[n]), None
        )
        if found is not None:
            position = found + 1
        yield text, found is not None


def _together(view: _View, expected: list[list[str]]) -> _Judged:
    for cells in expected:
        wanted = [squeeze(cell) for cell in cells]
        yield _said(cells), any(all(cell in row for cell in wanted) for row in view.rows)


def _ordered(view: _View, expected: list[list[str]]) -> _Judged:
    for texts in expected:
        position = 0
        for text in texts:
            position = view.text.find(squeeze(text), position)
            if position < 0:
                break
        yield _said(texts), position >= 0


def _page_of(view: _View, expected: dict[str, int]) -> _Judged:
    for text, page in expected.items():
        yield f"{text} @ {page}", squeeze(text) in view.page_text(page)


def _pages(view: _View, expected: int) -> _Judged:
    yield str(expected), view.document.quality.pages == expected


def _encoding(view: _View, expected: str) -> _Judged:
    try:
        yield expected, codecs.lookup(view.document.encoding).name == codecs.lookup(expected).name
    except LookupError:
        yield expected, False


def _noted(view: _View, expected: list[str]) -> _Judged:
    for text in expected:
        yield text, squeeze(text) in view.notes


def _outline(view: _View, expected: list[Any]) -> _Judged:
    written = [squeeze(str(title)) for title in view.document.properties.get("outline", [])]
    for text in expected:
        yield (
            _said(text),
            any(squeeze(str(part)) in written for part in (text if isinstance(text, list) else [text])),
        )


def _none(view: _View, expected: Any) -> _Judged:
    for text in _entries(expected):
        yield text, False


_JUDGES: dict[str, Callable[[_View, Any], _Judged]] = {
    "must_contain": _contained,
    "must_not_contain": _absent,
    "must_not_contain_visible": _absent,
    "headings": _headings,
    "must_keep_together": _together,
    "reading_order": _ordered,
    "page_of": _page_of,
    "pages": _pages,
    "encoding": _encoding,
    "comments": _noted,
    "notes_text": _noted,
    "outline": _outline,
}
