"""Words of alphabetic scripts, numbers and codes: each as a whole and in parts, stemmed where that is safe.

`XK-200A` -> xk-200a, xk200a, xk, 200a, 200; `hr@corp.com` -> hr@corp.com, corp.com, hr, corp, com.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import Stemmer

from ingestion.indexing.stopwords import ENGLISH, NAMES_IN_CAPITALS, UNSTEMMED

CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff〇々\U00020000-\U0003ffff"
_WORD = rf"[^\W_{CJK}]+"
_CONNECTORS = r"[-‐–._/:@+&#'’\\]"
# One or two connectors at most, so that a long run of punctuation is never scanned twice.
COMPOUND = rf"{_WORD}(?:{_CONNECTORS}{{1,2}}{_WORD})*(?:\+\+|\#)?"
_CONNECTOR = re.compile(_CONNECTORS)
_WIDE_CONNECTOR = re.compile(r"[/:@\\]+")
_HYPHENS = re.compile("[‐–]")
_SEGMENT = re.compile(r"[^\d]+|\d+")
_STANDARD = re.compile(
    r"(?P<prefix>(?:gb|gbz|gjb|jb|jgj|jt|jr|hg|hj|yy|yd|yc|sh|sy|dl|db|dz|qb|ny|ty|cj|sj|ga|iso|iec|iso/iec|din|en|astm|"
    r"ansi|ieee|rfc|bs|jis|nist|q)(?:/[a-z]{1,3})?) ?-?(?P<number>\d[\d.]{0,20})(?P<year>-\d{2,4})?"
)
MAX_STANDARD = 24
_MAX_CHARACTERS = 255
_MAX_STEMMED = 40
_MAX_SEGMENTS = 5

_state = threading.local()
Token = tuple[str, int, int]


def _stem(word: str) -> str:
    stemmer = getattr(_state, "stemmer", None)
    if stemmer is None:  # a Stemmer object must not be shared by threads
        stemmer = _state.stemmer = Stemmer.Stemmer("english")
    return str(stemmer.stemWord(word))


@lru_cache(maxsize=50_000)
def term(word: str) -> str:
    """The token of one plain word: lower case, without accents, stemmed if it is an English word and no code."""
    token = word[:_MAX_CHARACTERS].lower()
    if not token.isascii():
        token = "".join(c for c in unicodedata.normalize("NFKD", token) if not unicodedata.combining(c))
        token = unicodedata.normalize("NFC", token)
    if 3 < len(token) <= _MAX_STEMMED and token.isascii() and token.isalpha() and token not in UNSTEMMED:
        return _stem(token)
    return token


def standard_numbers(code: str) -> tuple[str, ...]:
    """Spellings of a standard's number with and without year and slash: GB/T 5972-2016 -> gb/t5972, gbt5972, gb/t5972-2016."""
    match = _STANDARD.fullmatch(code.lower()) if len(code) <= 2 * MAX_STANDARD else None
    if match is None:
        return ()
    short = match["prefix"] + match["number"]
    found = dict.fromkeys((short, short.replace("/", ""), short + (match["year"] or "")))
    return tuple(number for number in found if number != code.lower())


@lru_cache(maxsize=20_000)
def code_tokens(word: str) -> tuple[Token, ...]:
    """Tokens of `word` (a match of COMPOUND) with offsets into it. Stop words come too."""
    if word.isalnum():
        return tuple(_simple_tokens(word))
    lowered = _HYPHENS.sub("-", word.lower()).replace("’", "'")
    if lowered in ENGLISH:  # don't
        return ((lowered, 0, len(word)),)
    if lowered.endswith("'s") and lowered[:-2].isalnum():
        return tuple(_simple_tokens(word[:-2]))
    return (*_compound_tokens(lowered), *((number, 0, len(word)) for number in standard_numbers(word)))


def _simple_tokens(word: str) -> Iterator[Token]:
    yield term(word), 0, len(word)
    if len(word) <= _MAX_CHARACTERS and not word.isdigit() and not word.isalpha():
        yield from _segments(word.lower(), 0)
        yield from ((number, 0, len(word)) for number in standard_numbers(word))


def is_stop_word(text: str, start: int, end: int) -> bool:
    """Whether the word `text[start:end]` is a function word here; IT in capitals, 「方案A」 and `Appendix A` are names."""
    word = text[start:end]
    if word.lower().replace("’", "'").removesuffix("'s") not in ENGLISH:
        return False
    if len(word) > 1:
        return word not in NAMES_IN_CAPITALS
    before, after = text[max(0, start - 2) : start], text[end : end + 1]
    if _is_cjk(before[-1:]) or _is_cjk(after):
        return False
    return not (word == "A" and len(before) == 2 and before[0].isalnum() and before[1] == " ")


def _is_cjk(character: str) -> bool:
    return bool(character) and "\u3400" <= character <= "\u9fff"


def _compound_tokens(compound: str) -> Iterator[Token]:
    if len(compound) <= _MAX_CHARACTERS:
        yield compound, 0, len(compound)
        yield from ((token, 0, len(compound)) for token in _spellings(compound))
    for token, offset in _split(compound, _WIDE_CONNECTOR):
        if len(token) < len(compound) and _CONNECTOR.search(token) and len(token) <= _MAX_CHARACTERS:
            yield token, offset, offset + len(token)
    for part, offset in _split(compound, _CONNECTOR):
        if part and (part not in ENGLISH or len(compound) == len(part)):
            yield term(part), offset, offset + len(part)
            if not part.isalpha() and not part.isdigit() and len(part) <= _MAX_CHARACTERS:
                yield from _segments(part, offset)


def _spellings(compound: str) -> Iterator[str]:
    """Other ways to write the same thing: XK200A, e-mail as email, v2.3.1 as 2.3.1 and as a 2.3."""
    connectors = set(_CONNECTOR.findall(compound))
    has_digit = any(character.isdigit() for character in compound)
    if connectors <= set("-_/") if has_digit else connectors == {"-"}:
        yield term(_CONNECTOR.sub("", compound))
    if connectors == {"."} and has_digit:
        version = compound.removeprefix("v")
        if version != compound:
            yield version
        if version.count(".") > 1:
            yield ".".join(version.split(".")[:2])


def _split(compound: str, separator: re.Pattern[str]) -> Iterator[tuple[str, int]]:
    offset = 0
    for match in separator.finditer(compound):
        yield compound[offset : match.start()], offset
        offset = match.end()
    yield compound[offset:], offset


def _segments(code: str, start: int) -> Iterator[Token]:
    """Letters and digits of a mixed code apart: xk200a -> xk, 200, 200a. Single characters tell nothing and are left out."""
    pieces = list(_SEGMENT.finditer(code))
    if not 1 < len(pieces) <= _MAX_SEGMENTS:
        return
    for piece in pieces:
        if len(piece[0]) > 1 and piece[0] not in ENGLISH:
            yield term(piece[0]), start + piece.start(), start + piece.end()
    if len(pieces) > 2:
        tail = pieces[1].start()
        yield code[tail:], start + tail, start + len(code)
