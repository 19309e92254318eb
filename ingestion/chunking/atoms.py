"""Atoms: the smallest pieces of a document that chunking moves: a sentence, a list item, a step, a table row, a line of code.

An atom knows what a border before it would cost and what has to be repeated in front of it when a chunk begins there.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ingestion.chunking.sentences import cut_at_safe_places, split_sentences
from ingestion.parsing.elements import Element, Kind

HEADINGS = frozenset({Kind.TITLE, Kind.HEADING})
LISTS = frozenset({Kind.STEP, Kind.LIST_ITEM})
LONGEST_HEADING = 120  # characters; a longer one is text, and only its beginning stands in the heading path
_CLAUSE = re.compile(r"\s*第[一二三四五六七八九十百千零〇\d]+条")

# What a border before an atom costs, in units of ((size - goal) / goal) ** 2.
FREE, ELEMENT, ITEM, SENTENCE, LINE, STEP, FORCED, TORN = 0.0, 0.02, 0.1, 0.15, 0.4, 0.8, 1.5, 2.0
NEVER = 100.0  # dearer than any deviation from the wished size


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """What is repeated before an atom when a chunk begins with it: caption and header rows, or a list's lead-in."""

    text: str
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Atom:
    """`glue` joins it to the atom before. `own_path` is set for headings: the path of what stands under them.

    `border` is the cost of a border before it; `tokens` is 0 until counted. Neighbours of one `unit` (not 0) belong
    together, and make a chunk by themselves if they are `alone`. A correction's text reaches to the element `until`.
    """

    element: int
    kind: Kind
    path: tuple[str, ...]
    text: str
    glue: str = "\n"
    border: float = ELEMENT
    lead: Lead | None = None
    own_path: tuple[str, ...] | None = None
    tokens: int = 0
    unit: int = 0
    alone: bool = False
    correction: int | None = None
    until: int | None = None

    @property
    def last_element(self) -> int:
        return self.element if self.until is None else self.until

    def is_told_by(self, path: tuple[str, ...]) -> bool:
        """Whether this is a heading whose whole text stands in a heading path."""
        own = self.own_path
        return (
            own is not None
            and self.kind is Kind.HEADING
            and len(self.text) <= LONGEST_HEADING
            and path[: len(own)] == own
            and own[-1] == self.text
        )


def atoms_of(elements: Sequence[Element]) -> list[Atom]:
    """All atoms in reading order, not counted yet. Elements without visible text have none."""
    atoms: list[Atom] = []
    lead_in: Lead | None = None
    for index, element in enumerate(elements):
        if not element.text.strip():
            continue
        previous = atoms[-1] if atoms else None
        continues_list = element.kind in LISTS and previous is not None and previous.kind in LISTS
        if not continues_list:
            lead_in = _lead_in(previous, element) if element.kind in LISTS else None
        made = list(_element_atoms(index, elements, lead_in if continues_list else None))
        if made and (previous is None or _belongs_to(previous, element)):
            made[0] = replace(made[0], border=TORN)
        atoms.extend(made)
    return atoms


def _belongs_to(previous: Atom, element: Element) -> bool:
    """Whether `element` must not be torn from what stands before it: a heading, a caption, a lead-in."""
    if previous.kind in HEADINGS:
        return True
    if previous.kind is Kind.CAPTION:
        return element.kind is Kind.TABLE
    return element.kind is not Kind.HEADING and previous.text.rstrip().endswith((":", "："))


def _lead_in(previous: Atom | None, element: Element) -> Lead | None:
    if previous is None or previous.path != element.heading_path or previous.kind in HEADINGS:
        return None
    text = previous.text.strip()
    return Lead(text=text) if text.endswith((":", "：")) else None


def _element_atoms(index: int, elements: Sequence[Element], lead_in: Lead | None) -> Iterator[Atom]:
    element = elements[index]
    if element.kind in HEADINGS:
        yield from _heading_atoms(index, elements)
    elif element.kind is Kind.TABLE:
        yield from _row_atoms(index, elements)
    elif element.kind is Kind.CODE:
        yield from _line_atoms(index, element)
    elif element.kind in LISTS:
        border = STEP if element.kind is Kind.STEP else ITEM
        yield _atom(index, element, element.text, border=border, lead=lead_in)
    else:
        first = FREE if _CLAUSE.match(element.text) else ELEMENT
        for number, sentence in enumerate(split_sentences(element.text)):
            border = FREE if _CLAUSE.match(sentence) else SENTENCE
            yield _atom(
                index, element, sentence, glue="" if number else "\n", border=border if number else first
            )


