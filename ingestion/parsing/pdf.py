"""PDF, by MuPDF: pages read one by one, then ordered, cut into blocks and given headings.

A page whose text is missing or garbled is read from its picture. A page or table that fails costs itself and leaves a
warning; a file in which nothing can be read is refused. The only module, with pdf_page and pdf_scan, that knows PyMuPDF.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import PurePath
from typing import Any

import pymupdf

from ingestion.parsing.elements import Kind, ParsedDocument, Part, PartRole, Quality
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source
from ingestion.parsing.limits import MAX_PAGES
from ingestion.parsing.page_numbers import spans
from ingestion.parsing.pdf_elements import elements_of
from ingestion.parsing.pdf_page import LEAST_CHARACTERS, Page, read_page
from ingestion.parsing.pdf_pictures import with_pictures
from ingestion.parsing.pdf_scan import Scans

_TELL_EVERY = 20
_SHRINK_EVERY = 200  # pages; fonts have to be loaded again afterwards
_GARBLED_PAGE = 0.3
_NO_TITLE = re.compile(
    r"^(untitled|\(anonymous\)|anonymous|无标题|microsoft word\s*-\s*)|\.(docx?|pdf|jpe?g|png|tmp|indd|wps)$",
    re.IGNORECASE,
)
_DATE = re.compile(r"^(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(Z|[+-]\d\d'?\d\d'?)?", re.ASCII)
_MOST_FILES, _MOST_FILE_BYTES = 500, 100_000_000
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
    parts, skipped = _attachments(document)
    garbled = [page.number for page in with_text if page.garbled > _GARBLED_PAGE * page.characters]
    warnings = (
        ("repaired", bool(document.is_repaired)),
        (f"pages_failed:{spans(failed)}", bool(failed)),
        (f"pages_garbled:{spans(garbled)}", bool(garbled)),
        (
            f"tables_failed:{spans(p.number for p in pages if p.tables_failed)}",
            any(p.tables_failed for p in pages),
        ),
        (f"parts_skipped:{', '.join(skipped)}", bool(skipped)),
    )
    metadata = document.metadata or {}
    written = (metadata.get("title") or "").strip()
    first_title = next((e.text for e in elements if e.kind is Kind.TITLE), "")
    parsed = ParsedDocument(
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
        created=_date(metadata.get("creationDate")),
        modified=_date(metadata.get("modDate")),
        parts=tuple(parts),
        properties={"outline": [title for _level, title, _page in outline[:500]]} if outline else {},
    )
    scanned = {*scans.confidence, *scans.unread, *scans.pictured}
    going_on = replace(source, recognising=lambda count: source.recognising(scans.started + count))
    return with_pictures(parsed, document, [p for p in pages if p.number not in scanned], going_on)


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
        recognised = scans.started > started
        if number % _SHRINK_EVERY == 0 or recognised:
            pymupdf.TOOLS.store_shrink(100)
        if number % _TELL_EVERY == 0 or recognised:
            progress(number, document.page_count)
    return pages, failed


def _page_characters(pages: list[Page], count: int) -> tuple[int, ...]:
    read = {page.number: page.characters for page in pages}
    return tuple(read.get(number, 0) for number in range(1, count + 1))


def _attachments(document: Any) -> tuple[list[Part], list[str]]:
    """Files put into the PDF, and the names of those that could not be taken out."""
    parts: list[Part] = []
    skipped: list[str] = []
    size = 0
    for number in range(min(document.embfile_count(), _MOST_FILES)):
        name = f"attachment-{number + 1}"
        try:
            facts = document.embfile_info(number)
            name = facts.get("ufilename") or facts.get("filename") or facts.get("name") or name
            if size + max(facts.get("length", 0), facts.get("size", 0)) > _MOST_FILE_BYTES:
                skipped.append(name)
                continue
            data = document.embfile_get(number)
        except MemoryError:
            raise
        except Exception:  # a broken attachment costs itself
            skipped.append(name)
            continue
        size += len(data)
        if data:
            parts.append(Part.of(PartRole.ATTACHMENT, data, name=PurePath(name).name))
    return parts, skipped


def _date(written: str | None) -> str:
    """A date of PDF, as in D:20240131120000+08'00', in ISO 8601; "" where it is none."""
    match = _DATE.match(written or "")
    if not match:
        return ""
    year, month, day, hour, minute, second, zone = match.groups()
    offset = "+00:00" if zone and zone.startswith("Z") else (zone or "").replace("'", ":").rstrip(":")
    text = f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:{second or '00'}{offset}"
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        return ""


def _outline(document: Any) -> list[tuple[int, str, int]]:
    try:
        return [(level, str(title).strip(), page) for level, title, page in document.get_toc()]
    except Exception:  # a broken outline is no reason to lose the pages
        return []
