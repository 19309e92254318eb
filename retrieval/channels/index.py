"""The two channels over the index, dense and lexical, within one snapshot of the database."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from django.db.backends.utils import CursorWrapper

from accounts.values import Principal
from ingestion.models import IndexGeneration
from retrieval.channels.dense import choose_plan, search_dense
from retrieval.channels.lexical import TermStatistics, matching_terms, read_statistics, search_lexical
from retrieval.channels.protocol import ChannelQuery, ChannelResult
from retrieval.filters import Filters
from retrieval.reach import Reach, resolve_reach

DENSE, LEXICAL = "dense", "lexical"


@dataclass(slots=True, kw_only=True)
class IndexSnapshot:
    """One generation at one moment. What a reader may search in it, and the words' statistics, are read once."""

    cursor: CursorWrapper
    generation: IndexGeneration
    _reach: dict[tuple[Principal, Filters], Reach] = field(default_factory=dict)
    _statistics: dict[tuple[tuple[int, ...], tuple[str, ...]], TermStatistics] = field(default_factory=dict)

    def reach(self, principal: Principal, filters: Filters) -> Reach:
        key = (principal, filters)
        if key not in self._reach:
            self._reach[key] = resolve_reach(principal, filters)
        return self._reach[key]

    def statistics(self, reach: Reach, terms: Sequence[str]) -> TermStatistics:
        """Over all that the reader may see, whatever the conditions: a filter must not change what a word weighs."""
        key = (reach.scopes, tuple(terms))
        if key not in self._statistics:
            self._statistics[key] = read_statistics(self.cursor, self.generation.number, reach.scopes, terms)
        return self._statistics[key]


@dataclass(frozen=True, slots=True)
class DenseChannel:
    """Nearest vectors; nothing without a vector."""

    snapshot: IndexSnapshot
    name = DENSE

    def search(
        self, query: ChannelQuery, *, principal: Principal, filters: Filters, limit: int
    ) -> ChannelResult:
        if query.vector is None:
            return ChannelResult()
        reach = self.snapshot.reach(principal, filters)
        statistics = self.snapshot.statistics(reach, query.terms)
        reachable = statistics.chunk_count if reach.filtered_chunks is None else reach.filtered_chunks
        plan = choose_plan(reachable=reachable, everything=statistics.all_chunks)
        hits = search_dense(
            self.snapshot.cursor,
            self.snapshot.generation.number,
            query.vector.vector,
            reach,
            plan=plan,
            limit=limit,
        )
        return ChannelResult(hits=tuple(hits), explanation={"plan": plan.value, "reachable": reachable})


@dataclass(frozen=True, slots=True)
class LexicalChannel:
    """Exact BM25."""

    snapshot: IndexSnapshot
    name = LEXICAL

    def search(
        self, query: ChannelQuery, *, principal: Principal, filters: Filters, limit: int
    ) -> ChannelResult:
        reach = self.snapshot.reach(principal, filters)
        statistics = self.snapshot.statistics(reach, query.terms)
        matching, _scoring = matching_terms(statistics)
        weighted = replace(statistics, weights=query.weights)
        hits = search_lexical(self.snapshot.cursor, self.snapshot.generation.number, weighted, reach, limit)
        return ChannelResult(hits=tuple(hits), explanation={"matching": matching})
