"""Vectors by (embedder, text hash), kept in PostgreSQL: equal text is embedded once, whatever dies meanwhile."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ingestion.embedding.protocol import Embedder
from ingestion.models import CachedVector

LOOK_UP_BATCH = 1000


def _key(embedder: Embedder) -> str:
    return hashlib.sha256(embedder.fingerprint.encode()).hexdigest()


def cached_vectors(embedder: Embedder, hashes: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
    """Text hash -> float32 (dimension,) for the hashes that are known."""
    found: dict[bytes, NDArray[np.float32]] = {}
    for start in range(0, len(hashes), LOOK_UP_BATCH):
        rows = CachedVector.objects.filter(
            embedder=_key(embedder), text_hash__in=hashes[start : start + LOOK_UP_BATCH]
        ).values_list("text_hash", "vector")
        for text_hash, vector in rows:
            found[bytes(text_hash)] = np.frombuffer(bytes(vector), dtype="<f2").astype(np.float32)
    return found


def remember(embedder: Embedder, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
    """Keep vectors as float16; one that is known already stays."""
    key = _key(embedder)
    CachedVector.objects.bulk_create(
        [
            CachedVector(embedder=key, text_hash=text_hash, vector=vectors[text_hash].astype("<f2").tobytes())
            for text_hash in sorted(vectors)
        ],
        ignore_conflicts=True,
    )
