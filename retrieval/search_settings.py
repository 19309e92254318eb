"""The knobs of one search, in one frozen value: from the settings pages, or changed for one run.

Everything that decides what a search finds, besides the question and the reader, stands here; `fingerprint` names it.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from kb_platform.runtime_config import declarations as declared
from kb_platform.runtime_config import store
from kb_platform.runtime_config.kinds import Decimal
from retrieval.weights import DEFAULT_BOUNDS, DEFAULT_WEIGHTS, EvidenceBounds, EvidenceWeights

_NUMBERS = {
    "meaning_share": declared.MEANING_SHARE,
    "cosine_spread": declared.COSINE_SPREAD,
    "word_weight": declared.WORD_WEIGHT,
    "code_weight": declared.CODE_WEIGHT,
    "phrase_weight": declared.PHRASE_WEIGHT,
    "foreign_bonus": declared.FOREIGN_BONUS,
    "evidence_cosine": declared.EVIDENCE_COSINE,
    "evidence_coverage": declared.EVIDENCE_COVERAGE,
    "evidence_with_code": declared.EVIDENCE_WITH_CODE,
}


class Fusion(StrEnum):
    """How the channels' hits become one ranking; see `retrieval.fusion`."""

    EVIDENCE = "evidence"
    RRF = "rrf"
    MINMAX = "minmax"
    CASCADE = "cascade"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """dense, lexical: whether a channel may be used. pool: hits each channel hands to fusion, whatever page is asked for.

    rrf_k: rank offset of a fusion by rank. threshold: least final score; None keeps everything, 0 is a bound like another.
    fold: whether passages that say the same are shown once. diversity: 0 ranks by fit alone, 1 by difference from what
    stands above; None switches it off. cache_seconds: how long a ranking may be used again; 0 never. faq: whether
    stored questions are compared, and their answers given; faq_similarity: how near another wording must at least be, None
    for none but the same. rerank: whether the configured reranker, if there is one, judges the first `rerank_candidates`
    again. conditions, follow_ups, parts: what is understood of a question; see `retrieval.query`.
    tables: whether questions are computed over the tables found. external: whether sources outside of the index are
    asked, for at most `external_ms`.
    meaning_share: what nearness counts in a fusion by scores, 0..1. The others are those of `weights`, of a fusion by
    evidence, and of `bounds`, of evidence.
    """

    dense: bool = True
    lexical: bool = True
    pool: int = 100
    fusion: Fusion = Fusion.EVIDENCE
    rrf_k: int = 60
    threshold: float | None = None
    fold: bool = True
    diversity: float | None = None
    cache_seconds: int = 60
    faq: bool = True
    faq_similarity: float | None = 0.7
    tables: bool = True
    rerank: bool = False
    rerank_candidates: int = 40
    conditions: bool = True
    follow_ups: bool = True
    parts: bool = True
    external: bool = True
    external_ms: int = 2500
    meaning_share: float = 0.7
    cosine_spread: float = DEFAULT_WEIGHTS.spread
    word_weight: float = DEFAULT_WEIGHTS.words
    code_weight: float = DEFAULT_WEIGHTS.codes
    phrase_weight: float = DEFAULT_WEIGHTS.phrases
    foreign_bonus: float = DEFAULT_WEIGHTS.foreign
    evidence_cosine: float = DEFAULT_BOUNDS.cosine
    evidence_coverage: float = DEFAULT_BOUNDS.coverage
    evidence_with_code: float = DEFAULT_BOUNDS.with_code

    @property
    def weights(self) -> EvidenceWeights:
        return EvidenceWeights(
            spread=self.cosine_spread,
            words=self.word_weight,
            codes=self.code_weight,
            phrases=self.phrase_weight,
            foreign=self.foreign_bonus,
        )

    @property
    def bounds(self) -> EvidenceBounds:
        return EvidenceBounds(
            cosine=self.evidence_cosine,
            coverage=self.evidence_coverage,
            with_code=self.evidence_with_code,
        )

    def changed(self, **overrides: Any) -> "SearchSettings":
        """The same with other values for one run. Raises TypeError for a knob that does not exist."""
        return replace(self, **overrides)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def fingerprint(self) -> str:
        """Equal for equal settings, 16 hexadecimal digits."""
        text = json.dumps(self.as_json(), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def current() -> SearchSettings:
    """What the settings pages say now."""
    return SearchSettings(
        dense=store.get(declared.DENSE_CHANNEL),
        lexical=store.get(declared.LEXICAL_CHANNEL),
        pool=store.get(declared.CANDIDATE_POOL),
        fusion=Fusion(store.get(declared.FUSION)),
        rrf_k=store.get(declared.RRF_K),
        threshold=store.get(declared.SCORE_THRESHOLD),
        fold=store.get(declared.FOLD_DUPLICATES),
        diversity=store.get(declared.DIVERSITY),
        cache_seconds=store.get(declared.CACHE_SECONDS),
        faq=store.get(declared.FAQ_ANSWERS),
        faq_similarity=store.get(declared.FAQ_SIMILARITY),
        tables=store.get(declared.TABLE_ANSWERS),
        rerank=store.get(declared.RERANKER) != "none",
        rerank_candidates=store.get(declared.RERANK_CANDIDATES),
        conditions=store.get(declared.UNDERSTAND_CONDITIONS),
        follow_ups=store.get(declared.UNDERSTAND_FOLLOW_UPS),
        parts=store.get(declared.UNDERSTAND_PARTS),
        external=store.get(declared.EXTERNAL_SOURCES),
        external_ms=store.get(declared.EXTERNAL_MS),
        **{name: _number(setting) for name, setting in _NUMBERS.items()},
    )


def _number(setting: Decimal) -> float:
    """The setting, or what it is without one where somebody has emptied it."""
    value = store.get(setting)
    return float(setting.default or 0) if value is None else value
