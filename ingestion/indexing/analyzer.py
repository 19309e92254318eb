"""One analyzer for documents and questions, Chinese and English: text in, index tokens out. Pure and linear in time.

Chinese runs are cut by rjieba in search mode, words are stemmed, codes are kept whole and in parts, numbers with units.
An organisation's own terms are tokens as a whole and in their parts, and no other word crosses their ends.
A change of what it yields needs a new ANALYZER_VERSION, which is part of an index's fingerprint; which terms an
index was cut with is the dictionary's revision, and kept apart.
"""

import hashlib
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from operator import itemgetter

import opencc
import rjieba

from ingestion.indexing.lexicon import Phrases, Place, find, leftmost_longest
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

ANALYZER_VERSION = "2"
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
_SPACES = re.compile(rf"\s+(?=[{CJK}])|(?<=[{CJK}])\s+")
_START = itemgetter(1)

Token = tuple[str, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A place to highlight: `start` and `end` are offsets into the original text, `token` the token found there."""

    token: str
    start: int
    end: int


def analyze(text: str, terms: Sequence[Phrases] = ()) -> list[str]:
    """Tokens in reading order, with repetitions. Function words are left out unless the text has nothing else.

    terms: an organisation's own, see `lexicon`. Their tokens are added to those of their parts.
    """
    return [token for token, _, _ in _tokens(_fold(text), terms)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A question as the analyzer cuts it. `text` is folded, and the offsets of `tokens` and `terms` are in it.

    tokens: by start. Within one of the own `terms` are left out its single characters, and what only spells it otherwise.
    """

    text: str
    tokens: tuple[Token, ...]
    terms: tuple[Place, ...]


def cut_question(question: str, terms: Sequence[Phrases] = ()) -> Cut:
    """Every token of it is one that `analyze` gives for the same text and terms."""
    text = _fold(question)
    places = find(terms, text) if terms else []
    tokens = _tokens(text, terms)
    if places:
        tokens = [token for token in tokens if not _is_told_by(places, token)]
    return Cut(text=text, tokens=tuple(tokens), terms=tuple(places))


def _is_told_by(places: Sequence[Place], token: Token) -> bool:
    word, start, end = token
    return any(
        first <= start
        and end <= last
        and word != phrase
        and (end - start == 1 or (first, last) == (start, end))
        for phrase, first, last in places
    )


class PieceKind(StrEnum):
    WORD = "word"
    FUNCTION_WORD = "function_word"
    TERM = "term"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A word as it stands in the original text; `start` and `end` are offsets into the folded one."""

    text: str
    start: int
    end: int
    kind: PieceKind


def pieces(text: str, terms: Sequence[Phrases] = ()) -> list[Piece]:
    """What a text is cut into, each character once: of words that overlap, the longest. For showing, not for the index."""
    folded, origin = _fold_with_origin(text)
    places = find(terms, folded) if terms else []
    own = {(start, end) for _phrase, start, end in places}
    found = leftmost_longest([*places, *_pieces(folded, _ends(places)), *quantities(folded)])
    return [
        Piece(
            text=text[origin(start) : max(origin(end - 1) + 1, origin(end))], start=start, end=end, kind=kind
        )
        for token, start, end in found
        for kind in [PieceKind.TERM if (start, end) in own else _kind_of(folded, (token, start, end))]
    ]


def _kind_of(folded: str, token: Token) -> PieceKind:
    return PieceKind.FUNCTION_WORD if _is_function_word(folded, token) else PieceKind.WORD


def fold_phrase(text: str) -> str:
    """An entry of the dictionary as it is compared: folded like a text, small letters, single spaces, none beside Chinese."""
    return _SPACES.sub("", " ".join(_fold(text).split())).lower()


def term_places(text: str, terms: Sequence[Phrases]) -> list[Place]:
    """Where own terms stand in the folded text: two dictionaries cut a text alike if these are equal."""
    return find(terms, _fold(text))


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
    places = [place for place in _tokens(folded) if place[0] in wanted]
    # What the analyzer alone does not know in this text: own terms, which are literally their tokens.
    own = Phrases(token for token in wanted.difference(place[0] for place in places) if len(token) > 1)
    if own and (terms := find([own], folded)):
        places = sorted([*places, *terms], key=_START)
    found: list[Occurrence] = []
    for token, start, end in places:
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


def fold(text: str) -> str:
    """The text as tokens are cut from it: narrow forms, simplified characters, in its own case."""
    return _fold(text)


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


def _tokens(text: str, terms: Sequence[Phrases] = ()) -> list[Token]:
    """Tokens with offsets into folded text, by start. Function words only if there is nothing else."""
    places = find(terms, text) if terms else []
    found: list[Token] = []
    function_words: list[Token] = []
    for token in _pieces(text, _ends(places)):
        if _is_function_word(text, token):
            function_words.append(token)
        else:
            found.append(token)
    found.extend(quantities(text))
    if places:
        found.extend(set(places).difference(found))
    return sorted(found or function_words, key=_START)


def _is_function_word(text: str, token: Token) -> bool:
    return token[0] in STOP_WORDS and (token[0] in CHINESE or is_stop_word(text, token[1], token[2]))


def _ends(places: Sequence[Place]) -> list[int]:
    return sorted({offset for _phrase, start, end in places for offset in (start, end)})


def _pieces(text: str, ends: Sequence[int]) -> Iterator[Token]:
    """ends: where own terms begin and end; no Chinese word may cross them."""
    previous: re.Match[str] | None = None
    for match in _PIECE.finditer(text):
        if match.lastgroup == "chinese":
            start = match.start()
            for end in ends[bisect_right(ends, start) :] if ends else ():
                if end >= match.end():
                    break
                yield from _chinese_tokens(text, start, end)
                start = end
            yield from _chinese_tokens(text, start, match.end())
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
        if not cuts_numeral(text, offset + first, offset + last):
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
