"""What evidence weighs, and how little of it is too little. Measured; `manage.py calibrate_retrieval` measures it anew."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceWeights:
    """spread: the cosine counts in this unit, the standard deviation of centred cosines of one question.

    words: for all of the question's idf mass. codes: for all of it in whole codes, as vectors take one code for another and
    who names one means that one. phrases: for every quoted phrase, word for word. foreign: for a passage of the other
    language, which cannot have words in common. On raw scales one weak word in common outranks the right passage of
    another language; all of these lie in a flat region.
    """

    spread: float = 0.08
    words: float = 3.0
    codes: float = 10.0
    phrases: float = 3.0
    foreign: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceBounds:
    """Below `cosine` and `coverage` both, nothing supports an answer. with_code: the coverage that makes up for a code or
    number of the question which no passage holds."""

    cosine: float = 0.26
    coverage: float = 0.3
    with_code: float = 0.6


DEFAULT_WEIGHTS, DEFAULT_BOUNDS = EvidenceWeights(), EvidenceBounds()
