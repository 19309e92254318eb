"""What belongs together in a kind of text: clauses, procedures, tables, questions with answers, slides, functions.

Units are marked on atoms before they are counted. Neighbours of one unit share a chunk where they fit into one; what is
longer is cut inside, and says again what it is about. The general profile has no units.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ingestion.chunking.atoms import (
    ELEMENT,
    FREE,
    HEADINGS,
    ITEM,
    LINE,
    LISTS,
    NEVER,
    STEP,
    Atom,
    Lead,
)
from ingestion.chunking.drafts import Shape
from ingestion.parsing.elements import Element, Kind

_LABEL = 60  # characters of what a continued unit says again
_QUESTION = 300  # characters; a longer element that ends in a question mark asks nothing of the reader

_CHINESE_NUMBER = "[一二三四五六七八九十百千零〇两\\d]+"
# Ways to number clauses, from the outermost: the first that a text uses twice makes its units.
_NUMBERINGS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\s*第\s*{_CHINESE_NUMBER}\s*条(?:之{_CHINESE_NUMBER})?",
        r"\s*(?:Article|ARTICLE)\s+(?:\d+|[IVXLC]+)\b\.?",
        r"\s*(?:Section|SECTION|Clause|CLAUSE|Sec\.|§{1,2})\s*\d+(?:\.\d+)*\b\.?",
        rf"\s*{_CHINESE_NUMBER}、",
        r"\s*\d{1,3}[.．](?=\s|[^\d.\s])",
        r"\s*\d{1,3}\.\d{1,3}\.?(?=\s|[^\d.\s])",
    )
)
_SUB_CLAUSE = re.compile(
    rf"\s*(?:[（(]\s*(?:{_CHINESE_NUMBER}|[a-zA-Z]|[ivxlc]+)\s*[）)]|\d{{1,3}}(?:\.\d{{1,3}})+\.?\s|第\s*{_CHINESE_NUMBER}\s*[款项])"
)
_WARNING = re.compile(
    r"\s*(?:注意|警告|危险|小心|提示|重要|Warning|WARNING|Caution|CAUTION|Danger|DANGER|Note|NOTE|Important)\s*[:：!！]"
)
_ASKED = re.compile(r"\s*(?:问题?|提问|Q(?:uestion)?)\s*\d{0,3}\s*[:：.、．)]", re.IGNORECASE)
_ANSWERED = re.compile(r"\s*(?:答案?|回答|A(?:nswer)?)\s*\d{0,3}\s*[:：.、．)]", re.IGNORECASE)
_DEFINITION = re.compile(
    r"(?:export\s+|default\s+|pub(?:\([^)]*\))?\s+|public\s+|private\s+|protected\s+|static\s+|final\s+|abstract\s+|async\s+|"
    r"unsafe\s+|virtual\s+|inline\s+|override\s+)*"
    r"(?:def|class|func|function|fn|struct|enum|interface|trait|impl|type|module|namespace|object|record|sub|procedure)\b"
    r"|[A-Za-z_][\w:<>,*&\[\] ]*\s[*&]*[\w:~]+\s*\([^;]*\)\s*(?:const\s*)?\{\s*$"
    r"|(?:create|CREATE)\s+(?:or\s+replace\s+|OR\s+REPLACE\s+)?\w+"
)
_ABOVE_A_DEFINITION = re.compile(r"(?:@|#(?!include)|//|/\*|\*|--|\[)")


def arranged(atoms: Sequence[Atom], elements: Sequence[Element], shape: Shape) -> list[Atom]:
    """The atoms with the units, borders and leads of a shape."""
    arrange = _ARRANGEMENTS.get(shape)
    return list(atoms) if arrange is None else arrange(atoms, elements)


def held(atoms: Sequence[Atom], fits: Callable[[Sequence[Atom]], bool]) -> list[Atom]:
    """The counted atoms; no border within a unit that `fits` into a chunk."""
    kept: list[Atom] = []
    for run in runs_of_units(atoms):
        if run[0].unit and fits(run):
            kept.append(run[0])
            kept.extend(replace(atom, border=max(atom.border, NEVER)) for atom in run[1:])
        else:
            kept.extend(run)
    return kept


def runs_of_units(atoms: Sequence[Atom]) -> Iterator[list[Atom]]:
    """Neighbours of one unit together; those of none too."""
    run: list[Atom] = []
    for atom in atoms:
        if run and atom.unit != run[-1].unit:
            yield run
            run = []
        run.append(atom)
    if run:
        yield run


def _marked(
    atoms: Sequence[Atom], starts: Sequence[bool], inside: Sequence[bool], *, alone: bool = False
) -> list[Atom]:
    """Units that begin at `starts` and go on while `inside`; a border before one costs nothing."""
    marked: list[Atom] = []
    unit = 0
    current = 0
    for atom, is_start, is_inside in zip(atoms, starts, inside, strict=True):
        if is_start:
            unit += 1
            current = unit
        elif not is_inside:
            current = 0
        if not current:
            marked.append(atom)
        elif is_start:
            marked.append(replace(atom, unit=current, alone=alone, border=FREE))
        else:
            marked.append(replace(atom, unit=current, alone=alone))
    return marked


def _labelled(atoms: Sequence[Atom], label: Callable[[Atom], str]) -> list[Atom]:
    """Atoms after the first of their unit say its label again when a chunk begins with them, unless headings tell it."""
    labelled: list[Atom] = []
    for run in runs_of_units(atoms):
        first = run[0]
        text = label(first) if first.unit and first.own_path is None else ""
        labelled.append(first)
        labelled.extend(
            replace(atom, lead=Lead(text=text)) if text and atom.lead is None else atom for atom in run[1:]
        )
    return labelled


# --- contracts and law ------------------------------------------------------------------------------------


def _clauses(atoms: Sequence[Atom], _elements: Sequence[Element]) -> list[Atom]:
    """A unit is a clause with its number and its sub-clauses."""
    begins = [index == 0 or atom.element != atoms[index - 1].element for index, atom in enumerate(atoms)]
    numbering = _numbering([atom.text for atom, first in zip(atoms, begins, strict=True) if first])
    if numbering is None:
        return list(atoms)
    starts = [
        atom.kind is not Kind.TABLE
        and (first or numbering is _NUMBERINGS[0])
        and numbering.match(atom.text) is not None
        for atom, first in zip(atoms, begins, strict=True)
    ]
    marked = _marked(atoms, starts, _below_start(atoms, starts))
    bordered = [
        replace(atom, border=_clause_border(atom, starts[index], begins[index]))
        if atom.unit and atom.border < NEVER
        else atom
        for index, atom in enumerate(marked)
    ]
    return _labelled(bordered, lambda first: _label(first, numbering))


def _numbering(texts: Sequence[str]) -> re.Pattern[str] | None:
    return next(
        (
            numbering
            for numbering in _NUMBERINGS
            if sum(numbering.match(text) is not None for text in texts) > 1
        ),
        None,
    )


def _below_start(atoms: Sequence[Atom], starts: Sequence[bool]) -> list[bool]:
    """Whether an atom still stands under the start before it: no other heading of its rank or above has come."""
    inside: list[bool] = []
    start: Atom | None = None
    for atom, is_start in zip(atoms, starts, strict=True):
        if is_start:
            start = atom
        elif start is not None and not _is_under(atom, start):
            start = None
        inside.append(start is not None)
    return inside


def _is_under(atom: Atom, start: Atom) -> bool:
    if atom.element == start.element:
        return True
    if start.own_path is not None:
        return atom.path[: len(start.own_path)] == start.own_path and atom.own_path != start.own_path
    return atom.own_path is None and atom.path == start.path


def _clause_border(atom: Atom, is_start: bool, begins: bool) -> float:
    if is_start:
        return FREE
    if _SUB_CLAUSE.match(atom.text):
        return ITEM
    return max(atom.border, STEP) if begins else max(atom.border, LINE)


def _label(first: Atom, numbering: re.Pattern[str]) -> str:
    """The clause's first line if it is short, else its number."""
    line = first.text.strip()
    if len(line) <= _LABEL // 2:
        return line
    number = numbering.match(first.text)
    return number[0].strip() if number else line[:_LABEL]


