"""An organisation's own words as the analyzer finds them in a text: leftmost, longest, never overlapping. Pure.

Phrases are kept folded (`analyzer.fold_phrase`). One that begins or ends with a letter of an alphabetic script is found
only where a word begins or ends there; several words are also found in the plural, and a space between a Chinese and
another word makes no difference. One automaton finds all phrases at once, in time linear in the text.
"""

import re
from collections.abc import Iterable, Sequence

from ahocorasick_rs import AhoCorasick

from ingestion.indexing.numerals import cuts_numeral
from ingestion.indexing.words import CJK

Place = tuple[str, int, int]  # phrase, start, end

_LETTER = re.compile(rf"[^\W_{CJK}]")
_SPACE = re.compile(r"\s")
_BORDER = re.compile(rf"(?<=[{CJK}])(?=[^\W_{CJK}])|(?<=[^\W_{CJK}])(?=[{CJK}])")


class Phrases:
    """A set of folded phrases, made once and read by many threads."""

    __slots__ = ("_automaton", "_known")

    def __init__(self, phrases: Iterable[str]) -> None:
        known = sorted({phrase for phrase in phrases if phrase})
        spaced = [phrase for phrase in known if _BORDER.search(phrase)]
        self._known = (*known, *spaced)
        self._automaton = AhoCorasick([*known, *(_BORDER.sub(" ", phrase) for phrase in spaced)])

    def __bool__(self) -> bool:
        return bool(self._known)

    def without(self, phrase: str) -> "Phrases":
        return Phrases(known for known in self._known if known != phrase)

    def places(self, text: str) -> list[Place]:
        """All places in a lower-case text, overlapping ones too, in no order."""
        found = self._automaton.find_matches_as_indexes(text, overlapping=True)
        return [
            (self._known[number], start, end)
            for number, start, last in found
            if (end := _end(text, start, last))
        ]


def find(groups: Sequence[Phrases], text: str) -> list[Place]:
    """The phrases of all groups in a folded text, in order, with their offsets; of two at one place the longer."""
    text = _SPACE.sub(" ", text).lower()
    return leftmost_longest(place for phrases in groups for place in phrases.places(text))


def leftmost_longest(places: Iterable[Place]) -> list[Place]:
    """Places that do not overlap: the first one, and of those that begin with it the longest, then on from its end."""
    found: list[Place] = []
    for place in sorted(places, key=lambda place: (place[1], -place[2])):
        if not found or place[1] >= found[-1][2]:
            found.append(place)
    return found


def _end(text: str, start: int, end: int) -> int:
    """Where a phrase at `start` ends in the text, or 0 when it would begin or end inside a word or a number."""
    if start and _is_inside_word(text, start):
        return 0
    if _is_inside_word(text, end):
        is_plural = " " in text[start:end] and text[end] == "s" and not _is_inside_word(text, end + 1)
        return end + 1 if is_plural else 0
    return 0 if cuts_numeral(text, start, end) else end


def _is_inside_word(text: str, at: int) -> bool:
    return bool(_LETTER.match(text[at : at + 1]) and _LETTER.match(text[at - 1 : at]))
