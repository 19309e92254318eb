"""Chunking by structure: sections from the heading tree are parents, chunks of whole atoms are children. Start here.

Borders fall between elements where they can, between sentences where they must, and inside a sentence, item or row only
if it is longer than a whole chunk. Nothing of the text is lost: headings stand in the heading path or in the body.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ingestion.chunking.atoms import HEADINGS, NEVER, Atom, atoms_of
from ingestion.chunking.drafts import (
    GENERAL,
    ChunkDraft,
    ChunkedDocument,
    ChunkKind,
    ChunkProfile,
    SectionDraft,
    Shape,
    TokenCounter,
)
from ingestion.chunking.language import language_of
from ingestion.chunking.measure import Measure, Path
from ingestion.chunking.outline import Group, MergeSizes, as_one, leaves_of, merge_small
from ingestion.chunking.partition import Sizes, best_borders
from ingestion.chunking.pins import Pin, pinned
from ingestion.chunking.semantic import SentenceReader, by_meaning
from ingestion.chunking.units import arranged, held
from ingestion.parsing.elements import Element, Kind, ParsedDocument

CHUNKER_VERSION = "structure-1"

_KINDS: dict[Kind, ChunkKind] = {
    Kind.TABLE: "table",
    Kind.CODE: "code",
    Kind.STEP: "list",
    Kind.LIST_ITEM: "list",
}
_NOT_REPEATED = HEADINGS | {Kind.TABLE, Kind.CODE, Kind.CAPTION}
_FINE_STEP, _CHUNK_STEP, _SECTION_STEP = 4, 12, 60


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Atoms of one chunk or section; `overlap` are the atoms before them that are said again."""

    path: Path
    atoms: tuple[Atom, ...]
    overlap: tuple[Atom, ...] = ()

    @property
    def all_atoms(self) -> tuple[Atom, ...]:
        return self.overlap + self.atoms

    @property
    def body(self) -> str:
        return _text(self.all_atoms, self.path)


def chunk_document(
    parsed: ParsedDocument,
    *,
    title: str,
    counter: TokenCounter,
    profile: ChunkProfile = GENERAL,
    pins: Sequence[Pin] = (),
) -> ChunkedDocument:
    """`chunk_elements` of what a parser yields."""
    return chunk_elements(parsed.elements, title=title, counter=counter, profile=profile, pins=pins)


def chunk_elements(
    elements: Sequence[Element],
    *,
    title: str,
    counter: TokenCounter,
    profile: ChunkProfile = GENERAL,
    pins: Sequence[Pin] = (),
) -> ChunkedDocument:
    """Sections and chunks of a document, deterministic, both in reading order; none for a document without text.

    title: stands before every chunk's heading path in `embedding_text`, whose tokens never exceed the smaller of
    `profile.max_tokens` and `counter.max_tokens`. pins: corrections, in the order in which they were made. counter: for the
    semantic shape an embedder, which reads every sentence.
    """
    atoms, lost = pinned(arranged(atoms_of(elements), elements, profile.shape), pins)
    if not atoms:
        return ChunkedDocument(sections=(), chunks=(), lost=lost)
    measure = Measure(counter=counter, title=title, limit=min(profile.max_tokens, counter.max_tokens))
    measure.prepare(atom.path for atom in atoms)
    measured = measure.measured(atoms)
    if profile.shape is Shape.SEMANTIC and isinstance(counter, SentenceReader):
        measured = by_meaning(measured, counter)
    measured = held(measured, lambda unit: _tokens(unit) <= measure.room(unit[-1].path))
    sections = list(_sections(leaves_of(measured), profile))
    pieces = [
        (order, piece)
        for order, section in enumerate(sections)
        for piece in _chunk_pieces(section.atoms, measure, profile)
    ]
    return ChunkedDocument(
        sections=tuple(_section_draft(order, section) for order, section in enumerate(sections)),
        chunks=tuple(_chunk_drafts(pieces, measure, elements)),
        lost=lost,
    )


def _tokens(atoms: Sequence[Atom]) -> int:
    return sum(atom.tokens for atom in atoms)