# --- manuals ----------------------------------------------------------------------------------------------


def _procedures(atoms: Sequence[Atom], _elements: Sequence[Element]) -> list[Atom]:
    """A unit is a list of steps with what leads it in and the warnings within and before it."""
    listed = [atom.kind in LISTS for atom in atoms]
    joined = [listed[index] or _is_within_list(atoms, listed, index) for index in range(len(atoms))]
    starts = [
        is_in and (index == 0 or not joined[index - 1] or atoms[index].path != atoms[index - 1].path)
        for index, is_in in enumerate(joined)
    ]
    return _marked(atoms, starts, joined)


def _is_within_list(atoms: Sequence[Atom], listed: Sequence[bool], index: int) -> bool:
    """A lead-in or warning before a list, or a short run of other things between two of its items."""
    atom = atoms[index]
    if atom.kind in HEADINGS:
        return False
    after = next(
        (
            near
            for near in range(index + 1, min(index + 4, len(atoms)))
            if listed[near] or atoms[near].kind in HEADINGS
        ),
        None,
    )
    if after is None or not listed[after] or atoms[after].path != atom.path:
        return False
    if any(listed[near] and atoms[near].path == atom.path for near in range(max(0, index - 3), index)):
        return True
    is_next = after == index + 1
    return is_next and (atom.text.rstrip().endswith((":", "：")) or _WARNING.match(atom.text) is not None)


