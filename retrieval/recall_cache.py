"""Rankings that are used again: for the same question of readers who see the same, while nothing has changed.

All that decides a recall is part of the key (question, mode, settings, channels in use, generation, visible scopes, the
documents that meet the conditions, how often the index rows of those scopes were changed, the dictionary), so that an entry is never
wrong, only old-fashioned; hydration checks access again in any case. Without Valkey every search is made anew.
"""

import hashlib
import logging
import time
from collections.abc import Sequence
from typing import Any

from django.core.cache import caches
from django.db.backends.utils import CursorWrapper
from redis.exceptions import RedisError

from ingestion.models import IndexGeneration
from retrieval.reach import Reach
from retrieval.search_settings import SearchSettings
from retrieval.values import SearchRequest

log = logging.getLogger(__name__)
FORMAT = 1  # of what is kept; another one finds nothing of the old
REST_S = 5.0  # so long nothing is asked of a Valkey that did not answer
_rests_until = 0.0


def ranking_key(
    request: SearchRequest,
    reach: Reach,
    *,
    settings: SearchSettings,
    usable: Sequence[str],
    index: IndexGeneration,
    changes: tuple[int, int],
) -> str:
    """Equal only if a recall would find the same. changes: of the index rows, and the dictionary's revision."""
    decisive: tuple[Any, ...] = (
        FORMAT, request.text, request.mode.value, sorted(usable), settings.fingerprint, index.number, index.embedder,
        index.analyzer_version, reach.scopes, reach.document_ids, changes,
    )  # fmt: skip
    return "ranking:" + hashlib.blake2b(repr(decisive).encode(), digest_size=20).hexdigest()


def count_changes(cursor: CursorWrapper, generation: int, scopes: Sequence[int]) -> int:
    """How often the index rows of these scopes were changed; never the same for two contents of them."""
    cursor.execute(
        "select coalesce(sum(changes), 0)::bigint from ingestion_scopestatistic "
        "where generation = %s and scope_id = any(%s::int[])",
        [generation, list(scopes)],
    )
    return int(cursor.fetchone()[0])


def read_ranking(key: str) -> Any:
    """What was kept under the key, or None."""
    return _ask(lambda cache: cache.get(key))


def keep_ranking(key: str, value: Any, *, seconds: int) -> None:
    _ask(lambda cache: cache.set(key, value, seconds))


def _ask(what: Any) -> Any:
    global _rests_until
    if time.monotonic() < _rests_until:
        return None
    try:
        return what(caches["rankings"])
    except RedisError as error:
        _rests_until = time.monotonic() + REST_S
        log.warning("the ranking cache does not answer", extra={"cause": repr(error)})
        return None
