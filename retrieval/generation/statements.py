"""What may be quoted from a passage: whole sentences, whole list items, whole table rows with their header. Pure.

Each statement knows the element it stands in, so that a citation points at exactly that place.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ingestion.chunking.sentences import split_sentences
from retrieval.values import Passage

LONGEST = 600  # characters; what is longer is no answer
_SPACE = re.compile(r"\s+")
_HEADINGS = frozenset({"title", "heading"})
_ITEMS = frozenset({"list_item", "step"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceElement:
    """One element of a version as it is stored: `order` counts from 0, `table` is {rows, header_rows} or None."""

    order: int
    kind: str
    text: str
    page: int | None = None
    table: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """text: as it is shown; quote: as it stands in the source. passage: index of its passage, 0 is the best.

    is_item: a list item or a step (is_step); leads_list: it introduces the items after it.
    """

    passage: int
    element: int
    page: int | None
    text: str
    quote: str
    is_item: bool = False
    is_step: bool = False
    leads_list: bool = False


def statements_of(index: int, passage: Passage, elements: Sequence[SourceElement]) -> list[Statement]:
    """The statements of a passage in reading order, each once.

    index: the passage's place in the ranking. elements: those between the passage's first and last element. Only what
    stands in the passage itself counts; without elements its text is cut by lines.
    """
    inside = squeezed(passage.text)
    found: dict[str, Statement] = {}
    for element in elements or _lines_as_elements(passage):
        for text, quote in _quotable(element):
            key = squeezed(quote)
            if key and key in inside and len(text) <= LONGEST:
                statement = Statement(
                    passage=index,
                    element=element.order,
                    page=element.page,
                    text=text,
                    quote=quote,
                    is_item=element.kind in _ITEMS,
                    is_step=element.kind == "step",
                    leads_list=quote.endswith((":", "：")),
                )
                found.setdefault(key, statement)
    return list(found.values())


def _quotable(element: SourceElement) -> Iterator[tuple[str, str]]:
    """(shown text, verbatim text) of each statement of an element."""
    if element.kind in _HEADINGS:
        return
    if element.table:
        yield from _rows(element.text, element.table)
    elif element.kind in _ITEMS or element.kind == "code":
        yield _tidy(element.text), element.text.strip()
    else:
        for sentence in split_sentences(element.text):
            yield _tidy(sentence), sentence.strip()


def _rows(text: str, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each data row as `header: cell; header: cell`; rows of a table without header as their cells."""
    rows = [[_tidy(str(cell)) for cell in row] for row in table["rows"]]
    header_rows = min(int(table["header_rows"]), max(len(rows) - 1, 0))
    header = rows[header_rows - 1] if header_rows else []
    lines = text.split("\n")
    captions = len(lines) - len(rows)
    for number, row in enumerate(rows):
        if number < header_rows:
            continue
        is_by_line = captions in (0, 1)
        quote = lines[number + captions].strip() if is_by_line else " | ".join(row)
        yield _labelled(header, row), quote


def _labelled(header: Sequence[str], row: Sequence[str]) -> str:
    names = [*header, *[""] * (len(row) - len(header))]
    cells = [
        f"{name}: {cell}" if name and name != cell else cell
        for name, cell in zip(names, row, strict=False)
        if cell
    ]
    return "; ".join(dict.fromkeys(cells))


def _lines_as_elements(passage: Passage) -> Iterator[SourceElement]:
    for line in passage.text.split("\n"):
        yield SourceElement(order=passage.first_element, kind="paragraph", text=line, page=passage.page)


def _tidy(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def squeezed(text: str) -> str:
    """Text by which a quote is found whatever became of its spaces and line breaks."""
    return _SPACE.sub("", text)
