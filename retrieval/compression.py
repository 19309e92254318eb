"""Contextual compression: of a passage, the sentences that matter to the question. Pure, extractive.

A sentence weighs by the part of the question's idf mass it holds; the one behind it gets some of that, and the one before it
less, because what a sentence means often stands beside it. Sentences stay whole and in order; what is left out shows as an ellipsis.
"""

from collections.abc import Mapping

from ingestion.chunking.sentences import split_sentences
from ingestion.indexing.analyzer import analyze

BEHIND, BEFORE = 0.4, 0.2
ELLIPSIS = "…"


def compress(text: str, idf: Mapping[str, float], *, limit: int) -> str:
    """At most about `limit` characters of the text: one sentence longer than that is kept whole.

    idf: weight of each distinct question term. Without any of them in the text its beginning is kept.
    """
    if len(text) <= limit:
        return text
    sentences = [sentence for sentence in split_sentences(text) if sentence.strip()]
    weights = _weights(sentences, idf)
    order = sorted(range(len(sentences)), key=lambda at: (-weights[at], at))
    chosen: set[int] = set()
    room = limit
    for at in order:
        if not weights[at] and chosen and weights[order[0]]:
            break
        length = len(sentences[at].strip())
        if length <= room or not chosen:
            chosen.add(at)
            room -= length
    return _joined(sentences, chosen)


def _weights(sentences: list[str], idf: Mapping[str, float]) -> list[float]:
    own = [sum(idf.get(term, 0.0) for term in set(analyze(sentence))) for sentence in sentences]
    beside = [0.0, *own, 0.0]
    return [
        max(weight, BEHIND * before, BEFORE * after)
        for before, weight, after in zip(beside, own, beside[2:], strict=False)
    ]


def _joined(sentences: list[str], chosen: set[int]) -> str:
    parts: list[str] = []
    for at, sentence in enumerate(sentences):
        if at in chosen:
            parts.append(sentence.strip())
        elif not parts or parts[-1] != ELLIPSIS:
            parts.append(ELLIPSIS)
    return " ".join(parts)