# --- tables, questions, slides ----------------------------------------------------------------------------


def _tables(atoms: Sequence[Atom], _elements: Sequence[Element]) -> list[Atom]:
    """A unit is a table with the caption before it; only rows of one table share a chunk."""
    inside = [
        atom.kind is Kind.TABLE or (atom.kind is Kind.CAPTION and _next_kind(atoms, index) is Kind.TABLE)
        for index, atom in enumerate(atoms)
    ]
    starts = [
        is_in
        and (
            index == 0
            or not inside[index - 1]
            or (atom.element != atoms[index - 1].element and atoms[index - 1].kind is not Kind.CAPTION)
        )
        for index, (atom, is_in) in enumerate(zip(atoms, inside, strict=True))
    ]
    return _marked(atoms, starts, inside, alone=True)


def _next_kind(atoms: Sequence[Atom], index: int) -> Kind | None:
    return atoms[index + 1].kind if index + 1 < len(atoms) else None


def _questions(atoms: Sequence[Atom], elements: Sequence[Element]) -> list[Atom]:
    """A unit is a question with its answer; in a table it is a row."""
    starts = [_asks(atoms, index, elements) for index in range(len(atoms))]
    marked = _marked(atoms, starts, _below_start(atoms, starts), alone=True)
    return _labelled(marked, lambda first: first.text.strip()[:_QUESTION])


def _asks(atoms: Sequence[Atom], index: int, elements: Sequence[Element]) -> bool:
    atom = atoms[index]
    previous = atoms[index - 1] if index else None
    if atom.kind is Kind.TABLE:  # the first data row takes the header rows along
        if previous is None or previous.element != atom.element:
            return True
        return atom.lead is not None and (previous.lead is not None or not _has_head(atoms, index))
    if previous is not None and previous.element == atom.element:
        return False
    text = elements[atom.element].text.strip()
    if _ASKED.match(text):
        return True
    return text.endswith(("?", "？")) and len(text) <= _QUESTION and not _ANSWERED.match(text)


def _has_head(atoms: Sequence[Atom], index: int) -> bool:
    """Whether all rows of the table before this one are caption and header."""
    return atoms[index - 1].lead is None


def _slides(atoms: Sequence[Atom], elements: Sequence[Element]) -> list[Atom]:
    """A unit is a slide: a page, or in a file without pages what stands under one of its upper headings."""
    pages = [elements[atom.element].page for atom in atoms]
    if any(page is not None for page in pages):
        starts = [index == 0 or page != pages[index - 1] for index, page in enumerate(pages)]
    else:
        tops = [atom.path[:1] for atom in atoms]
        starts = [index == 0 or top != tops[index - 1] for index, top in enumerate(tops)]
    inside = [True] * len(atoms)
    return _labelled(_marked(atoms, starts, inside, alone=True), lambda first: first.text.strip()[:_LABEL])


# --- code -------------------------------------------------------------------------------------------------


def _functions(atoms: Sequence[Atom], _elements: Sequence[Element]) -> list[Atom]:
    """A unit is a function or class with the comments and decorators above it."""
    starts = [False] * len(atoms)
    for index, atom in enumerate(atoms):
        if atom.kind is not Kind.CODE:
            continue
        if index == 0 or atoms[index - 1].element != atom.element:
            starts[index] = True
        elif _DEFINITION.match(atom.text):
            starts[_first_line_above(atoms, index)] = True
    inside = [atom.kind is Kind.CODE for atom in atoms]
    marked = [
        replace(atom, border=_line_border(atom, starts[index])) if atom.kind is Kind.CODE else atom
        for index, atom in enumerate(_marked(atoms, starts, inside))
    ]
    return _labelled(marked, lambda first: first.text.strip()[: 2 * _LABEL])


def _first_line_above(atoms: Sequence[Atom], index: int) -> int:
    """Where the comments and decorators right above a definition begin."""
    while (
        index
        and atoms[index].glue == "\n"
        and atoms[index - 1].element == atoms[index].element
        and _ABOVE_A_DEFINITION.match(atoms[index - 1].text)
    ):
        index -= 1
    return index


def _line_border(atom: Atom, is_start: bool) -> float:
    if is_start:
        return FREE
    if _DEFINITION.match(atom.text.lstrip()):  # a method
        return ELEMENT
    return atom.border


_ARRANGEMENTS: dict[Shape, Callable[[Sequence[Atom], Sequence[Element]], list[Atom]]] = {
    Shape.MANUAL: _procedures,
    Shape.CONTRACT: _clauses,
    Shape.TABLE: _tables,
    Shape.QA: _questions,
    Shape.SLIDES: _slides,
    Shape.CODE: _functions,
}
