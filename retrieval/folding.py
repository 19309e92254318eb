"""Near-duplicates: two passages that say the same with the same numbers. Pure.

Letters and Chinese characters are compared in overlapping runs (shingling: Broder, On the resemblance and containment of
documents, 1997). Numbers must agree exactly: the price lists of two years are not the same text.
"""

import re
from dataclasses import dataclass, field

from retrieval.values import Key

RUN = 5  # characters
ALIKE = 0.85  # share of runs in common
SHORTEST = 40  # of shorter passages only equal ones are the same
_NO_LETTER = re.compile(r"[\W_]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class _Print:
    text: str
    runs: frozenset[str]
    numbers: frozenset[str]


@dataclass(slots=True)
class Folder:
    """Takes passages best first and says which of the earlier ones each repeats."""

    _seen: dict[Key, _Print] = field(default_factory=dict)

    def same_as(self, key: Key, text: str) -> Key | None:
        """The first earlier passage that says the same; None for a new one, which is remembered."""
        own = _print(text)
        for other, seen in self._seen.items():
            if own.text == seen.text or _is_alike(own, seen):
                return other
        self._seen[key] = own
        return None


def _print(text: str) -> _Print:
    letters = _NO_LETTER.sub("", text.casefold())
    runs = frozenset(letters[at : at + RUN] for at in range(len(letters) - RUN + 1))
    return _Print(text=letters, runs=runs, numbers=frozenset(_NUMBER.findall(text)))


def _is_alike(one: _Print, other: _Print) -> bool:
    if len(one.text) < SHORTEST or len(other.text) < SHORTEST or one.numbers != other.numbers:
        return False
    common = len(one.runs & other.runs)
    return common >= ALIKE * (len(one.runs) + len(other.runs) - common)
