"""Cutting text: into sentences, and where nothing else is left, at the safest place within a length. Linear in time."""

import re
import unicodedata
from collections.abc import Iterator

# Possessive quantifiers and the look-behinds keep long runs of dots or spaces from being scanned more than once.
_END = re.compile(
    r"""[。！？；…]++[”’」』）】》"')\]]*+\s*+"""
    r"""|(?<![.!?])[.!?]++["'”’)\]]{0,4}\s++(?=["'“‘(\[]?[A-Z0-9\u4e00-\u9fff])"""
    r"""|\n++"""
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|No|Nos|Fig|Sec|Art|vs|e\.g|i\.e|cf|approx|Inc|Ltd)\.$"
)
_CLAUSE_END = re.compile(r"[，、,;；:：|）)\]】》]\s*|\s+")
_SHORT, _SHORT_IN_LONG_TEXT, _LONG_TEXT = 8, 120, 200_000


def split_sentences(text: str) -> list[str]:
    """Sentences with the spaces after them, so that joined they are `text`. Very short ones stay with the next."""
    shortest = _SHORT if len(text) < _LONG_TEXT else _SHORT_IN_LONG_TEXT
    sentences: list[str] = []
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if end - start >= shortest and not _is_abbreviation(text, match):
            sentences.append(text[start:end])
            start = end
    if start < len(text):
        sentences.append(text[start:])
    return sentences


def _is_abbreviation(text: str, match: re.Match[str]) -> bool:
    if text[match.start()] != ".":
        return False
    return _ABBREVIATION.search(text[max(0, match.start() - 8) : match.start() + 1]) is not None


def cut_at_safe_places(text: str, longest: int) -> Iterator[str]:
    """Pieces of at most `longest` (>= 1) characters: after a clause or a space in their second half, else anywhere

    but before a combining mark. Joined they are `text`.
    """
    start = 0
    while len(text) - start > longest:
        end = _safe_end(text, start, start + longest)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _safe_end(text: str, start: int, latest: int) -> int:
    middle = start + (latest - start) // 2
    clause = space = 0
    for match in _CLAUSE_END.finditer(text, middle, latest):
        if match[0].isspace():
            space = match.end()
        else:
            clause = match.end()
    if clause or space:
        return clause or space
    end = latest
    while end > middle + 1 and (
        unicodedata.combining(text[end]) or text[end] in "\u200d\ufe0f" or text[end - 1] == "\u200d"
    ):
        end -= 1
    return end
