"""Two traces side by side: what moved, what is new, what is gone."""

from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.debugger.shapes import Row

MOST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A result of one run beside its place in the other. place: here; other: there, None when it is not there.

    move: places gained since the other run.
    """

    row: Row
    place: int
    other: int | None

    @property
    def move(self) -> int:
        return self.other - self.place if self.other is not None else 0

    @property
    def fell(self) -> int:
        return -self.move


def side(rows: Sequence[Row], others: Sequence[Row]) -> list[Moved]:
    """The first results of one run; `others` is all of the other run."""
    places = {row.key: place for place, row in enumerate(_ranked(others), start=1)}
    return [
        Moved(row=row, place=place, other=places.get(row.key))
        for place, row in enumerate(_ranked(rows)[:MOST], start=1)
    ]


def _ranked(rows: Sequence[Row]) -> list[Row]:
    """What is left of the ranking when what was dropped is taken out."""
    return [row for row in rows if not row.is_dropped]
