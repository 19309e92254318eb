"""The contract of a channel: a question, a reader, conditions and a limit go in, ranked candidates come out.

Channels over the index work inside one snapshot (`retrieval.channels.index`). Those that bring passages from elsewhere
work beside it: without ORM, in a thread, under a deadline.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from accounts.values import Principal
from retrieval.filters import Filters
from retrieval.question_vector import QuestionVector
from retrieval.values import Hit, Key, Passage


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChannelQuery:
    """text: as asked. terms: its distinct tokens, and those of synonyms. vector: None when the question was not embedded.

    weights: of terms that count less than 1.
    """

    text: str
    terms: tuple[str, ...] = ()
    weights: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    vector: QuestionVector | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelResult:
    """hits: best first, each key once, scores as plain floats. explanation: how the channel went about it, JSON values.

    passages: those of the hits that are not chunks of the index, by key.
    """

    hits: tuple[Hit, ...] = ()
    explanation: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    passages: Mapping[Key, Passage] = field(default_factory=lambda: MappingProxyType({}))


class Channel(Protocol):
    """`search` raises whatever its dependency raises: the search goes on without the channel and says so."""

    @property
    def name(self) -> str: ...

    def search(
        self, query: ChannelQuery, *, principal: Principal, filters: Filters, limit: int
    ) -> ChannelResult: ...
