"""Which lines of a PDF repeat on every page, and which blocks are headings: by outline, by font, by numbering."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ingestion.parsing.elements import Kind
from ingestion.parsing.headings import LAST_WORDED_RANK, is_deep_number, numbered_rank, short_enough
from ingestion.parsing.pdf_blocks import BOLD, Block, squeezed
from ingestion.parsing.pdf_page import Line, Page

_ZONE = 0.12
_DIGITS = re.compile(r"\d+")
_SPACE = re.compile(r"\s+")
_PAGE_NUMBER = re.compile(
    r"^[\s\-–—|·.]*(?:page|第|p\.)?\s*(?:\d{1,4}|[ivxlc]{1,6})\s*(?:(?:of|/|页|共|，|,|之)[\s\d共页/]*)*[\s\-–—|·.]*$",
    re.IGNORECASE,
)
_FOOTNOTE = re.compile(r"^(?:\d{1,3}|[*†‡§①-⑳])\s?(?=[^\d\s.,%])")
_CONTENTS = re.compile(r"^(?:(?:table of )?contents|目\s*录)$", re.IGNORECASE)
_UNNUMBERED = 90
_MAX_ROWS = 3
_TABLE_PARTS = 3  # a row of so many separate texts is no heading


# --- running headers and footers --------------------------------------------------------------------------------


def drop_furniture(pages: Sequence[Page]) -> None:
    """Take running headers, footers and page numbers out of `lines`.

    The first of each is put aside as a note, unless the body says the same, so that nothing is lost.
    """
    seen: Counter[str] = Counter()
    for page in pages:
        seen.update({_key(page, line) for line in page.lines if _in_zone(page, line)})
    filled = sum(bool(page.lines) for page in pages)
    least = max(2, filled // 2) if filled <= 6 else max(3, filled // 4)
    first: dict[str, tuple[Page, Line]] = {}
    for page in pages:
        zone = [line for line in page.lines if _in_zone(page, line)]
        running = [line for line in zone if seen[_key(page, line)] >= least]
        taken = set(map(id, running)) | {id(line) for line in zone if _is_page_number(page, line)}
        rest = [line for line in page.lines if id(line) not in taken] if taken else page.lines
        if rest:
            page.lines = rest
            for line in running:
                first.setdefault(_key(page, line), (page, line))
    said = {squeezed(line.text) for page in pages for line in page.lines}
    for page, line in first.values():
        if squeezed(line.text) not in said and not _PAGE_NUMBER.match(line.text):
            page.asides.append(line)
    noted: set[str] = set()
    for page in pages:
        fresh = {_DIGITS.sub("#", squeezed(line.text)): line for line in page.asides}
        page.asides = [line for text, line in fresh.items() if text not in noted]
        noted.update(fresh)


def _in_zone(page: Page, line: Line) -> bool:
    return line.y1 < page.height * _ZONE or line.y0 > page.height * (1 - _ZONE)


def _key(page: Page, line: Line) -> str:
    top = line.y1 < page.height * _ZONE
    return f"{top}:{round(line.size)}:{_DIGITS.sub('#', _SPACE.sub('', line.text))}"


def _is_page_number(page: Page, line: Line) -> bool:
    return _in_zone(page, line) and bool(_PAGE_NUMBER.match(line.text)) and _stands_alone(page, line)


def _stands_alone(page: Page, line: Line) -> bool:
    """Nothing else on the page lies further out than this line."""
    if line.y0 > page.height / 2:
        return all(other is line or other.baseline <= line.baseline + 2 for other in page.lines)
    return all(other is line or other.baseline >= line.baseline - 2 for other in page.lines)


# --- headings ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Typography:
    """The body's size in points, and whether bold stands out in this document."""

    body_size: float
    bold_stands_out: bool


def typography(pages: Iterable[Page]) -> Typography:
    sizes: Counter[float] = Counter()
    bold = total = 0
    for page in pages:
        for line in page.lines:
            sizes[round(line.size * 2) / 2] += len(line.text)
            bold += len(line.text) if line.bold >= BOLD else 0
            total += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 10.0
    return Typography(body_size=body, bold_stands_out=bold < 0.5 * total)


def mark_footnotes(blocks: Iterable[Block], style: Typography) -> None:
    """Small print that begins with its sign becomes notes, so that it does not part the sentence above it."""
    for block in blocks:
        small = 0 < block.size <= 0.93 * style.body_size
        if small and block.kind in {Kind.PARAGRAPH, Kind.STEP} and _FOOTNOTE.match(block.text):
            block.kind = Kind.NOTE


