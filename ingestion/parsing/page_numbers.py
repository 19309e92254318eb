"""Page numbers as readers write them: 1–3, 7. Pure."""

import re
from collections.abc import Iterable

MOST_PAGES = 10_000


def spans(numbers: Iterable[int]) -> str:
    """The numbers in order, neighbours joined: "1–3, 7"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in runs)


def pages_named(text: str) -> set[int]:
    """The pages that such a text names; of an endless run only the first MOST_PAGES."""
    pages: set[int] = set()
    for first, last in re.findall(r"(\d{1,6})(?:\s*[-–]\s*(\d{1,6}))?", text):
        pages |= set(range(int(first), min(int(last or first), int(first) + MOST_PAGES) + 1))
    return pages