def _atom(
    index: int, element: Element, text: str, *, border: float, glue: str = "\n", lead: Lead | None = None
) -> Atom:
    return Atom(
        element=index,
        kind=element.kind,
        path=element.heading_path,
        text=text,
        glue=glue,
        border=border,
        lead=lead,
    )


def _heading_atoms(index: int, elements: Sequence[Element]) -> Iterator[Atom]:
    element = elements[index]
    text = " ".join(element.text.split())
    path = _path_below(element, text, elements[index + 1] if index + 1 < len(elements) else None)
    border = FREE
    for number, piece in enumerate(split_sentences(text) if len(text) > LONGEST_HEADING else [text]):
        yield Atom(
            element=index,
            kind=element.kind,
            path=path,
            own_path=path,
            text=piece,
            glue="" if number else "\n",
            border=border,
        )
        border = TORN


def _path_below(heading: Element, text: str, following: Element | None) -> tuple[str, ...]:
    """The heading path of what stands under a heading; the parser may have shortened its text there."""
    if heading.kind is Kind.TITLE:
        return heading.heading_path
    depth = len(heading.heading_path)
    if following is not None and len(following.heading_path) > depth:
        below = following.heading_path[: depth + 1]
        if below[:depth] == heading.heading_path and text.startswith(below[depth]):
            return below
    return (*heading.heading_path, text[:LONGEST_HEADING])


def _line_atoms(index: int, element: Element) -> Iterator[Atom]:
    border = ELEMENT
    blank = False
    for line in element.text.split("\n"):
        if line.strip():
            yield _atom(
                index, element, line, glue="\n\n" if blank else "\n", border=ITEM if blank else border
            )
            border = LINE
        blank = not line.strip()


def _row_atoms(index: int, elements: Sequence[Element]) -> Iterator[Atom]:
    """One atom a row. Caption and header rows lead every data row, so that each row says what its cells mean.

    A part that repeats the header of the part before it, as parts of long tables do, says it only as that lead.
    """
    element = elements[index]
    head, rows = _head_and_rows(element)
    continues = bool(head and index and elements[index - 1].table) and (
        _head_and_rows(elements[index - 1])[0] == head
    )
    lead_text = "\n".join([*_caption_before(index, elements), *head])
    lead = Lead(text=lead_text) if lead_text else None
    for number, row in enumerate([*head, *rows]):
        is_head = number < len(head)
        border = (FREE if number == 0 else TORN) if number <= len(head) and not continues else ITEM
        if row.strip() and not (is_head and continues):
            yield _atom(index, element, row, border=border, lead=None if is_head or not number else lead)


def _head_and_rows(element: Element) -> tuple[list[str], list[str]]:
    caption, rows = _rows(element)
    header_rows = min(element.table.header_rows, len(rows) - 1) if element.table else 0
    return [*caption, *rows[:header_rows]], rows[header_rows:]


def _rows(element: Element) -> tuple[list[str], list[str]]:
    """Caption lines and row lines. The element's text says merged cells once; it is used where it is row by row."""
    lines = element.text.split("\n")
    if element.table is None:
        return [], lines
    rows = element.table.rows
    if len(lines) in {len(rows), len(rows) + 1} and rows:
        captions = len(lines) - len(rows)
        return lines[:captions], lines[captions:]
    return [], [" | ".join(" ".join(cell.split()) for cell in row) for row in rows] or lines


def _caption_before(index: int, elements: Sequence[Element]) -> list[str]:
    if index and elements[index - 1].kind is Kind.CAPTION:
        return [elements[index - 1].text]
    return []


def cut_atom(atom: Atom, longest: int) -> list[Atom]:
    """An atom that is too long by itself, in pieces: sentences first, then pieces of at most `longest` characters."""
    pieces: list[Atom] = []
    for sentence in split_sentences(atom.text) if atom.kind in LISTS else [atom.text]:
        border = SENTENCE
        for text in cut_at_safe_places(sentence, longest):
            piece = replace(atom, text=text, tokens=0)
            pieces.append(replace(piece, glue="", border=border) if pieces else piece)
            border = FORCED
    return pieces
