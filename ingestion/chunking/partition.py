"""Where to cut a sequence of atoms: borders that cost least, pieces near a goal and never above a limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Tokens: the wished size, the largest, and the smallest step between two possible borders."""

    goal: int
    limit: int
    step: int


def best_borders(
    tokens: Sequence[int], borders: Sequence[float], repeated: Sequence[int], sizes: Sizes
) -> list[int]:
    """Ends (exclusive) of the pieces, the last being len(tokens).

    tokens: size of each atom. borders: cost of a border before it. repeated: tokens that a piece beginning there repeats.
    A piece is larger than the limit only if one step of it already is. Time grows with n * limit / step.
    """
    places = _places(tokens, sizes.step)
    before = [0]
    for count in tokens:
        before.append(before[-1] + count)
    best = [0.0] + [inf] * (len(places) - 1)
    previous = [0] * len(places)
    for number in range(1, len(places)):
        end = places[number]
        for earlier in range(number - 1, -1, -1):
            start = places[earlier]
            size = before[end] - before[start] + repeated[start]
            if before[end] - before[start] > sizes.limit and earlier < number - 1:
                break
            if size > sizes.limit and earlier < number - 1:
                continue
            cost = (
                best[earlier] + ((size - sizes.goal) / sizes.goal) ** 2 + (borders[start] if start else 0.0)
            )
            if cost < best[number]:
                best[number], previous[number] = cost, earlier
    return _walk_back(places, previous)


def _places(tokens: Sequence[int], step: int) -> list[int]:
    """Possible borders: every atom, but tiny ones are passed over until they amount to a step."""
    places = [0]
    since = 0
    for index, count in enumerate(tokens):
        if index and (since >= step or count >= step):
            places.append(index)
            since = 0
        since += count
    return [*places, len(tokens)]


def _walk_back(places: Sequence[int], previous: Sequence[int]) -> list[int]:
    ends: list[int] = []
    number = len(places) - 1
    while number > 0:
        ends.append(places[number])
        number = previous[number]
    return ends[::-1]
