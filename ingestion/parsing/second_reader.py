"""The second reader, for a file on which the first one stopped unexpectedly: plainer structure, by `unstructured`.

It needs seconds and 350 MB to start, so nothing else reads with it. Its telemetry stays off, and so does the language
model that it would load from the network to part sentences (in 0.27.35; a test fails when that place moves).
"""

import importlib
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ingestion.parsing import html
from ingestion.parsing.elements import Element, Kind, ParsedDocument, Quality
from ingestion.parsing.formats import DocumentKind, Source

MEDIA_TYPES = {
    DocumentKind.DOCX: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    DocumentKind.PPTX: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    DocumentKind.HTML: "text/html",
    DocumentKind.ODT: "application/vnd.oasis.opendocument.text",
    DocumentKind.RTF: "text/rtf",
}
_LANGUAGES = ["zho", "eng"]  # its own guess by element is wrong more often than not for Chinese
_SENTENCE_ENDS = list(".!?。！？；;")
_NOT_SHOWN = frozenset({"PageBreak", "Header", "Footer", "PageNumber", "Image"})
_KINDS = {"ListItem": Kind.LIST_ITEM, "CodeSnippet": Kind.CODE, "FigureCaption": Kind.CAPTION}


def parse(source: Source, *, kind: DocumentKind) -> ParsedDocument:
    """Read a file of one of the kinds in MEDIA_TYPES. Raises whatever the library trips over."""
    tempfile.tempdir = (
        source.scratch or "/"
    )  # named, because the library only asks for one: most kinds cannot write
    partition = _partition(kind)
    found = partition(file=io.BytesIO(source.data), languages=_LANGUAGES)
    elements = tuple(_elements(found))
    return ParsedDocument(
        media_type=MEDIA_TYPES[kind],
        elements=elements,
        quality=Quality(pages=_pages(elements), warnings=("second_reader",)),
    )


def _partition(kind: DocumentKind) -> Callable[..., Iterable[Any]]:
    os.environ.update(DO_NOT_TRACK="1", SCARF_NO_ANALYTICS="1", UNSTRUCTURED_DISABLE_NOTICE="1")
    tokenize: Any = importlib.import_module("unstructured.nlp.tokenize")
    if not hasattr(tokenize, "_load_spacy_model"):
        raise RuntimeError("unstructured loads its language model elsewhere now: look at the pin")
    tokenize._load_spacy_model = _sentences_without_model
    module = importlib.import_module(f"unstructured.partition.{kind.value}")
    partition: Callable[..., Iterable[Any]] = getattr(module, f"partition_{kind.value}")
    return partition


def _sentences_without_model() -> Any:
    import spacy

    pipeline = spacy.blank("xx")
    pipeline.add_pipe("sentencizer", config={"punct_chars": _SENTENCE_ENDS})
    return pipeline


def _elements(found: Iterable[Any]) -> Iterator[Element]:
    for piece in found:
        if piece.category in _NOT_SHOWN:
            continue
        facts = piece.metadata
        page, depth = facts.page_number, facts.category_depth or 0
        if piece.category == "Table" and facts.text_as_html:
            yield from html.parse(Source(data=facts.text_as_html.encode())).elements
        elif piece.category == "Title":
            yield Element(kind=Kind.HEADING, text=piece.text, level=depth + 1, page=page)
        else:
            kind = _KINDS.get(piece.category, Kind.PARAGRAPH)
            level = depth + 1 if kind is Kind.LIST_ITEM else 0
            yield Element(kind=kind, text=piece.text, level=level, page=page)


def _pages(elements: tuple[Element, ...]) -> int | None:
    return max((element.page for element in elements if element.page), default=None)