Outline = Sequence[tuple[int, str, int]]  # level, title, page


def mark_headings(blocks: Sequence[Block], outline: Outline, style: Typography) -> dict[int, int]:
    """Level by number of each block that is a heading. The first large line of all is made the title (kind TITLE)."""
    titles: dict[tuple[int, str], int] = {(page, squeezed(text)): level for level, text, page in outline}
    listed = {n: level for n, b in enumerate(blocks) if (level := _outline_level(b, titles))}
    ranks = {
        n: rank
        for n, b in enumerate(blocks)
        if (rank := _rank(b, style)) is not None or (n in listed and (rank := (-b.size, 0, not b.bold)))
    }
    if not ranks:
        return {}
    title = _title_number(blocks, ranks, listed)
    if title is not None:
        blocks[title].kind = Kind.TITLE
        del ranks[title]
    levels = {rank: level for level, rank in enumerate(sorted(set(ranks.values())), start=1)}
    return (
        {n: levels[rank] for n, rank in ranks.items()} if not listed else _with_outline(ranks, levels, listed)
    )


Rank = tuple[float, int, bool]


def _with_outline(ranks: dict[int, Rank], levels: dict[Rank, int], listed: dict[int, int]) -> dict[int, int]:
    """Outline levels as they are; other headings below the listed heading of the same or larger type."""
    result: dict[int, int] = {}
    deepest: dict[Rank, int] = {}
    for number, level in listed.items():
        if number in ranks:
            rank = ranks[number]
            deepest[rank] = min(deepest.get(rank, level), level)
    for number, rank in sorted(ranks.items()):
        if number in listed:
            result[number] = listed[number]
        elif rank in deepest:
            result[number] = deepest[rank]
        else:
            larger = [level for other, level in deepest.items() if other < rank]
            result[number] = max(larger, default=0) + 1
    return result


def _outline_level(block: Block, titles: dict[tuple[int, str], int]) -> int:
    if (
        not titles
        or block.kind not in {Kind.PARAGRAPH, Kind.STEP}
        or block.rows > _MAX_ROWS
        or not block.boxes
    ):
        return 0
    page, text = block.boxes[0].page, squeezed(block.text)
    return titles.get((page, text), 0) or titles.get((page, re.sub(r"^[\d.]+", "", text)), 0)


def _rank(block: Block, style: Typography) -> Rank | None:
    """Sort key of a heading (largest first), None for other blocks."""
    stands_bold = block.bold and style.bold_stands_out and block.rows == 1
    if (
        block.kind not in {Kind.PARAGRAPH, Kind.STEP, Kind.LIST_ITEM}
        or block.rows > _MAX_ROWS
        or not short_enough(block.text.rstrip(":：") if stands_bold else block.text)
    ):
        return None
    if block.parts >= _TABLE_PARTS:
        return None
    numbered = numbered_rank(block.text)
    larger = block.size >= style.body_size + max(1.0, 0.12 * style.body_size)
    bold = block.bold and style.bold_stands_out and block.size >= style.body_size - 0.6
    if block.kind is Kind.LIST_ITEM or (
        block.kind is Kind.STEP and not (larger or bold or is_deep_number(block.text))
    ):
        return None
    if larger or bold or _CONTENTS.match(block.text):
        if not numbered and sum(map(str.isalpha, block.text)) < 2:
            return None
        return (-round(block.size * 2) / 2, numbered or _UNNUMBERED, not block.bold)
    if 0 < numbered <= LAST_WORDED_RANK and block.rows == 1:
        return (-round(block.size * 2) / 2, numbered, not block.bold)
    return None


def _title_number(blocks: Sequence[Block], ranks: dict[int, Rank], listed: dict[int, int]) -> int | None:
    """The block in the largest type of all, if it stands at the beginning and nothing else has its size."""
    largest = min(rank[0] for rank in ranks.values())
    alike = [number for number, rank in ranks.items() if rank[0] == largest]
    if len(ranks) < 2 or len(alike) != 1 or alike[0] in listed or ranks[alike[0]][1] != _UNNUMBERED:
        return None
    first_page = blocks[0].boxes[0].page if blocks and blocks[0].boxes else 0
    number = alike[0]
    return number if number < 8 and blocks[number].boxes[0].page == first_page else None
