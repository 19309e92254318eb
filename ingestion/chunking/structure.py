"""Chunking by structure: sections from the heading tree are parents, chunks of whole atoms are children. Start here.

Borders fall between elements where they can, between sentences where they must, and inside a sentence, item or row only
if it is longer than a whole chunk. Nothing of the text is lost: headings stand in the heading path or in the body.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ingestion.chunking.atoms import HEADINGS, Atom, atoms_of
from ingestion.chunking.drafts import (
    GENERAL,
    ChunkDraft,
    ChunkedDocument,
    ChunkKind,
    ChunkProfile,
    SectionDraft,
    TokenCounter,
)
from ingestion.chunking.language import language_of
from ingestion.chunking.measure import Measure, Path
from ingestion.chunking.outline import Group, MergeSizes, leaves_of, merge_small
from ingestion.chunking.partition import Sizes, best_borders
from ingestion.parsing.elements import Element, Kind, ParsedDocument

CHUNKER_VERSION = "structure-1"

_KINDS: dict[Kind, ChunkKind] = {
    Kind.TABLE: "table",
    Kind.CODE: "code",
    Kind.STEP: "list",
    Kind.LIST_ITEM: "list",
}
_NOT_REPEATED = HEADINGS | {Kind.TABLE, Kind.CODE, Kind.CAPTION}
_CHUNK_STEP, _SECTION_STEP = 12, 60


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
    parsed: ParsedDocument, *, title: str, counter: TokenCounter, profile: ChunkProfile = GENERAL
) -> ChunkedDocument:
    """Sections and chunks of a document, deterministic, both in reading order; none for a document without text.

    title: stands before every chunk's heading path in `embedding_text`, whose tokens never exceed the smaller of
    `profile.max_tokens` and `counter.max_tokens`.
    """
    atoms = atoms_of(parsed.elements)
    if not atoms:
        return ChunkedDocument(sections=(), chunks=())
    measure = Measure(counter=counter, title=title, limit=min(profile.max_tokens, counter.max_tokens))
    measure.prepare(atom.path for atom in atoms)
    sections = list(_sections(leaves_of(measure.measured(atoms)), profile))
    pieces = [
        (order, piece)
        for order, section in enumerate(sections)
        for piece in _chunk_pieces(leaves_of(section.atoms), measure, profile)
    ]
    return ChunkedDocument(
        sections=tuple(_section_draft(order, section) for order, section in enumerate(sections)),
        chunks=tuple(_chunk_drafts(pieces, measure, parsed.elements)),
    )


def _sections(leaves: Sequence[Group], profile: ChunkProfile) -> Iterator[_Piece]:
    target, limit = profile.section_tokens, profile.section_max_tokens
    for group in merge_small(leaves, MergeSizes(tiny=target // 6, enough=target, target=target, limit=limit)):
        if group.tokens <= limit:
            yield _Piece(path=group.path, atoms=group.atoms)
        else:
            yield from _cut(
                group, Sizes(goal=target, limit=limit, step=_SECTION_STEP), [()] * len(group.atoms)
            )


def _chunk_pieces(leaves: Sequence[Group], measure: Measure, profile: ChunkProfile) -> Iterator[_Piece]:
    """The chunks of one section: small leaves merged, large ones cut with overlap."""
    deepest = max((leaf.path for leaf in leaves), key=lambda path: measure.contexts[path][1])
    room = measure.room(deepest)
    goal = max(1, min(profile.target_tokens, measure.limit) * room // measure.limit)
    small = MergeSizes(tiny=goal // 6, enough=goal * 2 // 3, target=goal, limit=room)
    for group in merge_small(leaves, small):
        room = measure.room(group.path)
        if group.tokens <= room:
            yield _Piece(path=group.path, atoms=group.atoms)
        else:
            sizes = Sizes(goal=goal, limit=room, step=_CHUNK_STEP)
            yield from _cut(group, sizes, _overlaps(group.atoms, profile, room))


def _cut(group: Group, sizes: Sizes, overlaps: Sequence[tuple[Atom, ...]]) -> Iterator[_Piece]:
    atoms = group.atoms
    ends = best_borders(
        tokens=[0 if atom.is_told_by(group.path) else atom.tokens for atom in atoms],
        borders=[atom.border for atom in atoms],
        repeated=[
            _repeated(overlap or (atom,), overlap) for atom, overlap in zip(atoms, overlaps, strict=True)
        ],
        sizes=sizes,
    )
    for start, end in zip([0, *ends], ends, strict=False):
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
    while first and tokens < wanted and atoms[first - 1].kind not in _NOT_REPEATED:
        more = atoms[first - 1].tokens
        if tokens + more > wanted * (1.25 if tokens else 1.75):
            break
        first, tokens = first - 1, tokens + more
    overlap = tuple(atoms[first:start])
    fits = _repeated(overlap, overlap) + atoms[start].tokens + _CHUNK_STEP <= room if overlap else True
    return overlap if fits else ()


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
        last_element=section.atoms[-1].element,
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
    first, last = piece.all_atoms[0].element, piece.atoms[-1].element
    covered = elements[first : last + 1]
    body = piece.body
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
    )


def _kind(atoms: Sequence[Atom]) -> ChunkKind:
    """What most of a chunk's text is."""
    sizes: dict[ChunkKind, int] = {}
    for atom in atoms:
        if atom.kind not in HEADINGS:
            kind = _KINDS.get(atom.kind, "text")
            sizes[kind] = sizes.get(kind, 0) + atom.tokens
    return max(sizes, key=lambda kind: sizes[kind], default="text")
