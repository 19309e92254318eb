"""All sources at once, in threads, under one deadline. What is late or fails is named and left out; the rest goes on.

The configuration was read before: nothing in here touches the ORM.
"""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kb_platform.errors import KnowledgeBaseError
from kb_platform.net.errors import OutboundError
from kb_platform.net.guard import guarded
from kb_platform.net.safe_http import Door
from retrieval.channels.external.elasticsearch import ask_elasticsearch
from retrieval.channels.external.http_knowledge import ask_dify, ask_http
from retrieval.channels.external.langchain import ask_langchain
from retrieval.channels.external.scores import normalised
from retrieval.channels.external.sql import ask_sql
from retrieval.channels.external.values import ExternalHit, Record, SourceConfig, SourceKind, key_of

log = logging.getLogger(__name__)
AT_ONCE = 32
EMBEDDED = 5  # hits of a source whose meaning is compared
EMBED_S = 0.4  # what the vectors may cost after all sources have answered
Vectors = dict[str, NDArray[np.float32]]
Embed = Callable[[Sequence[ExternalHit]], Vectors]
Ask = Callable[[SourceConfig, str, int, Door, float], list[Record]]
_embedding = ThreadPoolExecutor(max_workers=1, thread_name_prefix="external-vectors")
_threads = ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="external-source")
_ASKS: dict[SourceKind, Ask] = {
    SourceKind.DIFY: ask_dify,
    SourceKind.HTTP: ask_http,
    SourceKind.ELASTICSEARCH: ask_elasticsearch,
    SourceKind.SQL: ask_sql,
    SourceKind.LANGCHAIN: ask_langchain,
}
BOUNDED = frozenset(
    {SourceKind.DIFY, SourceKind.HTTP, SourceKind.SQL, SourceKind.LANGCHAIN}
)  # unless their numbers say otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOutcome:
    """What became of one source. problem: the code of what went wrong, else "".

    vectors: of the first hits by key, on their way or None; float32 (dimension,), L2 norm 1.
    """

    source: SourceConfig
    hits: tuple[ExternalHit, ...] = ()
    problem: str = ""
    seconds: float = 0.0
    vectors: Future[Vectors] | None = None


def ask_source(
    source: SourceConfig, question: str, *, limit: int, door: Door, deadline_s: float | None = None
) -> tuple[ExternalHit, ...]:
    """The best records of one source, best first; at most `limit`, and none without any text.

    Raises OutboundError.
    """
    bounds = source.bounds
    if deadline_s is not None:
        bounds = replace(bounds, total_s=min(bounds.total_s, deadline_s))
    ask = _ASKS[source.kind]
    records = guarded(source.target, bounds, lambda seconds: ask(source, question, limit, door, seconds))
    return _hits(source, records)


def _hits(source: SourceConfig, records: Sequence[Record]) -> tuple[ExternalHit, ...]:
    usable = [record for record in records if record.title or record.text]
    scores = normalised([record.score for record in usable], is_bounded=source.kind in BOUNDED)
    found: dict[str, ExternalHit] = {}
    for record, score in sorted(zip(usable, scores, strict=True), key=lambda pair: -pair[1]):
        key = key_of(source.uid, record.remote_id)
        hit = ExternalHit(
            key=key,
            source_uid=source.uid,
            source_name=source.name,
            record=record,
            score=score,
            allowed=source.allowed,
        )
        found.setdefault(key, hit)
    return tuple(found.values())


class PendingSources:
    """Questions on their way to the sources, from the moment it is made."""

    def __init__(
        self,
        sources: Sequence[SourceConfig],
        question: str,
        *,
        limit: int,
        door: Door,
        deadline_s: float,
        embed: Embed | None = None,
    ) -> None:
        """embed: makes vectors of the first hits of each source, while there is time."""
        self._end = time.monotonic() + deadline_s
        asking = _Asking(question=question, limit=limit, door=door, end=self._end, embed=embed)
        self._asked = [(source, _threads.submit(_outcome, source, asking)) for source in sources]

    def collect(self) -> list[SourceOutcome]:
        """What has come by the deadline, in the order of the sources."""
        return [self._collected(source, future) for source, future in self._asked]

    def vectors(self, outcomes: Sequence[SourceOutcome]) -> Vectors:
        """The vectors that are there by the deadline, and at most EMBED_S from now."""
        end = min(self._end, time.monotonic() + EMBED_S)
        found: Vectors = {}
        for future in (outcome.vectors for outcome in outcomes if outcome.vectors):
            try:
                found |= future.result(timeout=max(end - time.monotonic(), 0.0))
            except LateError:
                future.cancel()
            except Exception as error:  # a model may fail in any way; words still count
                log.warning("texts of an external source were not embedded", extra={"cause": repr(error)})
        return found

    def _collected(self, source: SourceConfig, future: Future[SourceOutcome]) -> SourceOutcome:
        try:
            return future.result(timeout=max(self._end - time.monotonic(), 0.0))
        except LateError:
            future.cancel()
            return SourceOutcome(source=source, problem="late")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    question: str
    limit: int
    door: Door
    end: float
    embed: Embed | None


def _outcome(source: SourceConfig, asking: _Asking) -> SourceOutcome:
    begun = time.monotonic()
    try:
        left = max(asking.end - begun, 0.001)
        hits = ask_source(source, asking.question, limit=asking.limit, door=asking.door, deadline_s=left)
    except OutboundError as error:
        log.warning("an external source gave nothing", extra={"source": source.uid, "cause": error.code})
        return SourceOutcome(source=source, problem=error.code, seconds=time.monotonic() - begun)
    except KnowledgeBaseError as error:
        return SourceOutcome(source=source, problem=error.code, seconds=time.monotonic() - begun)
    except Exception:  # a fault in one source must not take the search down
        log.exception("an external source failed unexpectedly")
        return SourceOutcome(source=source, problem="failed", seconds=time.monotonic() - begun)
    vectors = _embedding.submit(asking.embed, hits[:EMBEDDED]) if asking.embed and hits else None
    return SourceOutcome(source=source, hits=hits, seconds=time.monotonic() - begun, vectors=vectors)
