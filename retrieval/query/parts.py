"""Questions that ask several things, cut into what each asks; every part stands alone. Pure, and cautious.

A question is cut only where a new question begins (after a question mark, or before "and how many …", 「，另外…」) or where
it sets two things side by side. What is too thin to be looked for by itself stays where it is.
"""

import re
from collections.abc import Sequence

from retrieval.evidence import is_chinese
from retrieval.query.followups import content_words, has_own_words, side_by_side, stand_alone
from retrieval.query.values import Round

MAX_PARTS = 3
LEAST_WORDS = 2  # content words of a part
_ASK = r"(?:how|what|which|who|whom|whose|when|where|why)"
_PREPOSITION = r"(?:in|on|at|by|to|from|for|with|through|under|after|within|of)"
_AUX = r"(?:can|could|do|does|did|is|are|was|were|must|should|will|would|may|has|have)"
_ASKING = rf"(?:at\s+least\s+)?(?:{_PREPOSITION}\s+)?{_ASK}\b"
_CUT_EN = re.compile(
    rf"(?i)(?<=\?)\s+(?=\S)|\s*[,;]\s+(?:and|or|but)\s+(?:also\s+)?(?={_ASKING}|{_AUX}\b)|\s+and\s+(?=(?:how|which|when|where|why|who)\b)"
    rf"|\s*[,;]\s+(?=(?:at\s+least\s+)?how\s+(?:many|much|long)\b)"
)
_ASKS_EN = re.compile(rf"(?i)(?:^|[.,;]\s+)(?:{_ASKING}|{_AUX}\b)|\?$")
_ASK_ZH = r"(?:什么|怎么|怎样|如何|多少|多久|几|谁|哪|为何|是否|吗|能否|何时)"
_CUT_ZH = re.compile(
    rf"(?<=[？?])\s*(?=\S)|[，,；;。]\s*(?=(?:另外|此外|还有|以及|同时|并且|而且|分别)[^？?]*{_ASK_ZH})"
)
_ASKS_ZH = re.compile(rf"{_ASK_ZH}|[？?]$")
_AND_ZH = re.compile(r"^(?:另外|此外|还有|以及|同时|并且|而且)[，,]?")
_COMPARES = frozenset(
    {
        "difference",
        "differences",
        "compare",
        "comparing",
        "better",
        "prefer",
        "区别",
        "差别",
        "差异",
        "比较",
        "对比",
    }
)
_WHICH_OF = re.compile(
    rf"(?i)\bwhich\s+(?:one\s+)?of\s+(.{{1,60}}?)\s+(?:and|or)\s+(.{{1,60}}?)\s+(?=(?:{_AUX}|expires?|costs?|takes?|applies|apply|needs?)\b)"
)


def split_parts(text: str) -> tuple[str, ...]:
    """The questions that a question consists of, at most MAX_PARTS; empty for one that asks a single thing."""
    pieces = _pieces(text)
    if len(pieces) > 1:
        return _standing_alone(pieces)
    return _compared(text)


def _pieces(text: str) -> list[str]:
    """The text at its cuts, as far as both sides ask something of their own."""
    is_zh = is_chinese(text)
    cut, asks = (_CUT_ZH, _ASKS_ZH) if is_zh else (_CUT_EN, _ASKS_EN)
    pieces: list[str] = []
    for piece in (piece.strip(" ,，;；。") for piece in cut.split(text)):
        if not piece:
            continue
        is_next = bool(pieces) and len(pieces) < MAX_PARTS and _is_whole(pieces[-1], asks)
        if not pieces or (is_next and _is_whole(piece, asks)):
            pieces.append(piece)
        else:
            pieces[-1] = f"{pieces[-1]} {piece}"
    return [_AND_ZH.sub("", piece).strip() for piece in pieces] if is_zh else pieces


def _is_whole(piece: str, asks: re.Pattern[str]) -> bool:
    return asks.search(piece) is not None and len(content_words(piece)) >= LEAST_WORDS


def _standing_alone(pieces: Sequence[str]) -> tuple[str, ...]:
    """A part that leans on the ones before takes along what they are about."""
    parts: list[str] = []
    for piece in pieces:
        rewriting = stand_alone(piece, [Round(question=earlier) for earlier in parts])
        parts.append(rewriting.text if rewriting else piece)
    return tuple(parts)


def _compared(text: str) -> tuple[str, ...]:
    """Each of the two things set side by side, with the other words of the question."""
    match = _WHICH_OF.search(text)
    options = match.groups() if match else side_by_side(text)
    options = tuple(option for option in options if has_own_words(option))
    if len(options) < 2:
        return ()
    rest = text
    for option in options:
        rest = rest.replace(option, " ")
    around = " ".join(word for word in content_words(rest) if word.casefold() not in _COMPARES)
    return tuple(f"{option} {around}".strip() for option in options)
