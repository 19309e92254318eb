"""The last step of every parse: text made safe to store, headings made a path on each element, counts and language.

Runs outside the child on what it sent, so it trusts nothing: a value of the wrong type or size is a crash of the child.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace

from ingestion.parsing.elements import Element, Kind, ParsedDocument, Table
from ingestion.parsing.errors import Rejected
from ingestion.parsing.prose import language_of

MAX_ELEMENTS = 300_000
MAX_CHARACTERS = 60_000_000
MAX_HEADING = 300
MAX_PARTS = 5_000
_MAX_PROPERTY = 2_000
# Control characters except tab and line feed, and the code points that are never characters.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
# Letters, digits, arrows and signs, pictographs: without any of them a text says nothing.
_SAYS_SOMETHING = re.compile("[^\\W_]|[\u2190-\u2bff\U0001f000-\U0001faff]")


def clean(text: str) -> str:
    """Text PostgreSQL and JSON accept: no control characters, lone surrogates replaced, NFC."""
    if text.isascii():
        return _UNSAFE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    safe = _SURROGATE.sub(_REPLACEMENT, text.replace("\r\n", "\n").replace("\r", "\n"))
    return _UNSAFE.sub("", unicodedata.normalize("NFC", safe))


def finish(document: ParsedDocument) -> ParsedDocument:
    """Clean every text, drop empty elements, add heading paths, counts and language.

    Raises Rejected (`empty`, `no_text`, `too_large`) when nothing or too much is left.
    """
    elements = tuple(_with_paths(_cleaned(document.elements)))
    if not any(_SAYS_SOMETHING.search(element.text) for element in elements):
        raise Rejected("no_text")
    characters = sum(len(element.text) for element in elements)
    if len(elements) > MAX_ELEMENTS or characters > MAX_CHARACTERS:
        raise Rejected("too_large", limit=f"{MAX_ELEMENTS} elements")
    quality = replace(
        document.quality,
        characters=characters,
        tables=sum(element.kind is Kind.TABLE for element in elements),
        warnings=tuple(dict.fromkeys(clean(warning)[:500] for warning in document.quality.warnings)),
    )
    return replace(
        document,
        elements=elements,
        quality=quality,
        title=_short(document.title),
        author=_short(document.author),
        created=_short(document.created),
        modified=_short(document.modified),
        parts=tuple(replace(part, name=_short(part.name)) for part in document.parts[:MAX_PARTS]),
        language=language_of(_sample(elements)),
        properties={
            _short(str(key)): _property(value) for key, value in list(document.properties.items())[:100]
        },
    )


def _cleaned(elements: Iterable[Element]) -> Iterable[Element]:
    for element in elements:
        text = clean(element.text).strip("\n") if element.kind is Kind.CODE else clean(element.text).strip()
        if text.strip() or element.picture:  # a picture is shown even if nothing is known of it
            yield replace(element, text=text, table=_cleaned_table(element.table) if element.table else None)


def _cleaned_table(table: Table) -> Table:
    return Table(
        rows=tuple(tuple(clean(cell) for cell in row) for row in table.rows),
        header_rows=table.header_rows,
        html=clean(table.html),
    )


def _with_paths(elements: Iterable[Element]) -> Iterable[Element]:
    """heading_path holds the headings above an element, outermost first; for a heading those above itself."""
    above: list[tuple[int, str]] = []
    for element in elements:
        if element.kind is Kind.HEADING:
            while above and above[-1][0] >= element.level:
                above.pop()
        yield replace(element, heading_path=tuple(title for _level, title in above))
        if element.kind is Kind.HEADING:
            above.append((element.level, " ".join(element.text.split())[:MAX_HEADING]))


def _sample(elements: tuple[Element, ...]) -> str:
    texts, size = [], 0
    for element in elements:
        texts.append(element.text)
        size += len(element.text)
        if size > 100_000:
            break
    return "\n".join(texts)


def _short(text: str) -> str:
    return " ".join(clean(text).split())[:MAX_HEADING]


def _property(value: object) -> object:
    if isinstance(value, list):
        return [clean(str(item))[:_MAX_PROPERTY] for item in value[:100]]
    return clean(value)[:_MAX_PROPERTY] if isinstance(value, str) else value
