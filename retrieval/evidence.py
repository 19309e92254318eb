"""The evidence verdict: do the best passages support an answer at all? Pure.

It refuses only what is clearly foreign to the documents; a near miss looks like a hit from here.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings

from ingestion.embedding.centring import cjk_share
from retrieval.values import Evidence, EvidenceLevel

CHINESE_SHARE = 0.15
# A digit with a letter or a separator: neither a plain number nor a Chinese quantity such as 15天.
_CODE = re.compile(r"(?=.*[0-9])(?=.*[a-z._/:@+-])[0-9a-z._/:@+-]{2,}")
TOP_FOR_COVERAGE, TOP_FOR_CODES = 3, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """What one passage offers. cosine: centred, as the index stores vectors, None when meaning was not compared.

    terms: those of the question that it holds. is_same_language: whether it is in the question's language.
    """

    terms: frozenset[str]
    cosine: float | None
    is_same_language: bool


def is_chinese(text: str) -> bool:
    """Whether a text counts as Chinese; all others count as English."""
    return cjk_share(text) > CHINESE_SHARE


def coverage(terms: frozenset[str], idf: Mapping[str, float]) -> float:
    """Share of the question's idf mass that `terms` make up, 0..1. Terms that occur nowhere count as missing."""
    mass = sum(idf.values())
    return sum(weight for term, weight in idf.items() if term in terms) / mass if mass else 0.0


def code_coverage(terms: frozenset[str], idf: Mapping[str, float]) -> float:
    """Share of the question's idf mass made up of whole codes (`xk-200a`, `gb/t`-like, `v2.3.1`) that `terms` hold, 0..1."""
    return coverage(frozenset(term for term in terms if _CODE.fullmatch(term)), idf)


def assess(best_first: Sequence[Support], idf: Mapping[str, float]) -> Evidence:
    """The verdict over the first passages of a search. `idf`: weight of each distinct term of the question.

    NONE: neither near by meaning nor by words, or nothing found. Words count in passages of the question's language only.
    WEAK: a code or number of the question is in none of
    the first passages, and few of its words are.
    """
    if not best_first:
        return Evidence(level=EvidenceLevel.NONE, cosine=None, coverage=0.0)
    cosine = max((support.cosine for support in best_first if support.cosine is not None), default=None)
    covered = max(
        (coverage(s.terms, idf) for s in best_first[:TOP_FOR_COVERAGE] if s.is_same_language), default=0.0
    )
    level = EvidenceLevel.ENOUGH
    is_far = cosine is None or cosine < settings.EVIDENCE_COSINE
    if is_far and covered < settings.EVIDENCE_COVERAGE:
        level = EvidenceLevel.NONE
    elif covered < settings.EVIDENCE_COVERAGE_WITH_MISSING_CODE and _misses_a_code(best_first, idf):
        level = EvidenceLevel.WEAK
    return Evidence(level=level, cosine=cosine, coverage=covered)


def _misses_a_code(best_first: Sequence[Support], idf: Mapping[str, float]) -> bool:
    codes = {term for term in idf if any(character.isdigit() for character in term)}
    found = frozenset().union(*(support.terms for support in best_first[:TOP_FOR_CODES]))
    return not codes <= found
