"""Which part of a passage to show in a list, and which words of it to mark. Pure."""

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ingestion.indexing.analyzer import Occurrence, locate

SNIPPET_WIDTH = 420  # in half-width characters: a Han character counts two
WORD = 12  # how far the end is moved back so as not to cut a word
LEAD = 60  # what stands before the first marked word
_SENTENCE_START = re.compile(r"(?<=[。！？；.!?;\n])\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    text: str
    marked: bool = False


def marked_segments(text: str, terms: Collection[str]) -> tuple[Segment, ...]:
    """The whole text, cut into marked and plain parts. `terms` are tokens as the analyzer gives them."""
    return _cut(text, locate(text, terms) if terms else (), 0, len(text))


def snippet(text: str, terms: Collection[str], *, width: int = SNIPPET_WIDTH) -> tuple[Segment, ...]:
    """The stretch of the text with the most marked words, at most about `width` wide, with … where it was cut."""
    text = " ".join(text.split())
    places = locate(text, terms) if terms else []
    start = _start(text, places, width)
    end = _end(text, start, width)
    segments = list(_cut(text, places, start, end))
    if start > 0:
        segments.insert(0, Segment(text="… "))
    if end < len(text):
        segments.append(Segment(text=" …"))
    return tuple(segments)


def _cut(text: str, places: Sequence[Occurrence], start: int, end: int) -> tuple[Segment, ...]:
    segments: list[Segment] = []
    at = start
    for place in places:
        if place.end <= start or place.start >= end:
            continue
        first, last = max(place.start, start), min(place.end, end)
        if first > at:
            segments.append(Segment(text=text[at:first]))
        segments.append(Segment(text=text[first:last], marked=True))
        at = last
    if at < end:
        segments.append(Segment(text=text[at:end]))
    return tuple(segments)


def _start(text: str, places: Sequence[Occurrence], width: int) -> int:
    """Before the first word of the densest stretch, moved back to the start of its sentence where that is near."""
    if not places or _width(text) <= width:
        return 0
    reach = width // 2 if _width(text[:200]) > len(text[:200]) * 1.5 else width
    best, most = places[0].start, 0
    for place in places:
        found = len(
            {other.token for other in places if place.start <= other.start < place.start + reach - LEAD}
        )
        if found > most:
            best, most = place.start, found
    if best <= LEAD:
        return 0
    near = [match.end() for match in _SENTENCE_START.finditer(text, best - LEAD, best)]
    if near:
        return near[-1]
    space = text.find(" ", best - LEAD // 2, best)
    return space + 1 if space >= 0 else best - LEAD // 2


def _end(text: str, start: int, width: int) -> int:
    used = 0
    for at in range(start, len(text)):
        used += 2 if unicodedata.east_asian_width(text[at]) in "WF" else 1
        if used > width:
            space = text.rfind(" ", at - WORD, at + 1)
            return space if space > start else at
    return len(text)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
