"""Words of questions, column names and cells in one form, so that they can be laid on each other. Pure.

A Chinese character is a word of its own, an English word is stemmed as in the index, 1,200 and 1200 are the same.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from ingestion.indexing.analyzer import fold
from ingestion.indexing.words import CJK, term

# Signs that change what is said around them are words; punctuation is not.
_WORD = re.compile(
    rf"(?P<sign>[#+*=<>≥≤~^&@])|(?P<number>\d+(?:,\d{{3}})*(?:\.\d+)?)|(?P<han>[{CJK}])|(?P<word>[^\W\d_{CJK}]+(?:['’][^\W\d_{CJK}]+)?)"
)
_PLURAL = {"men": "man", "women": "woman", "people": "person", "children": "child"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """key: what words are compared by. raw: lower case, as written. start, end: in the folded text."""

    key: str
    raw: str
    start: int
    end: int
    is_capital: bool = False


Keys = tuple[str, ...]


def words_of(text: str) -> list[Word]:
    """The words of a text in order; punctuation is passed over."""
    return [_word(match) for match in _WORD.finditer(fold(text))]


@lru_cache(maxsize=8192)
def keys_of(text: str) -> Keys:
    return tuple(word.key for word in words_of(text))


def _word(match: re.Match[str]) -> Word:
    raw = match[0].lower()
    if match["number"]:
        key = raw.replace(",", "")
    elif match["han"] or match["sign"]:
        key = raw
    else:
        plain = re.sub(r"['’]s?$", "", raw)
        key = term(_PLURAL.get(plain, plain))
    return Word(key=key, raw=raw, start=match.start(), end=match.end(), is_capital=match[0].isupper())
