"""Vectors by (embedder, text hash), kept in PostgreSQL: equal text is embedded once, whatever dies meanwhile.

With a text's vector are those of its sentences, where the embedder gives them: answers are put together from sentences,
and a question must not wait for an embedder to read them.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from ingestion.chunking.sentences import split_sentences
from ingestion.embedding.protocol import Embedder, LatePoolingEmbedder, Vectors
from ingestion.models import CachedVector

LOOK_UP_BATCH = 1000
_LARGEST = 127


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReadText:
    """vector: float32 (dimension,). sentences: int8, the directions of `split_sentences`, or empty."""

    vector: NDArray[np.float32]
    sentences: bytes = b""


def text_hash(text: str) -> bytes:
    """What a text is known by here."""
    return hashlib.sha256(text.encode()).digest()


def embed_texts(embedder: Embedder, texts: Mapping[bytes, str]) -> dict[bytes, ReadText]:
    """Text hash -> its vectors, made now and kept."""
    if isinstance(embedder, LatePoolingEmbedder):
        whole, sentences = embedder.embed_by_pieces([split_sentences(text) for text in texts.values()])
        fresh = {
            key: ReadText(vector=vector, sentences=_packed(own))
            for key, vector, own in zip(texts, whole, sentences, strict=True)
        }
    else:
        vectors = embedder.embed_documents(list(texts.values()))
        fresh = {key: ReadText(vector=vector) for key, vector in zip(texts, vectors, strict=True)}
    _remember(embedder, fresh)
    return fresh


def cached_vectors(embedder: Embedder, hashes: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
    """Text hash -> float32 (dimension,) for the hashes that are known, with all that this embedder can give."""
    known = _rows(embedder)
    if isinstance(embedder, LatePoolingEmbedder):
        known = known.exclude(sentences=b"")
    found: dict[bytes, NDArray[np.float32]] = {}
    for start in range(0, len(hashes), LOOK_UP_BATCH):
        rows = known.filter(text_hash__in=hashes[start : start + LOOK_UP_BATCH])
        for key, vector in rows.values_list("text_hash", "vector"):
            found[bytes(key)] = np.frombuffer(bytes(vector), dtype="<f2").astype(np.float32)
    return found


def cached_sentences(embedder: Embedder, hashes: Sequence[bytes]) -> dict[bytes, Vectors]:
    """Text hash -> float32 (sentences, dimension) by `split_sentences`, of L2 norm 1 or 0, for those that have any."""
    rows = _rows(embedder).filter(text_hash__in=hashes).exclude(sentences=b"")
    return {
        bytes(key): _unpacked(bytes(packed), embedder.dimension)
        for key, packed in rows.values_list("text_hash", "sentences")
    }


def _rows(embedder: Embedder) -> QuerySet[CachedVector]:
    return CachedVector.objects.filter(embedder=_key(embedder))


def _key(embedder: Embedder) -> str:
    return hashlib.sha256(embedder.fingerprint.encode()).hexdigest()


def _remember(embedder: Embedder, fresh: Mapping[bytes, ReadText]) -> None:
    key = _key(embedder)
    CachedVector.objects.bulk_create(
        [
            CachedVector(
                embedder=key,
                text_hash=known_by,
                vector=fresh[known_by].vector.astype("<f2").tobytes(),
                sentences=fresh[known_by].sentences,
            )
            for known_by in sorted(fresh)
        ],
        update_conflicts=True,
        unique_fields=["embedder", "text_hash"],
        update_fields=["vector", "sentences"],
    )


def _packed(vectors: Vectors) -> bytes:
    """int8, each row by its largest value: only directions are kept, to a cosine of .9999."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    return bytes(np.rint(vectors / np.maximum(largest, 1e-9) * _LARGEST).astype(np.int8).tobytes())


def _unpacked(packed: bytes, dimension: int) -> Vectors:
    directions = np.frombuffer(packed, dtype=np.int8).reshape(-1, dimension).astype(np.float32)
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(directions / np.maximum(lengths, 1), dtype=np.float32)
