"""Corrections by people: a passage of a document becomes the texts that a person gave it, or nothing.

The passage is known by its quote, and by where it stood: it is looked for there first, then everywhere, nearest first. White
space does not count. Each text becomes a chunk by itself, so that no other profile, and no overlap, brings the old one back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ingestion.chunking.atoms import FREE, HEADINGS, Atom
from ingestion.parsing.elements import Kind

_BEGINNING = 8  # characters by which the place of a quote is found within an atom


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """The passage `quote`, last seen in the elements `first` to `last`, is to be the chunks `texts`; none: left out."""

    number: int
    first: int
    last: int
    quote: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Run:
    """Atoms from `start` to `end` (exclusive); `skip` characters before and `rest` after the quote are not part of it.

    Both count characters that are not white space.
    """

    start: int
    end: int
    skip: int
    rest: int


def pinned(atoms: Sequence[Atom], pins: Sequence[Pin]) -> tuple[list[Atom], tuple[int, ...]]:
    """The atoms with the corrections carried out in their order, and the numbers of those whose quote does not occur."""
    current = list(atoms)
    lost: list[int] = []
    unit = -1
    for pin in pins:
        run = _find(current, pin)
        if run is None:
            lost.append(pin.number)
            continue
        current = _replaced(current, run, pin, unit)
        unit -= len(pin.texts)
    return current, tuple(lost)


def _find(atoms: Sequence[Atom], pin: Pin) -> _Run | None:
    quote = squeezed(pin.quote)
    if not quote:
        return None
    here = [index for index, atom in enumerate(atoms) if pin.first <= atom.element <= pin.last]
    if (found := _find_among(atoms, here, quote)) is not None:
        return found
    middle = (pin.first + pin.last) / 2
    order = sorted(range(len(atoms)), key=lambda index: (abs(atoms[index].element - middle), index))
    return _find_among(atoms, order, quote)


def _find_among(atoms: Sequence[Atom], starts: Sequence[int], quote: str) -> _Run | None:
    """The first of the atoms at which the quote begins."""
    for index in starts:
        for skip in _offsets(squeezed(atoms[index].text), quote):
            if (found := _follow(atoms, index, skip, quote)) is not None:
                return found
    return None


def _offsets(text: str, quote: str) -> Iterator[int]:
    """Where in an atom's text the quote may begin."""
    beginning = quote[:_BEGINNING]
    at = text.find(beginning)
    while at >= 0:
        yield at
        at = text.find(beginning, at + 1)
    for size in range(
        min(len(beginning) - 1, len(text)), 0, -1
    ):  # an end of the atom that is shorter than that
        if text.endswith(quote[:size]):
            yield len(text) - size


def _follow(atoms: Sequence[Atom], start: int, skip: int, quote: str) -> _Run | None:
    """The run that says the quote from there; headings that the quote leaves out are passed over."""
    at, position, index = 0, skip, start
    while index < len(atoms):
        piece = squeezed(atoms[index].text)[position:]
        wanted = quote[at : at + len(piece)]
        if piece.startswith(wanted) and wanted:
            at += len(wanted)
            if at == len(quote):
                return _Run(start, index + 1, skip, len(piece) - len(wanted))
            if len(wanted) < len(piece):
                return None
        elif index == start or atoms[index].kind not in HEADINGS:
            return None
        index, position = index + 1, 0
    return None


def _replaced(atoms: Sequence[Atom], run: _Run, pin: Pin, unit: int) -> list[Atom]:
    covered = atoms[run.start : run.end]
    path = _shared_path(covered)
    start = run.start
    while start and not run.skip and atoms[start - 1].is_told_by(path) and path:
        start -= 1  # its own headings come along
    first, last = covered[0], covered[-1]
    before, after = [*atoms[:start]], [*atoms[run.end :]]
    if run.skip:
        before.append(replace(first, text=_prefix(first.text, run.skip), tokens=0))
    if run.rest:
        rest = last.text[len(_prefix(last.text, len(squeezed(last.text)) - run.rest)) :]
        after.insert(0, replace(last, text=rest, tokens=0, glue="" if last.glue == "" else last.glue))
    made = [
        replace(
            first,
            element=atoms[start].element if not number else part[0].element,
            until=part[-1].last_element,
            kind=_kind(part),
            path=path,
            own_path=None,
            text=text,
            glue="\n",
            border=FREE,
            lead=part[0].lead if part[0].correction is None else None,
            tokens=0,
            unit=unit - number,
            alone=True,
            correction=pin.number,
        )
        for number, (text, part) in enumerate(zip(pin.texts, _parts(covered, run, pin), strict=True))
    ]
    if after:
        after[0] = replace(after[0], border=min(after[0].border, FREE))
    return [*before, *made, *after]


def _parts(covered: Sequence[Atom], run: _Run, pin: Pin) -> list[Sequence[Atom]]:
    """The atoms that each text comes from: parts of a split one by one, else all of them."""
    sizes = [len(squeezed(text)) for text in pin.texts]
    if "".join(squeezed(text) for text in pin.texts) != squeezed(pin.quote):
        return [covered] * len(pin.texts)
    ends: list[int] = []  # of the atoms, counted from the beginning of the quote
    at = -run.skip
    for atom in covered:
        at += len(squeezed(atom.text))
        ends.append(at)
    parts: list[Sequence[Atom]] = []
    begin = 0
    for size in sizes:
        end = begin + size
        first = next((index for index, stop in enumerate(ends) if stop > begin), 0)
        last = next((index for index, stop in enumerate(ends) if stop >= end), len(ends) - 1)
        parts.append(covered[first : max(first, last) + 1])
        begin = end
    return parts


def _kind(atoms: Sequence[Atom]) -> Kind:
    """What most of the text is."""
    sizes: dict[Kind, int] = {}
    for atom in atoms:
        if atom.kind not in HEADINGS:
            sizes[atom.kind] = sizes.get(atom.kind, 0) + len(atom.text)
    return max(sizes, key=lambda kind: sizes[kind], default=Kind.PARAGRAPH)


def _shared_path(atoms: Sequence[Atom]) -> tuple[str, ...]:
    """The heading path that tells no heading which stands in the quote."""
    paths = [atom.path if atom.own_path is None else atom.own_path[:-1] for atom in atoms]
    shared = paths[0]
    for path in paths[1:]:
        depth = 0
        while depth < min(len(shared), len(path)) and shared[depth] == path[depth]:
            depth += 1
        shared = shared[:depth]
    return shared


def _prefix(text: str, characters: int) -> str:
    """The beginning of a text that holds so many characters besides white space."""
    for index, character in enumerate(text):
        if not characters:
            return text[:index]
        characters -= not character.isspace()
    return text


def squeezed(text: str) -> str:
    return "".join(text.split())
