"""Plain text: paragraphs by blank lines, headings and steps by their wording. Source code and logs pass as they are."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ingestion.parsing.elements import Element, Kind, ParsedDocument, Quality
from ingestion.parsing.encodings import decode
from ingestion.parsing.formats import Source
from ingestion.parsing.headings import dense_levels, is_deep_number, list_mark, numbered_rank, short_enough
from ingestion.parsing.prose import cjk_share, join_lines

# A block without blank lines is cut at line ends, so that one element stays readable as one passage.
_MAX_PARAGRAPH = 2_000
_LINE_END = re.compile(r"\r\n?|\n|\x0b|\x0c|\x85|\u2028|\u2029")
_ENDS_ITEM = re.compile(r"[。；;.!！?？:：]$")  # the next line is then no continuation
_UNDERLINE = re.compile(r"^(={3,}|-{3,}|~{3,})$")


def parse(source: Source) -> ParsedDocument:
    """Read a text file of any encoding. Raises nothing: every byte string is some text."""
    decoded = decode(source.data)
    elements = text_elements(decoded.text)
    title = next((e.text for e in elements[:1] if e.kind is Kind.TITLE), "")
    return ParsedDocument(
        media_type="text/plain",
        elements=tuple(elements),
        quality=Quality(warnings=("lossy_encoding",) if decoded.lossy else ()),
        title=title,
        encoding=decoded.encoding,
    )


def text_elements(text: str) -> list[Element]:
    """Elements of running text without markup."""
    return dense_levels(list(_elements(_LINE_END.split(text))))


def _elements(lines: Iterable[str]) -> Iterator[Element]:
    blocks = list(_blocks(lines))
    for number, block in enumerate(blocks):
        if number == 0 and len(blocks) > 1 and len(block) == 1 and _is_title(block[0]):
            yield Element(kind=Kind.TITLE, text=block[0].strip())
        else:
            yield from _block_elements(block)


def _is_title(line: str) -> bool:
    return short_enough(line.strip()) and not numbered_rank(line.strip()) and not list_mark(line.strip())


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    block: list[str] = []
    for line in lines:
        if line.strip():
            block.append(line.rstrip())
        elif block:
            yield block
            block = []
    if block:
        yield block


def _block_elements(block: list[str]) -> Iterator[Element]:
    """One block of adjacent lines: headings and list items stand alone, the rest gathers into paragraphs."""
    paragraph: list[str] = []
    item: Element | None = None
    steps = _step_lines(block)
    for number, raw in enumerate(block):
        line = raw.strip()
        if _UNDERLINE.match(line):
            continue
        element = _own_element(line, is_step=number in steps, underlined=_next_is_underline(block, number))
        if element is None and item is not None and not _ENDS_ITEM.search(item.text):
            item = replace(item, text=join_lines([item.text, line]))
            continue
        if item is not None:
            yield item
        if paragraph and (element is not None or sum(map(len, paragraph)) > _MAX_PARAGRAPH):
            yield _paragraph(paragraph)
            paragraph = []
        item = element if element is not None and element.kind is not Kind.HEADING else None
        if element is None:
            paragraph.append(raw)
        elif item is None:
            yield element
    if item is not None:
        yield item
    if paragraph:
        yield _paragraph(paragraph)


def _step_lines(block: list[str]) -> frozenset[int]:
    """Numbers of lines that are steps: numbered neighbours, or a numbered sentence."""
    marked = [
        number
        for number, line in enumerate(block)
        if (mark := list_mark(line.strip())) and mark.kind is Kind.STEP
    ]
    if len(marked) > 1:
        return frozenset(marked)
    return frozenset(number for number in marked if not numbered_rank(block[number].strip()))


def _next_is_underline(block: list[str], number: int) -> bool:
    return number + 1 < len(block) and bool(_UNDERLINE.match(block[number + 1].strip()))


def _own_element(line: str, *, is_step: bool, underlined: bool) -> Element | None:
    """The heading or list item this line is by itself, None for a line of a paragraph."""
    if underlined and short_enough(line):
        return Element(kind=Kind.HEADING, text=line, level=1)
    rank = numbered_rank(line)
    if rank and (not is_step or is_deep_number(line)):
        return Element(kind=Kind.HEADING, text=line, level=rank)
    if mark := list_mark(line):
        return Element(kind=mark.kind, text=mark.text, level=1)
    return None


def _paragraph(lines: list[str]) -> Element:
    first = lines[0].strip()
    if (
        len(lines) == 1
        and first.isupper()
        and short_enough(first)
        and cjk_share(first) == 0
        and len(first) > 3
    ):
        return Element(kind=Kind.HEADING, text=first, level=1)
    return Element(kind=Kind.PARAGRAPH, text="\n".join(line.strip() for line in lines))
