"""BM25 as an inner product: document side `tf·(k1+1) / (tf + k1·(1 − b + b·len/avg))`, query side idf.

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009. The document side is stored with the chunk,
idf is applied at query time over what the reader may see.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log

from ingestion.indexing.analyzer import term_id

K1, B = 1.2, 0.75
TERM_DIMENSION = 1_000_000_000
MAX_TERMS = 15_000  # pgvector keeps at most 16,000 non-zero entries in a sparsevec


def weights(tokens: Sequence[str], *, average_length: float) -> dict[str, float]:
    """Term -> saturated frequency, in [0, k1 + 1). An overlong text loses its least frequent terms."""
    norm = K1 * (1 - B + B * len(tokens) / average_length)
    counts = Counter(tokens).most_common(MAX_TERMS)
    return {term: count * (K1 + 1) / (count + norm) for term, count in counts}


def idf(chunk_count: int, chunks_with_term: int) -> float:
    """Natural logarithm of 1 + (N − df + 0.5) / (df + 0.5); never negative."""
    absent = max(chunk_count - chunks_with_term, 0)
    return log(1 + (absent + 0.5) / (chunks_with_term + 0.5))


def sparse_text(values: Mapping[str, float]) -> str:
    """pgvector's text form of a sparse vector: `{id:value,…}/dimension`, ids from 1. Colliding terms add up."""
    by_id: dict[int, float] = {}
    for term, value in values.items():
        number = term_id(term)
        by_id[number] = by_id.get(number, 0.0) + value
    inner = ",".join(f"{number}:{value:.6g}" for number, value in sorted(by_id.items()))
    return f"{{{inner}}}/{TERM_DIMENSION}"
