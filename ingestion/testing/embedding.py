"""Stand-ins for tests of anything that embeds: no model file, no inference, the same vectors everywhere.

@pytest.fixture(autouse=True)
def embedder():
    with use_hashing_embedder() as embedder:
        yield embedder
"""

import hashlib
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ingestion.embedding.conversion import ensure_converted
from ingestion.embedding.protocol import Embedder, Vectors
from ingestion.embedding.registry import replace_embedder
from ingestion.embedding.strings import tokenizable

_TERM = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")


class HashingEmbedder:
    """Bags of hashed words and pairs of neighbouring CJK characters: texts that share terms are near each other."""

    fingerprint = "hashing dim=64"
    dimension = 64
    max_tokens = 512

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.array([self.embed_query(text) for text in texts], dtype=np.float32).reshape(
            -1, self.dimension
        )

    def embed_query(self, text: str) -> Vectors:
        vector = np.zeros(self.dimension, dtype=np.float32)
        vector[0] = 0.01  # an empty text has a direction too
        for term in _terms(text):
            digest = hashlib.blake2b(term.encode(), digest_size=8).digest()
            sign = 1 if digest[7] & 1 else -1
            vector[int.from_bytes(digest[:4], "little") % self.dimension] += sign
        length = np.linalg.norm(vector)
        return np.asarray(vector / length, dtype=np.float32)

    def raw_cosines(
        self, query: str, query_vector: Vectors, texts: Sequence[str], vectors: Vectors
    ) -> Vectors:
        return np.asarray(vectors @ query_vector)

    def count_tokens(self, text: str) -> int:
        """Words and CJK characters, plus 2 as for special tokens."""
        return len(_TERM.findall(text)) + 2

    def count_tokens_batch(self, texts: Sequence[str]) -> list[int]:
        return [self.count_tokens(text) for text in texts]


@contextmanager
def use_embedder(embedder: Embedder) -> Iterator[None]:
    """`get_embedder()` gives this one inside the block, in every thread of this process."""
    former = replace_embedder(embedder)
    try:
        yield
    finally:
        replace_embedder(former)


@contextmanager
def use_hashing_embedder() -> Iterator[HashingEmbedder]:
    embedder = HashingEmbedder()
    with use_embedder(embedder):
        yield embedder


def bundled_model_dir() -> Path:
    """A MODEL_DIR that holds the converted bundled model, kept between test runs outside the repository.

    Converts it in about 4 s where it is missing. KB_MODEL_CACHE names another place.
    """
    place = os.environ.get("KB_MODEL_CACHE") or Path.home() / ".cache" / "zhiku-tests"
    model_dir = Path(place)
    ensure_converted(model_dir)
    return model_dir


def _terms(text: str) -> list[str]:
    found = _TERM.findall(tokenizable(text).lower())
    pairs = [a + b for a, b in itertools.pairwise(found) if _is_cjk(a) and _is_cjk(b)]
    return [term for term in found if not _is_cjk(term)] + pairs


def _is_cjk(term: str) -> bool:
    return "\u3400" <= term[0] <= "\u9fff"
