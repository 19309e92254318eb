"""One analyzer for documents and questions, Chinese and English: text in, index tokens out. Pure and linear in time.

Chinese runs are cut by rjieba in search mode, words are stemmed, codes are kept whole and in parts, numbers with units.
A change of what it yields needs a new ANALYZER_VERSION, which is part of an index's fingerprint.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from operator import itemgetter

import opencc
import rjieba

from ingestion.indexing.numerals import UNITS, cuts_numeral, is_quantity, quantities, read_numeral
from ingestion.indexing.stopwords import CHINESE, STOP_WORDS
from ingestion.indexing.words import (
    CJK,
    COMPOUND,
    MAX_STANDARD,
    code_tokens,
    is_stop_word,
    standard_numbers,
    term,
)

ANALYZER_VERSION = "1"
TERM_DIMENSION = 1_000_000_000

_PIECE = re.compile(rf"(?P<chinese>[{CJK}]+)|(?P<word>{COMPOUND})")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
# What no index can hold, and the one character that NFKC makes eighteen of.
_UNSAFE = re.compile("[\x00\ud800-\udfff\ufdfa]")
# What NFKC may change together: a character with the marks after it, or a run of Hangul letters.
_CLUSTER = re.compile(
    "[\u1100-\u11ff\uac00-\ud7a3]+|.[\u0300-\u036f\u0591-\u0e4e\u3099\u309a\uff9e\uff9f]*", re.DOTALL
)

_MAX_CACHED = 64
_START = itemgetter(1)

Token = tuple[str, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A place to highlight: `start` and `end` are offsets into the original text, `token` the token found there."""

    token: str
    start: int
    end: int


def analyze(text: str) -> list[str]:
    """Tokens in reading order, with repetitions. Function words are left out unless the text has nothing else."""
    return [token for token, _, _ in _tokens(_fold(text))]


def distinct_query_terms(question: str) -> list[str]:
    """The question's tokens, each once, in order of first occurrence; function words only if nothing else is left."""
    return list(dict.fromkeys(analyze(question)))


def lone_character(question: str) -> str | None:
    """The Chinese character a question consists of, else None.

    Words are indexed, not characters: such a question is widened to the indexed terms that contain it.
    """
    terms = distinct_query_terms(question)
    return terms[0] if len(terms) == 1 and re.fullmatch(f"[{CJK}]", terms[0]) else None


def locate(text: str, tokens: Collection[str]) -> list[Occurrence]:
    """Where `tokens` (as `analyze` gives them) stand in the original text: in order, merged, never overlapping."""
    wanted = frozenset(tokens)
    folded, origin = _fold_with_origin(text)
    found: list[Occurrence] = []
    for token, start, end in _tokens(folded):
        if token not in wanted:
            continue
        here = Occurrence(token=token, start=origin(start), end=max(origin(end - 1) + 1, origin(end)))
        if found and here.start < found[-1].end:
            found[-1] = _merged(found[-1], here)
        else:
            found.append(here)
    return found


def term_id(token: str) -> int:
    """Stable id of a token, 1 to 10**9, the index into a pgvector sparsevec (whose text form counts from 1)."""
    digest = hashlib.blake2b(token.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest) % TERM_DIMENSION + 1


@cache
def _converter() -> opencc.OpenCC:
    return opencc.OpenCC("t2s")


def _fold(text: str) -> str:
    """What tokens are cut from: normalised, but still in its own case, which tells names from function words."""
    text = _INVISIBLE.sub("", _UNSAFE.sub("\ufffd", text))
    return _simplify(unicodedata.normalize("NFKC", text))


def _simplify(text: str) -> str:
    text = text.replace("İ", "I")  # the one letter whose lower case is longer
    simplified = str(_converter().convert(text)) if not text.isascii() else text
    return simplified if len(simplified) == len(text) else text


def _fold_with_origin(text: str) -> tuple[str, Callable[[int], int]]:
    """The folded text and a function from its offsets to those of `text`."""
    clean = _UNSAFE.sub("\ufffd", text)
    if not _INVISIBLE.search(clean) and unicodedata.is_normalized("NFKC", clean):
        return _simplify(clean), lambda offset: offset
    pieces: list[str] = []
    origins: list[int] = []
    for match in _CLUSTER.finditer(clean):
        piece = _INVISIBLE.sub("", unicodedata.normalize("NFKC", match[0]))
        pieces.append(piece)
        if len(piece) == len(match[0]):
            origins.extend(range(match.start(), match.end()))
        else:
            origins.extend([match.start()] * len(piece))
    origins.append(len(text))
    return _simplify("".join(pieces)), origins.__getitem__


def _merged(first: Occurrence, second: Occurrence) -> Occurrence:
    longer = max(first, second, key=lambda occurrence: occurrence.end - occurrence.start)
    return Occurrence(token=longer.token, start=first.start, end=max(first.end, second.end))


def _tokens(text: str) -> list[Token]:
    """Tokens with offsets into folded text, by start. Function words only if there is nothing else."""
    found: list[Token] = []
    function_words: list[Token] = []
    for token in _pieces(text):
        if token[0] in STOP_WORDS and (token[0] in CHINESE or is_stop_word(text, token[1], token[2])):
            function_words.append(token)
        else:
            found.append(token)
    found.extend(quantities(text))
    return sorted(found or function_words, key=_START)


def _pieces(text: str) -> Iterator[Token]:
    previous: re.Match[str] | None = None
    for match in _PIECE.finditer(text):
        if match.lastgroup == "chinese":
            yield from _chinese_tokens(text, match.start(), match.end())
            continue
        word, start = match[0], match.start()
        if word.isalpha() and len(word) > 1:  # nearly all words: no code, no number
            yield term(word), start, match.end()
        else:
            code = code_tokens(word) if len(word) <= _MAX_CACHED else code_tokens.__wrapped__(word)
            for token, first, last in code:
                yield token, start + first, start + last
            if previous and word[0].isdigit():
                yield from _spaced_standard(previous, match)
            if len(word) == 1:
                yield from _letter_before_chinese(text, match)
        previous = match


def _chinese_tokens(text: str, offset: int, end: int) -> Iterator[Token]:
    run = text[offset:end]
    after_number = text[offset - 1 : offset].isdigit() or text[max(0, offset - 2) : offset - 1].isdigit()
    for word, first, last in rjieba.tokenize(run, mode="search"):
        if len(word) == 1 and is_quantity(word):
            word = read_numeral(word)
        elif is_quantity(word) or (after_number and first == 0 and word in UNITS):
            continue  # `quantities` has the number with its unit
        if not cuts_numeral(run, first, last):
            yield word, offset + first, offset + last


def _spaced_standard(previous: re.Match[str], match: re.Match[str]) -> Iterator[Token]:
    """GB/T 5972 is one number although a space stands in it."""
    prefix, number = previous[0], match[0]
    if match.start() - previous.end() == 1 and prefix[0].isalpha() and len(prefix) <= MAX_STANDARD:
        for spelling in standard_numbers(f"{prefix} {number}"):
            yield spelling, previous.start(), match.end()


def _letter_before_chinese(text: str, match: re.Match[str]) -> Iterator[Token]:
    """A股 and T恤 are words of their own."""
    after = text[match.end() : match.end() + 1]
    if match[0].isalpha() and "\u4e00" <= after <= "\u9fff":
        yield match[0].lower() + after, match.start(), match.end() + 1
