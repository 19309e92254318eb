"""Takes what a model thinks aloud out of what it says: `<think>…</think>` at the beginning, however it is cut. Pure."""

from enum import Enum, auto

OPEN, CLOSE = "<think>", "</think>"


class _State(Enum):
    START = auto()  # not yet known whether it thinks
    THINKING = auto()
    AFTER = auto()  # the blank space before it speaks
    SAYING = auto()


class ReasoningFilter:
    """Fed with the pieces of an answer, gives what of them is meant for the reader."""

    def __init__(self) -> None:
        self._pending = ""
        self._state = _State.START

    def feed(self, piece: str) -> str:
        """What can be said now, perhaps nothing."""
        self._pending += piece
        if self._state is _State.START:
            self._begin()
        if self._state is _State.THINKING:
            self._think()
        if self._state is _State.AFTER and (head := self._pending.lstrip()):
            self._pending, self._state = head, _State.SAYING
        if self._state is not _State.SAYING:
            return ""
        said, self._pending = self._pending, ""
        return said

    def rest(self) -> str:
        """What is left when the answer has ended; of a thought without an end, nothing."""
        return self._pending if self._state is _State.START and self._pending.strip() else ""

    def _begin(self) -> None:
        head = self._pending.lstrip()
        if head.startswith(OPEN):
            self._pending, self._state = head[len(OPEN) :], _State.THINKING
        elif head and not OPEN.startswith(head):
            self._state = _State.SAYING

    def _think(self) -> None:
        _thought, closing, after = self._pending.partition(CLOSE)
        if closing:
            self._pending, self._state = after, _State.AFTER
        else:  # only as much as may be the beginning of its end
            self._pending = self._pending[-(len(CLOSE) - 1) :]
