"""What every reranker does."""

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """`scores`: how well each passage answers the question, 0..1, in the order of the passages.

    Raises KnowledgeBaseError when the model is away, late, or answers nonsense; it is never later than its time cap.
    """

    def scores(self, question: str, passages: Sequence[str]) -> list[float]: ...
