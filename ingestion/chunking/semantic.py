"""Borders where the meaning changes: the nearer the sentences on both sides of a border, the more it costs.

Each sentence is read once by itself, which costs about as much as embedding the document; beyond `MOST_SENTENCES` the borders
stay those of the structure. Equal vectors give equal borders.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ingestion.chunking.atoms import ELEMENT, SENTENCE, Atom
from ingestion.parsing.elements import Kind

MOST_SENTENCES = 2_000
_BATCH = 64
_SIDE = 2  # sentences compared on each side of a border
_CHEAPEST, _DEAREST = 0.02, 0.7
_PROSE = frozenset({Kind.PARAGRAPH, Kind.NOTE})


@runtime_checkable
class SentenceReader(Protocol):
    """What gives a vector of length 1 for each text: the embedder in use."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


def by_meaning(atoms: Sequence[Atom], reader: SentenceReader) -> list[Atom]:
    """The atoms with borders between sentences of running text that cost by how alike the sentences around them are."""
    prose = [index for index, atom in enumerate(atoms) if atom.kind in _PROSE][:MOST_SENTENCES]
    vectors = _read([atoms[index].text for index in prose], reader)
    nearness = {
        index: _nearness(vectors, at)
        for at, index in enumerate(prose)
        if at and prose[at - 1] == index - 1 and _may_move(atoms[index - 1], atoms[index])
    }
    if not nearness:
        return list(atoms)
    low, high = np.percentile(list(nearness.values()), (2, 98))
    span = max(float(high - low), 0.001)
    costs = {
        index: _CHEAPEST + (_DEAREST - _CHEAPEST) * min(1.0, max(0.0, (near - float(low)) / span))
        for index, near in nearness.items()
    }
    return [
        replace(atom, border=costs[index]) if index in costs else atom for index, atom in enumerate(atoms)
    ]


def _may_move(before: Atom, atom: Atom) -> bool:
    """Only ordinary borders are weighed anew; what belongs together, or begins a clause, stays."""
    return atom.path == before.path and atom.border in (ELEMENT, SENTENCE)


def _read(texts: Sequence[str], reader: SentenceReader) -> NDArray[np.float32]:
    parts = [
        reader.embed_documents([text.strip() for text in texts[start : start + _BATCH]])
        for start in range(0, len(texts), _BATCH)
    ]
    return np.concatenate(parts) if parts else np.zeros((0, 1), dtype=np.float32)


def _nearness(vectors: NDArray[np.float32], at: int) -> float:
    """How alike the sentences before and after a border are, to three digits, which survive another machine."""
    before, after = vectors[max(0, at - _SIDE) : at].mean(axis=0), vectors[at : at + _SIDE].mean(axis=0)
    lengths = float(np.linalg.norm(before) * np.linalg.norm(after))
    return round(float(before @ after) / lengths, 3) if lengths else 0.0
