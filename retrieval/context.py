"""What of the passages goes to a model: windows around them, filled in by relevance, within the model's budget. Pure.

Room is what the model's context leaves beside prompt, history and answer, filled to FILLED. A little too much is cut at the
end; far too much is compressed, each window to its share, before it is filled in.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from retrieval.compression import compress

FILLED = 0.8
FAR_OVER = 1.2  # times the room
LEAST_TOKENS = 40  # of a window that is cut; with less it is left out

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A passage with what stands around it. key: of the section it shows. score: of its best passage."""

    key: str
    text: str
    score: float
    passages: tuple[int, ...] = ()
    is_shortened: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Tokens. window: all that the model takes; the others are parts of it."""

    window: int
    prompt: int
    history: int
    answer: int

    @property
    def room(self) -> int:
        return max(int((self.window - self.prompt - self.history - self.answer) * FILLED), 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """windows: in the order of their relevance. tokens: of their texts. left_out: keys of those without a place."""

    windows: tuple[Window, ...]
    tokens: int
    room: int
    left_out: tuple[str, ...] = ()


def merge_windows(windows: Sequence[Window]) -> list[Window]:
    """Each section once, with its best passage's score and all its passages; the most relevant first."""
    merged: dict[str, Window] = {}
    for window in windows:
        other = merged.get(window.key)
        if other is None:
            merged[window.key] = window
        else:
            passages = tuple(dict.fromkeys((*other.passages, *window.passages)))
            merged[window.key] = replace(other, score=max(other.score, window.score), passages=passages)
    return sorted(merged.values(), key=lambda window: -window.score)


def fit_windows(
    windows: Sequence[Window], budget: Budget, *, idf: Mapping[str, float], count: Count
) -> Context:
    """As much of the windows as the budget has room for.

    windows: the most relevant first, each section once. idf: weight of each distinct question term. count: text -> tokens.
    """
    room = budget.room
    sizes = [count(window.text) for window in windows]
    total = sum(sizes)
    if total > FAR_OVER * room and room:
        share = room / total
        windows = [
            _shortened(window, idf, tokens=max(int(size * share), LEAST_TOKENS), size=size)
            for window, size in zip(windows, sizes, strict=True)
        ]
        sizes = [count(window.text) for window in windows]
    return _filled(windows, sizes, room, idf=idf, count=count)


def _filled(
    windows: Sequence[Window], sizes: Sequence[int], room: int, *, idf: Mapping[str, float], count: Count
) -> Context:
    taken: list[Window] = []
    left_out: list[str] = []
    used = 0
    for window, size in zip(windows, sizes, strict=True):
        left = room - used
        if size > left and left >= LEAST_TOKENS:
            window = _shortened(window, idf, tokens=left, size=size)
            size = count(window.text)
        if size > left:
            left_out.append(window.key)
            continue
        taken.append(window)
        used += size
    return Context(windows=tuple(taken), tokens=used, room=room, left_out=tuple(left_out))


def _shortened(window: Window, idf: Mapping[str, float], *, tokens: int, size: int) -> Window:
    """The densest sentences of a window, about `tokens` of its `size`."""
    if size <= tokens:
        return window
    limit = int(len(window.text) * tokens / size * 0.95)  # a little less: tokens are not spread evenly
    return replace(window, text=compress(window.text, idf, limit=max(limit, 1)), is_shortened=True)
