"""Facts a correct parser yields for a file, and which of them a parse fulfils. Compared without white space.

A fact is one entry of a record: one string to contain, one row to keep together, one page of one string.
Keys: must_contain, ocr_contain (read from a picture: compared by letters and figures, a few of them may be wrong),
headings (in order), must_keep_together (cells of one row), reading_order, pages and slides (their number), page_of and
slide_of (the number that the string stands on), sheets (each a heading), sheet_of (the heading that the string stands
below), attachments (each a part of that name), outline, comments, notes_text, encoding, must_not_contain,
must_not_contain_visible, expected_error, expected_quality. A key that is none of these counts as missing.
"""

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ingestion.parsing.elements import Kind, ParsedDocument, PartRole
from ingestion.parsing.errors import Rejected

NOT_FACTS = frozenset({"file", "note", "split", "limits", "password"})
# A text file under the name of another format is damaged to its reader; the verdict only says it more exactly.
_SAME_ERROR = {"corrupt": {"corrupt", "wrong_name"}, "truncated": {"truncated", "corrupt"}}
_NO_TEXT = frozenset({"no_text", "empty"})
_SPACE = re.compile(r"\s+")
_MISREAD = 0.15  # share of the characters that reading from a picture may get wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One expectation and whether it holds."""

    key: str
    expected: str
    holds: bool


def check(
    record: dict[str, Any],
    outcome: ParsedDocument | Rejected,
    attached: Sequence[ParsedDocument] = (),
) -> list[Fact]:
    """Judge every fact of one record against the parse, or against the reason why there is none.

    attached: what the attachments of the file gave; they are documents of their own, so only strings to contain,
    or not to contain, are looked for in them too.
    """
    facts: list[Fact] = []
    view = _View(outcome, attached) if isinstance(outcome, ParsedDocument) else None
    for key, expected in record.items():
        if key in NOT_FACTS:
            continue
        if key in {"expected_error", "expected_quality"}:
            held = _VERDICTS[key](str(expected), outcome)
            facts.append(Fact(key=key, expected=str(expected), holds=held))
        elif view is None:
            facts.extend(Fact(key=key, expected=text, holds=False) for text in _entries(expected))
        else:
            judge = _JUDGES.get(key, _none)
            facts.extend(Fact(key=key, expected=text, holds=holds) for text, holds in judge(view, expected))
    return facts


def _error_holds(expected: str, outcome: ParsedDocument | Rejected) -> bool:
    return isinstance(outcome, Rejected) and outcome.code in _SAME_ERROR.get(expected, {expected})


def _quality_holds(expected: str, outcome: ParsedDocument | Rejected) -> bool:
    """A file that needs OCR got it; one without any text is refused for that."""
    if isinstance(outcome, ParsedDocument):
        return expected == "needs OCR" and outcome.quality.ocr_pages > 0
    return "no text" in expected and outcome.code in _NO_TEXT


_VERDICTS: dict[str, Callable[[str, ParsedDocument | Rejected], bool]] = {
    "expected_error": _error_holds,
    "expected_quality": _quality_holds,
}


def _entries(expected: Any) -> list[str]:
    if isinstance(expected, dict):
        return [f"{text} @ {place}" for text, place in expected.items()]
    return [_said(entry) for entry in expected] if isinstance(expected, list) else [str(expected)]


def _said(entry: Any) -> str:
    return " | ".join(map(str, entry)) if isinstance(entry, list) else str(entry)


def squeeze(text: str) -> str:
    """The text without any white space."""
    return _SPACE.sub("", text)


def letters(text: str) -> str:
    """Only letters and figures, in one width and case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def contains_loosely(text: str, wanted: str) -> bool:
    """Whether a stretch of `text` is `wanted` but for a few characters: wrong, missing or too many."""
    if wanted in text:
        return True
    fewest = list(range(len(wanted) + 1))  # changes that make wanted[:n] a stretch ending here
    most = int(len(wanted) * _MISREAD)
    for character in text:
        before, fewest[0] = fewest[0], 0
        for place, other in enumerate(wanted, start=1):
            changes = min(before + (character != other), fewest[place] + 1, fewest[place - 1] + 1)
            before, fewest[place] = fewest[place], changes
        if fewest[-1] <= most:
            return True
    return False


class _View:
    """A parsed document as the judges look at it, squeezed once. `within` is its text and that of its attachments."""

    def __init__(self, document: ParsedDocument, attached: Sequence[ParsedDocument]) -> None:
        self.document = document
        self.text = _whole(document)
        self.within = "\x1f".join([self.text, *map(_whole, attached)])
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


def _whole(document: ParsedDocument) -> str:
    return squeeze("".join(element.text for element in document.elements))


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
        yield text, squeeze(text) in view.within


def _recognised(view: _View, expected: list[str]) -> _Judged:
    read = letters(view.within)
    for text in expected:
        yield text, contains_loosely(read, letters(text))


def _absent(view: _View, expected: list[str]) -> _Judged:
    for text in expected:
        yield text, squeeze(text) not in view.within


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


def _sheets(view: _View, expected: list[str]) -> _Judged:
    for name in expected:
        yield name, squeeze(name) in view.headings


def _sheet_of(view: _View, expected: dict[str, str]) -> _Judged:
    for text, sheet in expected.items():
        below = "".join(e.text for e in view.document.elements if sheet in e.heading_path)
        yield f"{text} @ {sheet}", squeeze(text) in squeeze(below)


def _attachments(view: _View, expected: list[str]) -> _Judged:
    kept = {part.name for part in view.document.parts if part.role is PartRole.ATTACHMENT and part.size_bytes}
    for name in expected:
        yield name, name in kept


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
    "ocr_contain": _recognised,
    "must_not_contain": _absent,
    "must_not_contain_visible": _absent,
    "headings": _headings,
    "must_keep_together": _together,
    "reading_order": _ordered,
    "page_of": _page_of,
    "slide_of": _page_of,
    "sheet_of": _sheet_of,
    "pages": _pages,
    "slides": _pages,
    "sheets": _sheets,
    "attachments": _attachments,
    "encoding": _encoding,
    "comments": _noted,
    "notes_text": _noted,
    "outline": _outline,
}
