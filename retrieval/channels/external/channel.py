"""External sources within a search: asked before the index is, joined after it, and weighed by the same evidence.

What counts for a passage from elsewhere is what counts for ours: the share of the question's words that it holds, and its
nearness by meaning where its text could be embedded in time. Else the source's own score, on our scale, stands in for the
nearness, so low that it is no evidence by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accounts.values import Principal
from ingestion.embedding.registry import get_embedder
from ingestion.indexing.analyzer import analyze, distinct_query_terms
from kb_platform.net.safe_http import open_door
from retrieval.channels.external.asking import PendingSources, SourceOutcome, Vectors
from retrieval.channels.external.values import ExternalHit
from retrieval.evidence import coverages, fold_phrase, is_chinese, quoted_phrases
from retrieval.fusion import Signal
from retrieval.recall import Recall
from retrieval.search_settings import SearchSettings
from retrieval.sources.selectors import sources_for
from retrieval.values import External, Hit, Key, Mode, Passage, SearchRequest

EXTERNAL = "external"
FROM_EACH = 20
BELOW_EVIDENCE = 0.95
EMBEDDED_CHARACTERS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalSearch:
    """Questions on their way, or None when nobody is asked. least_cosine: from which on nearness is evidence."""

    question: str = ""
    pending: PendingSources | None = None
    least_cosine: float = 0.0

    @property
    def is_asked(self) -> bool:
        return self.pending is not None

    def joined(self, recalled: Recall) -> Recall:
        """What the index gave, with what came from outside by the deadline; sources that failed are named."""
        if self.pending is None:
            return recalled
        outcomes = self.pending.collect()
        found = [hit for outcome in outcomes for hit in outcome.hits]
        found.sort(key=lambda hit: -hit.score)
        idf = recalled.idf or dict.fromkeys(distinct_query_terms(self.question), 1.0)
        terms: dict[Key, tuple[str, ...]] = {hit.key: _terms_in(hit, idf) for hit in found}
        cosines = _cosines(recalled, self.pending.vectors(outcomes))
        signals: dict[Key, Signal] = {
            hit.key: self._signal(hit, terms[hit.key], idf, cosines) for hit in found
        }
        failed = tuple(f"source:{outcome.source.name}" for outcome in outcomes if outcome.problem)
        return replace(
            recalled,
            hits={**recalled.hits, EXTERNAL: tuple(Hit(chunk_id=hit.key, score=hit.score) for hit in found)},
            signals={**recalled.signals, **signals},
            terms={**recalled.terms, **terms},
            idf=idf,
            passages={hit.key: _passage(hit, terms[hit.key]) for hit in found},
            degraded=(*recalled.degraded, *failed),
            explanations={**recalled.explanations, EXTERNAL: _explained(outcomes, cosines)},
        )

    def _signal(
        self, hit: ExternalHit, terms: tuple[str, ...], idf: Mapping[str, float], cosines: Mapping[str, float]
    ) -> Signal:
        stand_in = hit.score * self.least_cosine * BELOW_EVIDENCE
        shares, text = coverages(dict.fromkeys(terms, 1.0), idf), fold_phrase(_text(hit))
        phrases = quoted_phrases(self.question)
        return Signal(
            cosine=cosines.get(hit.key, stand_in),
            coverage=shares.words,
            codes=shares.codes,
            phrases=sum(phrase in text for phrase in phrases) / len(phrases) if phrases else 0.0,
            is_foreign=is_chinese(_text(hit)) != is_chinese(self.question),
        )


def ask_outside(request: SearchRequest, settings: SearchSettings, *, principal: Principal) -> ExternalSearch:
    """Ask the sources that the reader may use, if the search has any business with them.

    A search within conditions or by one channel has none: other systems know neither our collections nor our fields.
    """
    if not (settings.external and request.mode is Mode.HYBRID and request.has_words) or request.filters:
        return ExternalSearch()
    sources = sources_for(principal)
    if not sources:
        return ExternalSearch()
    pending = PendingSources(
        sources,
        request.text,
        limit=FROM_EACH,
        door=open_door(),
        deadline_s=settings.external_ms / 1000,
        embed=_embed if settings.dense else None,
    )
    return ExternalSearch(question=request.text, pending=pending, least_cosine=settings.evidence_cosine)


def _terms_in(hit: ExternalHit, idf: Mapping[str, float]) -> tuple[str, ...]:
    text = _text(hit)
    tokens = set(analyze(text))
    return tuple(term for term in idf if term in tokens or (len(term) == 1 and term in text))


def _cosines(recalled: Recall, vectors: Vectors) -> dict[str, float]:
    """Nearness to the question of the texts that were embedded; empty where the question was not, or by another model."""
    question = recalled.vector
    if question is None or not vectors or question.fingerprint != get_embedder().fingerprint:
        return {}
    return {key: float(vector @ question.vector) for key, vector in vectors.items()}


def _embed(hits: Sequence[ExternalHit]) -> Vectors:
    fingerprint = get_embedder().fingerprint
    return {hit.key: _vector(fingerprint, _text(hit)[:EMBEDDED_CHARACTERS]) for hit in hits}


@lru_cache(maxsize=2000)
def _vector(_fingerprint: str, text: str) -> NDArray[np.float32]:
    vector: NDArray[np.float32] = get_embedder().embed_documents([text])[0]
    return vector


def _text(hit: ExternalHit) -> str:
    return f"{hit.record.title}\n{hit.record.text}".strip()


def _passage(hit: ExternalHit, terms: tuple[str, ...]) -> Passage:
    """As hydration would make one of ours; it has no document, version or place in a file."""
    record = hit.record
    return Passage(
        chunk_id=hit.key,
        document_id=0,
        document_uid="",
        version_id=0,
        version_number=0,
        title=record.title or hit.source_name,
        collection_uid="",
        collection_name=hit.source_name,
        text=record.text or record.title,
        embedding_text=_text(hit),
        kind="external",
        language="zh" if is_chinese(_text(hit)) else "en",
        heading_path=(),
        page=None,
        boxes=(),
        first_element=0,
        last_element=0,
        score=hit.score,
        channels={},
        terms=terms,
        external=External(
            source_uid=hit.source_uid, source_name=hit.source_name, url=record.url, allowed=hit.allowed
        ),
    )


def _explained(outcomes: Sequence[SourceOutcome], cosines: dict[str, float]) -> dict[str, Any]:
    """For the trace: how each source fared, without any of its texts."""
    return {
        outcome.source.name: {
            "found": len(outcome.hits),
            "problem": outcome.problem,
            "ms": round(outcome.seconds * 1000, 1),
            "compared_by_meaning": sum(hit.key in cosines for hit in outcome.hits),
        }
        for outcome in outcomes
    }
