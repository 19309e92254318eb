"""Markers in what a model says, as [1]: brought into one form, those that name no passage taken out. Pure.

Works on pieces as they stream: only what may still become a marker is held back. Code is left as it is.
"""

import re

OPENING, CLOSING = "[【［", "]】］"
LONGEST = 40  # characters of a marker; what is longer is text
_WORD = r"(?:sources?|passages?|refs?|citations?|来源|资料|段落|文档|参考|引用)?"
_INNER = re.compile(
    rf"\^?\s*{_WORD}\s*[:：#]?\s*(\d{{1,3}}(?:\s*[,，、;；\-–~]\s*{_WORD}\s*#?\d{{1,3}})*)\s*", re.IGNORECASE
)
_RANGE = re.compile(r"(\d{1,3})(?:\s*[-–~]\s*(\d{1,3}))?")
_MOST_IN_RANGE = 20


class MarkerFilter:
    """Fed with the pieces of an answer over passages 1 to `count`. used: the numbers that stand; removed: how many do not."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._held = ""
        self._fence = ""  # backticks of the code that is open
        self._ticks = ""  # backticks read last, which may go on
        self.used: set[int] = set()
        self.removed = 0

    def feed(self, piece: str) -> str:
        return "".join(map(self._take, piece))

    def rest(self) -> str:
        """What was held back when the answer has ended."""
        held, self._held = self._held, ""
        return held

    def _take(self, character: str) -> str:
        self._follow_code(character)
        if self._fence:
            held, self._held = self._held, ""
            return held + character
        if self._held:
            return self._hold(character)
        if character in OPENING:
            self._held = character
            return ""
        return character

    def _hold(self, character: str) -> str:
        if character in OPENING:
            held, self._held = self._held, character
            return held
        self._held += character
        if character in CLOSING:
            held, self._held = self._held, ""
            return self._resolved(held)
        if character == "\n" or len(self._held) > LONGEST:
            return self.rest()
        return ""

    def _follow_code(self, character: str) -> None:
        if character == "`":
            self._ticks += character
            return
        if self._ticks:
            if not self._fence:
                self._fence = self._ticks
            elif self._ticks == self._fence:
                self._fence = ""
            self._ticks = ""

    def _resolved(self, text: str) -> str:
        inner = _INNER.fullmatch(text[1:-1])
        if inner is None:
            return text
        kept: list[int] = []
        for number in _numbers(inner[1]):
            if 1 <= number <= self._count:
                kept.append(number)
            else:
                self.removed += 1
        self.used.update(kept)
        return "".join(f"[{number}]" for number in dict.fromkeys(kept))


def _numbers(text: str) -> list[int]:
    found: list[int] = []
    for first, last in _RANGE.findall(text):
        end = int(last) if last else int(first)
        found += range(int(first), min(end, int(first) + _MOST_IN_RANGE) + 1)
    return found
