"""The question's vector, made in a thread while the database works on the lexical part. No ORM in here."""

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from ingestion.embedding.registry import get_embedder
from kb_platform.net.breaker import Breaker
from kb_platform.net.errors import CircuitOpen

log = logging.getLogger(__name__)
BREAKER = Breaker("embedder")  # a search does not wait each time for one that has just failed several times
_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="question-vector")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionVector:
    """vector: float32 (dimension,), L2 norm 1, made in `seconds` by the embedder of that fingerprint."""

    vector: NDArray[np.float32]
    fingerprint: str
    seconds: float


class PendingVector:
    """A question's vector, on its way from `start` on; started again it goes on."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._future: Future[QuestionVector] | None = None

    def start(self) -> Future[QuestionVector] | None:
        """None while the embedder is left alone."""
        if self._future is None:
            try:
                BREAKER.admit()
            except CircuitOpen:
                return None
            self._future = _threads.submit(_embed, self._text)
        return self._future

    def wait(self, *, fingerprint: str) -> QuestionVector | None:
        """The vector, or None if it is late, failed, or not comparable with an index of that fingerprint."""
        future = self.start()
        if future is None:
            return None
        try:
            made = future.result(timeout=settings.QUERY_EMBEDDING_TIMEOUT_S)
        except LateError:
            future.cancel()
            BREAKER.failed("late")
            log.warning("the embedder did not answer in time")
            return None
        except Exception as error:  # a model may fail in any way; the lexical channel must go on
            BREAKER.failed("failed")
            log.warning("the embedder failed", extra={"cause": repr(error)})
            return None
        BREAKER.succeeded()
        if made.fingerprint != fingerprint:
            log.warning("the embedder is not the one of the index")
            return None
        return made


def _embed(text: str) -> QuestionVector:
    begun = time.perf_counter()
    embedder = get_embedder()
    vector = embedder.embed_query(text)
    return QuestionVector(
        vector=vector, fingerprint=embedder.fingerprint, seconds=time.perf_counter() - begun
    )
