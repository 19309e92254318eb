"""Ready documents for tests of pages, written as rows: no file is parsed and nothing is embedded."""

import hashlib
from collections.abc import Sequence

from django.utils import timezone

from ingestion.indexing import tables
from ingestion.models import (
    Chunk,
    Collection,
    Document,
    DocumentVersion,
    Element,
    IndexGeneration,
    IngestJob,
    Section,
    VersionState,
)
from ingestion.parsing.elements import Kind


def make_document(
    collection: Collection,
    *,
    title: str = "Travel policy",
    texts: Sequence[str] = ("Rail travel is second class.", "The hotel cap is USD 320."),
    state: VersionState = VersionState.LIVE,
    file_name: str = "travel.md",
) -> Document:
    """A document with one version: a heading, then a paragraph and a chunk for each text."""
    document = Document.objects.create(
        collection=collection,
        scope=collection.scope,
        source_key=title,
        source_digest=hashlib.sha256(title.encode()).hexdigest(),
        title=title,
    )
    version = DocumentVersion.objects.create(
        document=document, number=1, blob="0" * 64, file_name=file_name, size_bytes=1200, state=state
    )
    ended = state in (VersionState.LIVE, VersionState.PARTLY_LIVE, VersionState.REJECTED)
    IngestJob.objects.create(version=version, ended_at=timezone.now() if ended else None)
    document.latest_version = version
    if state in (VersionState.LIVE, VersionState.PARTLY_LIVE):
        version.published_at = timezone.now()
        version.chunk_count = len(texts)
        version.save()
        _fill(version, title, texts)
        document.active_version = version
    document.save()
    return document


def _fill(version: DocumentVersion, title: str, texts: Sequence[str]) -> None:
    generation, is_new = IndexGeneration.objects.get_or_create(
        number=1,
        defaults={
            "state": IndexGeneration.State.ACTIVE,
            "embedder": "none",
            "dimension": 4,
            "chunker_version": "1",
            "analyzer_version": "1",
            "average_length": 10.0,
        },
    )
    if is_new:
        tables.create_tables(generation.number, generation.dimension)
    section = Section.objects.create(
        version=version,
        order=0,
        text="\n".join(texts),
        token_count=10,
        first_element=0,
        last_element=len(texts),
    )
    heading = Element(version=version, order=0, kind=Kind.HEADING, text=title, level=1)
    paragraphs = [
        Element(version=version, order=order, kind=Kind.PARAGRAPH, text=text, heading_path=[title])
        for order, text in enumerate(texts, start=1)
    ]
    Element.objects.bulk_create([heading, *paragraphs])
    Chunk.objects.bulk_create(
        Chunk(
            generation=generation,
            version=version,
            document=version.document,
            section=section,
            order=order,
            kind=Kind.PARAGRAPH,
            text=text,
            embedding_text=text,
            text_hash=hashlib.sha256(text.encode()).digest(),
            heading_path=[title],
            token_count=7,
            first_element=order + 1,
            last_element=order + 1,
        )
        for order, text in enumerate(texts)
    )
