"""The lexical channel: exact BM25 over what the reader may see.

Document frequencies are summed over the visible scopes, so scores tell nothing of hidden documents. The stored side
and the formula live in `ingestion.indexing.bm25`; the inner product with the question's idf vector is the score.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.conf import settings
from django.db.backends.utils import CursorWrapper

from ingestion.indexing.bm25 import idf, sparse_text
from ingestion.indexing.tables import quoted
from retrieval.reach import Reach
from retrieval.values import Hit, Key

MAX_TERMS = 64
MAX_WIDENED = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class TermStatistics:
    """Counts over the visible scopes. `all_chunks` is the size of the whole generation, for choosing plans only.

    weights: of terms that count less than 1, because a synonym brought them.
    """

    chunk_count: int
    all_chunks: int
    frequencies: Mapping[str, int]
    weights: Mapping[str, float] = field(default_factory=dict)

    def idf(self) -> dict[str, float]:
        """Weight of every term of the question; a term that occurs nowhere has the largest."""
        return {
            term: idf(self.chunk_count, count) * self.weights.get(term, 1.0)
            for term, count in self.frequencies.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """terms: the question's tokens that a chunk holds, in the question's order. language: zh, en, mixed or empty."""

    terms: tuple[str, ...]
    language: str


def read_statistics(
    cursor: CursorWrapper, generation: int, scopes: Sequence[int], terms: Sequence[str]
) -> TermStatistics:
    """Chunk counts and document frequencies of `terms` (0 where a term is unknown) over `scopes`."""
    visible = list(scopes)
    cursor.execute(
        "select null, coalesce(sum(chunk_count) filter (where scope_id = any(%s::int[])), 0)::bigint, "
        "coalesce(sum(chunk_count), 0)::bigint from ingestion_scopestatistic where generation = %s union all "
        "select term, sum(chunk_count)::bigint, null from ingestion_termstatistic "
        "where generation = %s and scope_id = any(%s::int[]) and term = any(%s::text[]) group by term",
        [visible, generation, generation, visible, list(terms)],
    )
    frequencies = dict.fromkeys(terms, 0)
    chunk_count = all_chunks = 0
    for term, count, everything in cursor.fetchall():
        if term is None:
            chunk_count, all_chunks = count, everything
        else:
            frequencies[term] = max(count, 0)
    return TermStatistics(chunk_count=chunk_count, all_chunks=all_chunks, frequencies=frequencies)


def read_terms_with(
    cursor: CursorWrapper, generation: int, scopes: Sequence[int], character: str
) -> list[str]:
    """The commonest terms over `scopes` that contain a character, at most MAX_WIDENED, commonest first."""
    cursor.execute(
        "select term from ingestion_termstatistic where generation = %s and scope_id = any(%s::int[]) "
        "and strpos(term, %s) > 0 group by term having sum(chunk_count) > 0 order by sum(chunk_count) desc, term limit %s",
        [generation, list(scopes), character, MAX_WIDENED],
    )
    return [term for (term,) in cursor.fetchall()]


def matching_terms(statistics: TermStatistics) -> tuple[list[str], list[str]]:
    """(terms a chunk must hold one of, all terms that occur), rarest first.

    Terms in more than KB_LEXICAL_COMMON_SHARE of the chunks only score when a rarer one is there to match.
    """
    occurring = sorted(
        (term for term, count in statistics.frequencies.items() if count),
        key=lambda term: (statistics.frequencies[term], term),
    )[:MAX_TERMS]
    common_from = settings.LEXICAL_COMMON_SHARE * statistics.chunk_count
    rare = [term for term in occurring if statistics.frequencies[term] <= common_from]
    return rare or occurring, occurring


def search_lexical(
    cursor: CursorWrapper, generation: int, statistics: TermStatistics, reach: Reach, limit: int
) -> list[Hit]:
    """The `limit` best chunks by BM25, best first, equal scores by chunk id.

    When the rare terms alone match fewer than `limit` chunks, any term of the question may match.
    """
    narrow, every = matching_terms(statistics)
    if not every or reach.is_empty:
        return []
    weights = statistics.idf()
    question = sparse_text({term: weights[term] for term in every})
    hits = _run(cursor, generation, (question, any_of(narrow), limit), reach)
    if len(hits) < limit and len(narrow) < len(every):
        hits = _run(cursor, generation, (question, any_of(every), limit), reach)
    return hits


def _run(cursor: CursorWrapper, generation: int, asked: tuple[str, str, int], reach: Reach) -> list[Hit]:
    question, match, limit = asked
    condition, parameters = reach.condition()
    cursor.execute(
        f"select chunk_id, bm25 <#> %s::sparsevec as distance from lexical_g{generation:d} "
        f"where terms @@ %s::tsquery and {condition} order by distance, chunk_id limit %s",
        [question, match, *parameters, limit],
    )
    return [Hit(chunk_id=chunk_id, score=-distance) for chunk_id, distance in cursor.fetchall()]


def read_traits(
    cursor: CursorWrapper, generation: int, chunk_ids: Sequence[Key], terms: Sequence[str]
) -> dict[Key, Traits]:
    """What the ranking needs to know of chunks, however they were found; one that is no longer indexed is left out."""
    if not chunk_ids:
        return {}
    cursor.execute(
        "select chunk_id, language, "
        "array(select q.place from unnest(%s::text[]::tsquery[]) with ordinality as q(term, place) "
        f"where terms @@ q.term order by q.place) from lexical_g{generation:d} "
        "join ingestion_chunk on id = chunk_id where chunk_id = any(%s::bigint[])",
        [[quoted(term) for term in terms], list(chunk_ids)],
    )
    return {
        chunk_id: Traits(terms=tuple(terms[place - 1] for place in places), language=language)
        for chunk_id, language, places in cursor.fetchall()
    }


def read_phrase_shares(
    cursor: CursorWrapper, chunk_ids: Sequence[Key], phrases: Sequence[str]
) -> dict[Key, float]:
    """The share of `phrases` that each chunk holds word for word, 0..1, whatever their case, width and line breaks.

    phrases: as `evidence.fold_phrase` gives them.
    """
    if not chunk_ids or not phrases:
        return {}
    cursor.execute(
        "select id, (select avg((strpos(folded, phrase) > 0)::int) from unnest(%s::text[]) as p(phrase))::float8 "
        "from ingestion_chunk, lateral (select "
        "regexp_replace(lower(normalize(embedding_text, NFKC)), '\\s+', ' ', 'g') as folded) as text "
        "where id = any(%s::bigint[])",
        [list(phrases), list(chunk_ids)],
    )
    return dict(cursor.fetchall())


def read_collections(cursor: CursorWrapper, chunk_ids: Sequence[Key]) -> dict[Key, int]:
    """The collection that each chunk's document is in."""
    cursor.execute(
        "select c.id, d.collection_id from ingestion_chunk c join ingestion_document d on d.id = c.document_id "
        "where c.id = any(%s::bigint[])",
        [list(chunk_ids)],
    )
    return dict(cursor.fetchall())


def any_of(terms: Sequence[str]) -> str:
    """A tsquery that matches any of our own tokens. User text never reaches a query parser."""
    return " | ".join(map(quoted, terms))
