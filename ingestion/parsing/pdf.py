"""PDF, by MuPDF: pages read one by one, then ordered, cut into blocks and given headings.

A page whose text is missing or garbled is read from its picture. A page or table that fails costs itself and leaves a
warning; a file in which nothing can be read is refused. The only module, with pdf_page and pdf_scan, that knows PyMuPDF.
"""

import re
from collections.abc import Callable
from typing import Any

import pymupdf

from ingestion.parsing.elements import Kind, ParsedDocument, Quality
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source
from ingestion.parsing.limits import MAX_PAGES
from ingestion.parsing.pdf_elements import elements_of
from ingestion.parsing.pdf_page import LEAST_CHARACTERS, Page, read_page
from ingestion.parsing.pdf_scan import Scans, spans

_SHRINK_EVERY = 20
_GARBLED_PAGE = 0.3
_NO_TITLE = re.compile(
    r"^(untitled|\(anonymous\)|anonymous|无标题|microsoft word\s*-\s*)|\.(docx?|pdf|jpe?g|png|tmp|indd|wps)$",
    re.IGNORECASE,
)
_OUT_OF_MEMORY = re.compile(r"[mc]alloc|realloc|out of memory", re.IGNORECASE)


def parse(source: Source) -> ParsedDocument:
    """Read a PDF.

    Raises Rejected: encrypted, truncated, corrupt, too_large (pages or memory), no_text.
    """
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    pymupdf.no_recommend_layout()
    document = _open(source.data)
    source.progress(0, document.page_count)
    scans = Scans(recognising=source.recognising)
    pages, failed = _read_pages(document, scans, source.progress)
    with_text = [page for page in pages if page.characters >= LEAST_CHARACTERS]
    if not with_text:
        raise Rejected("corrupt" if failed and not scans.started else "no_text")
    if scans.read:
        from ingestion.parsing.ocr.pages import level_sizes

        level_sizes(scans.read)
    outline = _outline(document)
    elements = elements_of(pages, outline)
    garbled = [page.number for page in with_text if page.garbled > _GARBLED_PAGE * page.characters]
    warnings = (
        ("repaired", bool(document.is_repaired)),
        (f"pages_failed:{spans(failed)}", bool(failed)),
        (f"pages_garbled:{spans(garbled)}", bool(garbled)),
        (
            f"tables_failed:{spans(p.number for p in pages if p.tables_failed)}",
            any(p.tables_failed for p in pages),
        ),
        (f"parts_skipped:{', '.join(document.embfile_names())}", document.embfile_count() > 0),
    )
    metadata = document.metadata or {}
    written = (metadata.get("title") or "").strip()
    first_title = next((e.text for e in elements if e.kind is Kind.TITLE), "")
    return ParsedDocument(
        media_type="application/pdf",
        elements=tuple(elements),
        quality=Quality(
            pages=document.page_count,
            pages_with_text=len(with_text),
            page_characters=_page_characters(pages, document.page_count),
            ocr_pages=len(scans.read),
            ocr_confidence=scans.mean_confidence,
            garble_ratio=round(sum(p.garbled for p in pages) / max(sum(p.characters for p in pages), 1), 4),
            warnings=(*scans.warnings, *(text for text, applies in warnings if applies)),
        ),
        title=written if written and not _NO_TITLE.search(written) else first_title,
        author=(metadata.get("author") or "").strip(),
        properties={"outline": [title for _level, title, _page in outline[:500]]} if outline else {},
    )


def _open(data: bytes) -> Any:
    try:
        document = pymupdf.open(stream=data, filetype="pdf")
        if document.needs_pass:
            raise Rejected("encrypted")
        count = document.page_count
    except Rejected:
        raise
    except MemoryError:
        raise
    except Exception as error:
        raise _explained(error, data) from error
    if count == 0:
        raise Rejected(_end_reason(data))
    if count > MAX_PAGES:
        raise Rejected("too_large", limit=f"{MAX_PAGES} pages")
    return document


def _explained(error: Exception, data: bytes) -> Rejected:
    if _OUT_OF_MEMORY.search(str(error)):
        return Rejected("too_large", limit="memory")
    return Rejected(_end_reason(data))


def _end_reason(data: bytes) -> str:
    """A PDF ends with %%EOF; without it the file was cut off."""
    return "corrupt" if b"%%EOF" in data[-2_048:] else "truncated"


def _read_pages(
    document: Any, scans: Scans, progress: Callable[[int, int], None]
) -> tuple[list[Page], list[int]]:
    pages: list[Page] = []
    failed: list[int] = []
    for number in range(1, document.page_count + 1):
        started = scans.started
        try:
            pages.append(scans.page(document, read_page(document, number)))
        except MemoryError:
            raise
        except Exception as error:
            if _OUT_OF_MEMORY.search(str(error)):
                raise Rejected("too_large", limit="memory") from error
            failed.append(number)
        if number % _SHRINK_EVERY == 0 or scans.started > started:
            pymupdf.TOOLS.store_shrink(100)
            progress(number, document.page_count)
    return pages, failed


def _page_characters(pages: list[Page], count: int) -> tuple[int, ...]:
    read = {page.number: page.characters for page in pages}
    return tuple(read.get(number, 0) for number in range(1, count + 1))


def _outline(document: Any) -> list[tuple[int, str, int]]:
    try:
        return [(level, str(title).strip(), page) for level, title, page in document.get_toc()]
    except Exception:  # a broken outline is no reason to lose the pages
        return []
