"""The dense channel: nearest vectors among what the reader may see.

The application picks the plan, because PostgreSQL's planner picks wrong: an exact scan of the visible rows when they
are few, the HNSW index with an iterative scan when they are many. A filtered HNSW scan without iteration loses results.
"""

import json
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from django.conf import settings
from django.db.backends.utils import CursorWrapper
from numpy.typing import NDArray

from ingestion.indexing.tables import vector_text
from retrieval.reach import Reach
from retrieval.values import Hit, Key


class Plan(StrEnum):
    EXACT = "exact"
    HNSW = "hnsw"


def choose_plan(*, reachable: int, everything: int) -> Plan:
    """reachable: chunks the search may touch; everything: chunks in the generation."""
    is_few = reachable <= settings.DENSE_EXACT_ROWS
    is_small_share = (
        reachable <= settings.DENSE_EXACT_MAX_ROWS and reachable < settings.DENSE_EXACT_SHARE * everything
    )
    return Plan.EXACT if is_few or is_small_share else Plan.HNSW


def search_dense(
    cursor: CursorWrapper,
    generation: int,
    vector: NDArray[np.float32],
    reach: Reach,
    *,
    plan: Plan,
    limit: int,
) -> list[Hit]:
    """The `limit` nearest chunks by inner product (unit vectors: the cosine), best first, equal ones by chunk id.

    An HNSW scan that yields fewer is repeated exactly.
    """
    if reach.is_empty:
        return []
    if plan is Plan.HNSW:
        hits = _approximate(cursor, generation, vector_text(vector), reach, limit)
        if len(hits) == limit:
            return hits
    return _exact(cursor, generation, vector_text(vector), reach, limit)


def read_cosines(
    cursor: CursorWrapper, generation: int, vector: NDArray[np.float32], chunk_ids: Sequence[Key]
) -> dict[Key, float]:
    """Cosines of those chunks that are indexed, however they were found."""
    if not chunk_ids:
        return {}
    cursor.execute(
        f"select chunk_id, embedding <#> %s::halfvec from dense_g{generation:d} where chunk_id = any(%s::bigint[])",
        [vector_text(vector), list(chunk_ids)],
    )
    return {chunk_id: -distance for chunk_id, distance in cursor.fetchall()}


def read_vectors(
    cursor: CursorWrapper, generation: int, chunk_ids: Sequence[Key]
) -> dict[Key, NDArray[np.float32]]:
    """The vectors of those chunks that are indexed: float32 (dimension,), L2 norm 1."""
    cursor.execute(
        f"select chunk_id, embedding::text from dense_g{generation:d} where chunk_id = any(%s::bigint[])",
        [list(chunk_ids)],
    )
    return {key: np.array(json.loads(text), dtype=np.float32) for key, text in cursor.fetchall()}


def sample_vectors(cursor: CursorWrapper, generation: int, count: int) -> NDArray[np.float32]:
    """Up to `count` vectors of the index, drawn as by chance but always the same: float32 (n, dimension)."""
    cursor.execute(
        f"select embedding::text from dense_g{generation:d} order by hashint8(chunk_id), chunk_id limit %s",
        [count],
    )
    return np.array([json.loads(text) for (text,) in cursor.fetchall()], dtype=np.float32)


def _exact(cursor: CursorWrapper, generation: int, vector: str, reach: Reach, limit: int) -> list[Hit]:
    condition, parameters = reach.condition()
    cursor.execute(
        f"with visible as materialized (select chunk_id, embedding from dense_g{generation:d} where {condition}) "
        "select chunk_id, embedding <#> %s::halfvec as distance from visible order by distance, chunk_id limit %s",
        [*parameters, vector, limit],
    )
    return _hits(cursor)


def _approximate(cursor: CursorWrapper, generation: int, vector: str, reach: Reach, limit: int) -> list[Hit]:
    condition, parameters = reach.condition()
    cursor.execute(
        "select set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', %s, true)",
        [str(max(settings.HNSW_EF_SEARCH, limit))],
    )
    # A relaxed scan is nearly ordered but claims to be; `+ 0` makes the planner sort for real.
    cursor.execute(
        f"with found as materialized (select chunk_id, embedding <#> %s::halfvec as distance from dense_g{generation:d} "
        f"where {condition} order by distance limit %s) "
        "select chunk_id, distance from found order by distance + 0, chunk_id",
        [vector, *parameters, limit],
    )
    return _hits(cursor)


def _hits(cursor: CursorWrapper) -> list[Hit]:
    return [Hit(chunk_id=chunk_id, score=-distance) for chunk_id, distance in cursor.fetchall()]
