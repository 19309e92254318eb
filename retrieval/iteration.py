"""Questions of several parts: every part is looked for, what is missing once more, and each has its place at the top.

The whole question's own ranking leads, then come the parts by turns. A part whose evidence is weak is asked again with
what the passages of the others name: codes, versions and titles. At most two rounds a part, within a limit of time.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from ingestion.indexing.analyzer import distinct_query_terms
from retrieval.evidence import coverage
from retrieval.recall import Recall
from retrieval.values import Candidate, Key, Passage

LIMIT_S = 1.5  # for all parts together; what has not begun by then is left out
WEAK_COVERAGE = 0.5  # share of a part's idf mass that its best passages hold
BRIDGES = 4  # names that a part is asked again with
READ = 2  # passages of a part that names are taken from
_SENTENCE = re.compile(r"[^。！？!?\n.]+(?:[。！？!?\n]|\.(?=\s|$)|\.)?")
# Codes, variables and versions; a plain number names nothing.
_NAME = re.compile(
    r"(?<![A-Za-z0-9])(?=[A-Za-z0-9_./-]*[\d_])(?!\d+(?:[.,]\d+)?(?![A-Za-z0-9_./-]*[A-Za-z_.]))"
    r"[A-Za-z0-9][A-Za-z0-9_./-]*[A-Za-z0-9](?![A-Za-z0-9])"
)

Ranking = tuple[Candidate, ...]
Look = Callable[[str], tuple[Recall, Ranking]]
Read = Callable[[Recall, Ranking], Sequence[Passage]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFound:
    """What was found for one part. asked: its text in each round."""

    asked: tuple[str, ...]
    recalled: Recall
    ranking: Ranking

    def as_json(self) -> dict[str, Any]:
        """For the trace: how often it was asked, and its best candidates; no words that come from documents."""
        return {
            "text": self.asked[0],
            "rounds": len(self.asked),
            "candidates": [candidate.chunk_id for candidate in self.ranking[:10]],
            "is_weak": is_weak(self.recalled, self.ranking),
        }


def find_parts(parts: Sequence[str], look: Look, read: Read) -> tuple[PartFound, ...]:
    """Each part in turn; then those with weak evidence again, with the names that the others' passages give."""
    until = time.monotonic() + LIMIT_S
    found: list[PartFound] = []
    for part in parts:
        if found and time.monotonic() > until:
            break
        recalled, ranking = look(part)
        found.append(PartFound(asked=(part,), recalled=recalled, ranking=ranking))
    for index, one in enumerate(found):
        if time.monotonic() > until or not is_weak(one.recalled, one.ranking):
            continue
        names = [name for other in found if other is not one for name in _names(other, read)]
        bridges = [name for name in dict.fromkeys(names) if name.lower() not in one.asked[0].lower()][
            :BRIDGES
        ]
        if bridges:
            again = f"{one.asked[0]} {' '.join(bridges)}"
            recalled, ranking = look(again)
            found[index] = PartFound(asked=(*one.asked, again), recalled=recalled, ranking=ranking)
    return tuple(found)


def is_weak(recalled: Recall, ranking: Ranking) -> bool:
    """Whether no passage at the top holds much of what was asked."""
    top = [recalled.says(candidate.chunk_id) for candidate in ranking[:READ]]
    return max((coverage(terms, recalled.idf) for terms in top), default=0.0) < WEAK_COVERAGE


def merged(recalled: Recall, ranking: Ranking, parts: Sequence[PartFound]) -> tuple[Recall, Ranking]:
    """The whole question's ranking and those of its parts by turns; what is known of every candidate, together."""
    turns = zip_longest(ranking, *(part.ranking for part in parts))
    best: dict[Key, Candidate] = {}
    for turn in turns:
        for candidate in filter(None, turn):
            best.setdefault(candidate.chunk_id, candidate)
    together = [part.recalled for part in parts]
    signals = {key: signal for one in (*together, recalled) for key, signal in one.signals.items()}
    terms: dict[Key, tuple[str, ...]] = {}
    for one in (recalled, *together):
        for key, found in one.terms.items():
            terms[key] = tuple(dict.fromkeys((*terms.get(key, ()), *found)))
    return replace(recalled, signals=signals, terms=terms), tuple(best.values())


def _names(found: PartFound, read: Read) -> list[str]:
    """Codes and versions in the sentences that say most of what the part asks, of its best passages."""
    terms = frozenset(distinct_query_terms(found.asked[0]))
    names: list[str] = []
    for passage in read(found.recalled, found.ranking[:READ]):
        sentences = _SENTENCE.findall(passage.text)
        best = max(
            sentences, key=lambda sentence: len(terms & set(distinct_query_terms(sentence))), default=""
        )
        names += _NAME.findall(best)
    return names
