"""What turns text into vectors: the one interface that chunking, indexing and search know."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Texts to vectors of length 1 whose dot product is their similarity. Safe to share between threads.

    Any string is taken: lone surrogates, NUL and empty text give a vector too.
    """

    @property
    def fingerprint(self) -> str:
        """Everything that changes the vectors: weights, prefixes, pooling, normalisation, centring.

        Vectors are comparable only under one fingerprint.
        """
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """What a document may hold by `count_tokens`; the rest of a longer one is not read."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """float32 (n, dimension), L2 norm 1, in the order of `texts`."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """float32 (dimension,), L2 norm 1."""
        ...

    def raw_cosines(
        self, query: str, query_vector: Vectors, texts: Sequence[str], vectors: Vectors
    ) -> Vectors:
        """float32 (n,): cosines on the model's own scale, before any centring; for absolute thresholds.

        query_vector and vectors (n, dimension) are this embedder's own for `query` and for `texts` as documents.
        """
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` as a document, the document prefix and the special tokens included.

        `count_tokens("")` is that overhead; a text with `count_tokens(text) <= max_tokens` is read whole.
        """
        ...

    def count_tokens_batch(self, texts: Sequence[str]) -> list[int]:
        """`count_tokens` of many texts, several times faster than one by one."""
        ...


@runtime_checkable
class LatePoolingEmbedder(Embedder, Protocol):
    """An embedder that reads a document once and yields a vector for each of its pieces too."""

    def embed_by_pieces(self, documents: Sequence[Sequence[str]]) -> tuple[Vectors, list[Vectors]]:
        """Documents in consecutive pieces -> what `embed_documents` gives for the joined ones, and for each document

        float32 (pieces, dimension): L2 norm 1, comparable with questions; zero for a piece that was not read.
        """
        ...
