"""The evidence verdict: do the best passages support an answer at all? Pure.

It refuses only what is clearly foreign to the documents; a near miss looks like a hit from here.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ingestion.embedding.centring import cjk_share
from retrieval.values import Evidence, EvidenceLevel
from retrieval.weights import DEFAULT_BOUNDS, EvidenceBounds

CHINESE_SHARE = 0.15
# A digit with a letter or a separator: neither a plain number nor a Chinese quantity such as 15天.
_CODE = re.compile(r"(?=.*[0-9])(?=.*[a-z._/:@+-])[0-9a-z._/:@+-]{2,}")
_QUOTED = re.compile(
    r"\"([^\"]{1,200})\"|“([^”]{1,200})”|‘([^’]{1,200})’|「([^」]{1,200})」|『([^』]{1,200})』|《([^》]{1,200})》"
)
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


def weighted_coverage(said: Mapping[str, float], idf: Mapping[str, float]) -> float:
    """The same where a text says some terms only in part, by a synonym. said: 0..1 of each term that it says."""
    mass = sum(idf.values())
    return sum(weight * said.get(term, 0.0) for term, weight in idf.items()) / mass if mass else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverages:
    """words: see `coverage`. codes: the part that whole codes (`xk-200a`, `gb/t`-like, `v2.3.1`) make up."""

    words: float
    codes: float


def coverages(said: Mapping[str, float], idf: Mapping[str, float]) -> Coverages:
    codes = {term: share for term, share in said.items() if _CODE.fullmatch(term)}
    return Coverages(
        words=weighted_coverage(said, idf), codes=weighted_coverage(codes, idf) if codes else 0.0
    )


def quoted_phrases(question: str) -> tuple[str, ...]:
    """What stands between quotation marks or 《》, without the marks, folded as `fold_phrase` folds it."""
    phrases = (next(filter(None, groups)) for groups in _QUOTED.findall(question))
    return tuple(dict.fromkeys(folded for phrase in phrases if len(folded := fold_phrase(phrase)) > 1))


def fold_phrase(text: str) -> str:
    """Text as phrases are compared: width, case and white space do not count."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def assess(
    best_first: Sequence[Support], idf: Mapping[str, float], bounds: EvidenceBounds = DEFAULT_BOUNDS
) -> Evidence:
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
    is_far = cosine is None or cosine < bounds.cosine
    if is_far and covered < bounds.coverage:
        level = EvidenceLevel.NONE
    elif covered < bounds.with_code and _misses_a_code(best_first, idf):
        level = EvidenceLevel.WEAK
    return Evidence(level=level, cosine=cosine, coverage=covered)


def _misses_a_code(best_first: Sequence[Support], idf: Mapping[str, float]) -> bool:
    codes = {term for term in idf if any(character.isdigit() for character in term)}
    found = frozenset().union(*(support.terms for support in best_first[:TOP_FOR_CODES]))
    return not codes <= found
