"""Model servers that judge how well passages answer a question: HTTP `/rerank` as TEI, Cohere and Jina speak it.

Text Embeddings Inference: POST /rerank {query, texts} -> [{index, score}]. Cohere: POST /v2/rerank {model, query, documents,
top_n} -> {results: [{index, relevance_score}]}; Jina: the same at /v1/rerank, as do vLLM, Xinference and others.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeGuard

from kb_platform.net.errors import BadAnswer
from kb_platform.net.guard import Bounds, guarded
from kb_platform.net.safe_http import Call, Door, Limits, joined, post_json

MAX_ANSWER_BYTES = 1_000_000


class RerankShape(StrEnum):
    TEI = "tei"
    COHERE = "cohere"
    JINA = "jina"


_PATHS = {RerankShape.TEI: "rerank", RerankShape.COHERE: "v2/rerank", RerankShape.JINA: "v1/rerank"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankServer:
    """url: of the server, or of its rerank address itself. key: in clear; it is sent as a bearer token."""

    shape: RerankShape
    url: str
    door: Door
    model: str = ""
    key: str = field(default="", repr=False)
    bounds: Bounds = field(default_factory=Bounds)

    @property
    def target(self) -> str:
        """The key of its circuit. Other settings are another target, which begins anew."""
        settings = "\n".join((self.shape, self.url, self.model, self.key))
        return f"rerank:{hashlib.blake2b(settings.encode(), digest_size=8).hexdigest()}"

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers, in the order of the texts, 0..1.

        Raises OutboundError. Servers that give raw logits instead of probabilities are brought to 0..1 by the logistic function.
        """
        if not texts:
            return []

        def attempt(seconds: float) -> list[float]:
            limits = Limits(total_s=seconds, max_bytes=MAX_ANSWER_BYTES)
            return _read(self.shape, self.door.send(self._call(question, texts), limits).json(), len(texts))

        return _as_probabilities(guarded(self.target, self.bounds, attempt))

    def _call(self, question: str, texts: Sequence[str]) -> Call:
        address = (
            self.url if self.url.rstrip("/").endswith("/rerank") else joined(self.url, self._missing_path())
        )
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return post_json(address, self._body(question, list(texts)), headers=headers)

    def _missing_path(self) -> str:
        """Without the version that the address already ends in."""
        path = _PATHS[self.shape]
        version, _slash, rest = path.rpartition("/")
        return rest if version and self.url.rstrip("/").endswith(f"/{version}") else path

    def _body(self, question: str, texts: list[str]) -> dict[str, Any]:
        if self.shape is RerankShape.TEI:
            return {"query": question, "texts": texts, "truncate": True, "raw_scores": False}
        body = {"model": self.model, "query": question, "documents": texts, "top_n": len(texts)}
        return body | ({"return_documents": False} if self.shape is RerankShape.JINA else {})


def _read(shape: RerankShape, value: Any, count: int) -> list[float]:
    """A score for every text. Raises BadAnswer if one is missing, repeated, or no finite number."""
    rows = value if shape is RerankShape.TEI else value.get("results") if isinstance(value, Mapping) else None
    if not isinstance(rows, list):
        raise BadAnswer()
    name = "score" if shape is RerankShape.TEI else "relevance_score"
    scores: dict[int, float] = {}
    for row in rows:
        index, score = (row.get("index"), row.get(name)) if isinstance(row, Mapping) else (None, None)
        if type(index) is not int or index in scores or not 0 <= index < count or not is_score(score):
            raise BadAnswer()
        scores[index] = float(score)
    if len(scores) != count:
        raise BadAnswer()
    return [scores[index] for index in range(count)]


def is_score(value: Any) -> TypeGuard[float]:
    """Whether it is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond any float
        return False


def _as_probabilities(scores: list[float]) -> list[float]:
    if all(0.0 <= score <= 1.0 for score in scores):
        return scores
    return [logistic(score) for score in scores]


def logistic(score: float) -> float:
    """A raw logit as a number in 0..1."""
    return 1.0 / (1.0 + math.exp(-max(min(score, 50.0), -50.0)))
