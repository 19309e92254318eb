"""The numbers of the ranking, measured on an organisation's own index: the unit of nearness and the bound of refusing.

Nothing but numbers leaves this module: it looks at all chunks, whoever may read them. Questions that the documents answer
are their own headings; questions that they do not are kept with the code (`evaluation/foreign_questions.jsonl`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files

import numpy as np
from django.db.backends.utils import CursorWrapper
from numpy.typing import NDArray

from ingestion.embedding.protocol import Embedder
from ingestion.indexing.analyzer import distinct_query_terms
from ingestion.models import Chunk, IndexGeneration, ScopeStatistic
from kb_platform.errors import Conflict
from retrieval.channels.dense import choose_plan, sample_vectors, search_dense
from retrieval.channels.lexical import read_statistics, read_traits, search_lexical
from retrieval.evaluation.datasets import Question, read_questions
from retrieval.evidence import TOP_FOR_COVERAGE, coverage, is_chinese
from retrieval.reach import Reach
from retrieval.snapshot import read_snapshot
from retrieval.weights import DEFAULT_BOUNDS

LEAST_CHUNKS = 100  # of fewer, no spread can be told
SAMPLED_CHUNKS, SAMPLED_HEADINGS = 4_000, 200
FIRST = 5  # passages that the verdict looks at
KEPT, REFUSED = (
    0.05,
    0.9,
)  # quantiles: of the answerable to stay above the bound, of the foreign ones to fall below


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """spread: see EvidenceWeights. cosine: see EvidenceBounds. kept, refused: the shares of the headings that would be
    answered, and of the foreign questions that would be refused, by the whole rule with this bound."""

    chunks: int
    headings: int
    spread: float
    cosine: float
    kept: float
    refused: float


@dataclass(frozen=True, slots=True)
class _Support:
    cosine: float
    coverage: float


def calibrate(embedder: Embedder, generation: IndexGeneration) -> Calibration:
    """Measure. The same index gives the same numbers. Raises Conflict when it is too small, or of another embedder."""
    if generation.embedder != embedder.fingerprint:
        raise Conflict("the index was made by another embedder")
    with read_snapshot() as cursor:
        vectors = sample_vectors(cursor, generation.number, SAMPLED_CHUNKS)
        headings = _headings(generation)
        if len(vectors) < LEAST_CHUNKS or not headings:
            raise Conflict(f"at least {LEAST_CHUNKS} passages with headings are needed")
        look = _Look(cursor=cursor, generation=generation.number, reach=_everything(generation))
        asked = [embedder.embed_query(heading) for heading in headings]
        own = [look.support(text, vector) for text, vector in zip(headings, asked, strict=True)]
        foreign = [look.support(one.text, embedder.embed_query(one.text)) for one in foreign_questions()]
    cosine = proposed_bound([one.cosine for one in own], [one.cosine for one in foreign])
    return Calibration(
        chunks=len(vectors),
        headings=len(headings),
        spread=round(measured_spread(vectors, np.array(asked)), 4),
        cosine=cosine,
        kept=round(1 - _refused(own, cosine), 4),
        refused=round(_refused(foreign, cosine), 4),
    )


def foreign_questions() -> list[Question]:
    """General knowledge in both languages, which a company's documents do not speak of."""
    with as_file(files("retrieval.evaluation") / "foreign_questions.jsonl") as path:
        return read_questions(path, is_foreign=True)


def measured_spread(passages: NDArray[np.float32], questions: NDArray[np.float32]) -> float:
    """The median over questions of the standard deviation of a question's cosines with passages, (n, dimension) each."""
    covariance = np.cov(passages.T)
    return float(np.median(np.sqrt(np.einsum("qd,de,qe->q", questions, covariance, questions))))


def proposed_bound(own: Sequence[float], foreign: Sequence[float]) -> float:
    """The cosine below which nearly all foreign questions lie, unless that would cost more than few of the own ones."""
    return round(float(min(np.quantile(own, KEPT), np.quantile(foreign, REFUSED))), 3)


def _refused(supports: Sequence[_Support], cosine: float) -> float:
    refused = [one.cosine < cosine and one.coverage < DEFAULT_BOUNDS.coverage for one in supports]
    return sum(refused) / len(refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """How near, and how much of its words, the index has for a question: of each channel's first passages."""

    cursor: CursorWrapper
    generation: int
    reach: Reach

    def support(self, text: str, vector: NDArray[np.float32]) -> _Support:
        terms = distinct_query_terms(text)
        known = read_statistics(self.cursor, self.generation, self.reach.scopes, terms)
        plan = choose_plan(reachable=known.chunk_count, everything=known.all_chunks)
        near = search_dense(self.cursor, self.generation, vector, self.reach, plan=plan, limit=FIRST)
        worded = search_lexical(self.cursor, self.generation, known, self.reach, TOP_FOR_COVERAGE)
        traits = read_traits(self.cursor, self.generation, [hit.chunk_id for hit in worded], terms)
        other = "en" if is_chinese(text) else "zh"
        shares = [
            coverage(frozenset(one.terms), known.idf()) for one in traits.values() if one.language != other
        ]
        return _Support(
            cosine=max((hit.score for hit in near), default=0.0), coverage=max(shares, default=0.0)
        )


def _everything(generation: IndexGeneration) -> Reach:
    scopes = ScopeStatistic.objects.filter(generation=generation.number, chunk_count__gt=0)
    return Reach(scopes=tuple(scopes.order_by("scope_id").values_list("scope_id", flat=True)))


def _headings(generation: IndexGeneration) -> list[str]:
    """The innermost headings that could be a question: several words."""
    paths = Chunk.objects.filter(generation=generation).order_by("text_hash").values_list("heading_path")
    found: dict[str, None] = {}
    for (path,) in paths[:SAMPLED_CHUNKS]:
        if path and len(distinct_query_terms(path[-1])) > 1:
            found.setdefault(path[-1])
    return list(found)[:SAMPLED_HEADINGS]