def _sections(leaves: Sequence[Group], profile: ChunkProfile) -> Iterator[_Piece]:
    target, limit = profile.section_tokens, profile.section_max_tokens
    for group in merge_small(leaves, MergeSizes(tiny=target // 6, enough=target, target=target, limit=limit)):
        if group.tokens <= limit:
            yield _Piece(path=group.path, atoms=group.atoms)
        else:
            yield from _cut(
                group, Sizes(goal=target, limit=limit, step=_SECTION_STEP), [()] * len(group.atoms)
            )


def _chunk_pieces(atoms: Sequence[Atom], measure: Measure, profile: ChunkProfile) -> Iterator[_Piece]:
    """The chunks of one section: each unit that stands alone by itself, and what lies between."""
    for segment in _segments(atoms):
        if segment[-1].alone:
            yield from _fitting(as_one(leaves_of(segment)), measure, profile)
        else:
            yield from _merged_pieces(leaves_of(segment), measure, profile)


def _segments(atoms: Sequence[Atom]) -> list[list[Atom]]:
    """Units that stand alone, and what lies between them; headings that such a unit's path tells go with it."""
    segments: list[list[Atom]] = []
    for atom in atoms:
        key = atom.unit if atom.alone else 0
        if segments and _goes_on(segments[-1], atom, key):
            segments[-1].append(atom)
        else:
            segments.append([atom])
    return segments


def _goes_on(segment: Sequence[Atom], atom: Atom, key: int) -> bool:
    last = segment[-1]
    if key == (last.unit if last.alone else 0):
        return True
    return bool(key) and all(above.is_told_by(atom.path) for above in segment)


def _merged_pieces(leaves: Sequence[Group], measure: Measure, profile: ChunkProfile) -> Iterator[_Piece]:
    """Small leaves merged, large ones cut with overlap."""
    deepest = max((leaf.path for leaf in leaves), key=lambda path: measure.contexts[path][1])
    goal = _goal(deepest, measure, profile)
    small = MergeSizes(tiny=goal // 6, enough=goal * 2 // 3, target=goal, limit=measure.room(deepest))
    for group in merge_small(leaves, small):
        yield from _fitting(group, measure, profile, goal=goal)


def _goal(path: Path, measure: Measure, profile: ChunkProfile) -> int:
    return max(1, min(profile.target_tokens, measure.limit) * measure.room(path) // measure.limit)


def _fitting(
    group: Group, measure: Measure, profile: ChunkProfile, *, goal: int | None = None
) -> Iterator[_Piece]:
    room = measure.room(group.path)
    goal = goal or _goal(group.path, measure, profile)
    if group.tokens <= (goal if profile.shape is Shape.SEMANTIC else room):
        yield _Piece(path=group.path, atoms=group.atoms)
    else:
        step = _FINE_STEP if profile.shape is Shape.SEMANTIC else _CHUNK_STEP
        sizes = Sizes(goal=goal, limit=room, step=step)
        yield from _cut(group, sizes, _overlaps(group.atoms, profile, room))


def _cut(group: Group, sizes: Sizes, overlaps: Sequence[tuple[Atom, ...]]) -> Iterator[_Piece]:
    """Pieces of whole blocks: an atom with all that follows it and is never to be torn from it."""
    atoms = group.atoms
    starts = [index for index, atom in enumerate(atoms) if not index or atom.border < NEVER]
    sums = [0]
    for atom in atoms:
        sums.append(sums[-1] + (0 if atom.is_told_by(group.path) else atom.tokens))
    ends = best_borders(
        tokens=[sums[end] - sums[start] for start, end in pairwise([*starts, len(atoms)])],
        borders=[atoms[start].border for start in starts],
        repeated=[_repeated(overlaps[start] or (atoms[start],), overlaps[start]) for start in starts],
        sizes=sizes,
    )
    for first, last in pairwise([0, *ends]):
        start = starts[first]
        end = starts[last] if last < len(starts) else len(atoms)
        yield _Piece(path=group.path, atoms=atoms[start:end], overlap=overlaps[start])


def _repeated(first: Sequence[Atom], overlap: Sequence[Atom]) -> int:
    lead = first[0].lead
    return sum(atom.tokens for atom in overlap) + (lead.tokens if lead else 0)


def _overlaps(atoms: Sequence[Atom], profile: ChunkProfile, room: int) -> list[tuple[Atom, ...]]:
    """For each atom the whole sentences or items before it that a chunk beginning there says again."""
    wanted = profile.target_tokens * profile.overlap_ratio
    return [_overlap(atoms, start, wanted, room) for start in range(len(atoms))]


def _overlap(atoms: Sequence[Atom], start: int, wanted: float, room: int) -> tuple[Atom, ...]:
    """About `wanted` tokens, up to a quarter more; one long sentence may be nearly twice that."""
    if not start or not wanted or atoms[start].kind in _NOT_REPEATED:
        return ()
    first, tokens = start, 0
    while first and tokens < wanted and _may_repeat(atoms[first - 1], atoms[start]):
        more = atoms[first - 1].tokens
        if tokens + more > wanted * (1.25 if tokens else 1.75):
            break
        first, tokens = first - 1, tokens + more
    overlap = tuple(atoms[first:start])
    fits = _repeated(overlap, overlap) + atoms[start].tokens + _CHUNK_STEP <= room if overlap else True
    return overlap if fits else ()


def _may_repeat(atom: Atom, before: Atom) -> bool:
    return atom.kind not in _NOT_REPEATED and atom.unit == before.unit and atom.correction is None


def _text(atoms: Sequence[Atom], path: Path) -> str:
    """The atoms' text below a heading path; if all of them are headings told by it, the last heading."""
    lead = atoms[0].lead
    parts = [lead.text] if lead else []
    for atom in atoms:
        if not atom.is_told_by(path):
            after_lead = lead is not None and len(parts) == 1
            parts.append(("\n" if after_lead else atom.glue if parts else "") + atom.text)
    return "".join(parts).strip("\n").rstrip() or atoms[-1].text


def _section_draft(order: int, section: _Piece) -> SectionDraft:
    return SectionDraft(
        order=order,
        heading_path=section.path,
        text=section.body,
        token_count=sum(atom.tokens for atom in section.atoms if not atom.is_told_by(section.path)),
        first_element=section.atoms[0].element,
        last_element=section.atoms[-1].last_element,
    )


def _chunk_drafts(
    pieces: list[tuple[int, _Piece]], measure: Measure, elements: Sequence[Element]
) -> Iterator[ChunkDraft]:
    order = 0
    counts = measure.count([measure.embedding_text(piece.path, piece.body) for _, piece in pieces])
    for (section, piece), count in zip(pieces, counts, strict=True):
        for fitting, tokens in _fitted(piece, count, measure):
            yield _chunk_draft(order, section, fitting, tokens, measure, elements)
            order += 1


def _fitted(piece: _Piece, count: int, measure: Measure) -> Iterator[tuple[_Piece, int]]:
    """The piece, or smaller ones: joined text may count a little more than its parts did."""
    if count <= measure.limit:
        yield piece, count
        return
    for smaller in _smaller(piece):
        body = measure.embedding_text(smaller.path, smaller.body)
        if smaller == piece:
            yield smaller, count
        else:
            yield from _fitted(smaller, measure.count([body])[0], measure)


def _smaller(piece: _Piece) -> list[_Piece]:
    if piece.overlap:
        return [replace(piece, overlap=())]
    if len(piece.atoms) > 1:
        middle = len(piece.atoms) // 2
        return [replace(piece, atoms=piece.atoms[:middle]), replace(piece, atoms=piece.atoms[middle:])]
    atom = piece.atoms[0]
    if atom.lead:
        return [replace(piece, atoms=(replace(atom, lead=None),))]
    half = len(atom.text) // 2
    parts = (atom.text[:half], atom.text[half:])
    return [replace(piece, atoms=(replace(atom, text=part),)) for part in parts if part]


def _chunk_draft(
    order: int, section: int, piece: _Piece, tokens: int, measure: Measure, elements: Sequence[Element]
) -> ChunkDraft:
    first, last = piece.all_atoms[0].element, piece.atoms[-1].last_element
    covered = elements[first : last + 1]
    body = piece.body
    own = _text((replace(piece.atoms[0], lead=None), *piece.atoms[1:]), piece.path)
    return ChunkDraft(
        order=order,
        section=section,
        heading_path=piece.path,
        text=body,
        embedding_text=measure.embedding_text(piece.path, body),
        token_count=tokens,
        first_element=first,
        last_element=last,
        page=next((element.page for element in covered if element.page is not None), None),
        boxes=tuple(box for element in covered for box in element.boxes),
        kind=_kind(piece.atoms),
        language=language_of(body),
        own_from=len(body) - len(own) if body.endswith(own) else 0,
        correction=piece.atoms[0].correction,
    )


def _kind(atoms: Sequence[Atom]) -> ChunkKind:
    """What most of a chunk's text is."""
    sizes: dict[ChunkKind, int] = {}
    for atom in atoms:
        if atom.kind not in HEADINGS:
            kind = _KINDS.get(atom.kind, "text")
            sizes[kind] = sizes.get(kind, 0) + atom.tokens
    return max(sizes, key=lambda kind: sizes[kind], default="text")
