"""Headings and list marks recognised by their wording, where a file carries no style. Chinese and English."""

import re
from dataclasses import dataclass, replace

from ingestion.parsing.elements import Element, Kind
from ingestion.parsing.prose import CJK, cjk_share

_NUMERAL = "一二三四五六七八九十百千零〇两\\d"
# Ranks only order the numbering systems among each other; `dense_levels` turns them into 1, 2, 3.
_RANKED: tuple[tuple[int, re.Pattern[str]], ...] = (
    (1, re.compile(rf"^第\s?[{_NUMERAL}]+\s?[篇部编卷](?=[\s:：、]|$|\D)")),
    (2, re.compile(rf"^第\s?[{_NUMERAL}]+\s?章")),
    (2, re.compile(r"^(Chapter|Appendix|Part|CHAPTER|APPENDIX|PART)\s+([\dIVXLC]+|[A-Z])\b")),
    (2, re.compile(rf"^附[录件]\s?[{_NUMERAL}A-Z]")),
    (3, re.compile(rf"^第\s?[{_NUMERAL}]+\s?节")),
    (3, re.compile(r"^(Section|SECTION)\s+[\dIVXLC]+")),
    (4, re.compile(rf"^第\s?[{_NUMERAL}]+\s?条")),
    (5, re.compile(r"^[一二三四五六七八九十]{1,3}\s?[、.．]")),
    (6, re.compile(r"^[（(][一二三四五六七八九十]{1,3}[）)]")),
)
_NUMBERED = re.compile(rf"[{_NUMERAL}\d第附(（A-Z]")  # how all of these begin; most lines do not
_DECIMAL = re.compile(r"^(\d{1,3}(?:\.\d{1,3}){0,5})(?:[.．、]\s*|\s+)(?=[^\s\d.])")
_STEP = re.compile(
    rf"^(?:\d{{1,3}}\s?[.)](?=\s|[{CJK}])|\d{{1,3}}\s?[．、）](?!\d)|[（(]\d{{1,3}}[）)]|[①-⑳]"
    r"|第[一二三四五六七八九十\d]+步[:：,，、\s]|(?:Step|STEP)\s+\d+\s*[:.：]?)\s*(?=\S)"
)
_BULLET = re.compile(r"^(?:[-*+•·●○◦▪▫■□◆◇‣⁃–—➢➤✓✔★☆]|\uf0b7|\uf0a7|\uf06c|\uf0d8)\s+(?=\S)")
_TIGHT_BULLET = re.compile(r"^[•●○▪■◆‣➢➤\uf0b7\uf0a7\uf06c\uf0d8](?=\S)")
_BOXES = "□■☐☑☒✓✔"  # of which several on one line are a choice, not a list
_ENDS_SENTENCE = re.compile(r"[。；，;,.!！?？:：…]$")
_NOT_A_TITLE = re.compile(r"^[\W\d_]*$")
_MAX_CJK, _MAX_WORDS = 40, 15
LAST_WORDED_RANK = 6  # up to here a number alone makes a heading; decimals need a style, or a second figure
_FIRST_DECIMAL_RANK = LAST_WORDED_RANK + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ListMark:
    """The mark before a list item; `text` is the line without a bullet, or with its number."""

    kind: Kind
    text: str


def short_enough(text: str) -> bool:
    """Of the length and ending of a heading rather than of a sentence."""
    if not text or "\n" in text or _ENDS_SENTENCE.search(text) or _NOT_A_TITLE.match(text):
        return False
    if cjk_share(text) > 0.3:
        return len(text) <= _MAX_CJK
    return len(text.split()) <= _MAX_WORDS and len(text) <= 120


def numbered_rank(text: str) -> int:
    """Rank of a heading's numbering (1 highest), 0 if the line is no numbered heading."""
    if not _NUMBERED.match(text) or not short_enough(text):
        return 0
    for rank, pattern in _RANKED:
        if pattern.match(text):
            return rank
    if match := _DECIMAL.match(text):
        return _FIRST_DECIMAL_RANK + match[1].count(".")
    return 0


def is_deep_number(text: str) -> bool:
    """Numbered like 2.1 or 3.2.4: a heading by its number alone, never a step."""
    match = _DECIMAL.match(text)
    return bool(match and "." in match[1])


def list_mark(line: str) -> ListMark | None:
    """A bullet or step number at the start of a line."""
    if _STEP.match(line):
        return ListMark(kind=Kind.STEP, text=line)
    for pattern in (_BULLET, _TIGHT_BULLET):
        if match := pattern.match(line):
            is_choice = line[0] in _BOXES and any(box in line[1:] for box in _BOXES)
            return None if is_choice else ListMark(kind=Kind.LIST_ITEM, text=line[match.end() :].strip())
    return None


def dense_levels(elements: list[Element]) -> list[Element]:
    """Ranks of headings become levels 1, 2, 3 without gaps, in their order."""
    ranks = sorted({element.level for element in elements if element.kind is Kind.HEADING})
    level_of = {rank: level for level, rank in enumerate(ranks, start=1)}
    return [
        replace(element, level=level_of[element.level]) if element.kind is Kind.HEADING else element
        for element in elements
    ]
