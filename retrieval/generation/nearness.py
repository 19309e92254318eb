"""How near statements are to a question by meaning, from vectors made when the passages were read. Pure; embeds nothing."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ingestion.chunking.sentences import split_sentences
from retrieval.generation.statements import Statement, squeezed
from retrieval.values import Passage

Vectors = NDArray[np.float32]


def nearness_of(
    statements: Sequence[Statement],
    passages: Sequence[Passage],
    question: NDArray[np.float32],
    sentences: Mapping[int, Vectors],
) -> list[float]:
    """The cosine of each statement. One whose sentences have no vector is as near as its passage, or at 0.

    sentences: index of a passage -> float32 (sentences of its embedding text, dimension), L2 norm 1 or 0.
    """
    texts = {index: _Text(passages[index], vectors) for index, vectors in sentences.items()}
    found: list[float] = []
    for statement in statements:
        text = texts.get(statement.passage)
        vector = text.vector_of(statement.quote) if text else None
        found.append(_as_passage(passages[statement.passage]) if vector is None else float(vector @ question))
    return found


def _as_passage(passage: Passage) -> float:
    hit = passage.channels.get("dense")
    return hit.score if hit else 0.0


class _Text:
    """The text of a passage as it was embedded, without its spaces, cut into sentences that have vectors."""

    def __init__(self, passage: Passage, vectors: Vectors) -> None:
        pieces = [squeezed(sentence) for sentence in split_sentences(passage.embedding_text)]
        self._whole = "".join(pieces)
        self._ends = np.cumsum([len(piece) for piece in pieces])
        self._starts = self._ends - [len(piece) for piece in pieces]
        self._vectors = vectors if len(vectors) == len(pieces) else None  # made by other rules of cutting

    def vector_of(self, quote: str) -> NDArray[np.float32] | None:
        """The direction of the sentences a quote lies in, each by its share of it; None if they have none."""
        wanted = squeezed(quote)
        start = self._whole.rfind(wanted)  # the heading path, which may say the same, comes first
        if self._vectors is None or start < 0:
            return None
        end = start + len(wanted)
        shares = np.maximum(np.minimum(self._ends, end) - np.maximum(self._starts, start), 0)
        vector = shares.astype(np.float32) @ self._vectors
        length = float(np.linalg.norm(vector))
        return np.asarray(vector / length, dtype=np.float32) if length else None
