"""From a file to the index, in two stages with the ledger between them. Start reading here.

`read`     file -> elements -> sections and chunks, stored beside what readers see
`embed`    chunks -> vectors, for several documents at once, through the vector cache
`publish`  one transaction: the new rows in, the old version's out, the document's pointer moved
`rechunk`  elements that are stored already -> other chunks and vectors, in one transaction in the place of the old

Each stage may be repeated: it replaces what an earlier try left behind.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType

import numpy as np
from django.db import transaction
from django.utils import timezone
from numpy.typing import NDArray

from ingestion import attachments, blobs, corrections, ledger, quality, rechunking
from ingestion.chunking.choices import from_key
from ingestion.chunking.drafts import ChunkDraft, ChunkedDocument, TokenCounter
from ingestion.chunking.structure import chunk_document, chunk_elements
from ingestion.dictionary import recutting
from ingestion.embedding.cache import cached_vectors, embed_texts, text_hash
from ingestion.embedding.protocol import Embedder
from ingestion.indexing import bm25, tables
from ingestion.indexing.analyzer import analyze
from ingestion.indexing.generations import active_generation
from ingestion.ledger import Lease, StaleLease
from ingestion.models import (
    IN_FORCE,
    Chunk,
    Document,
    DocumentVersion,
    Element,
    IndexGeneration,
    IngestJob,
    Section,
    Verdict,
    VersionPart,
    VersionState,
)
from ingestion.parsing.elements import ParsedDocument, PartRole
from ingestion.parsing.errors import DOUBTFUL_CODES, Rejected
from ingestion.parsing.sandbox import parse_file
from ingestion.rechunking import Turn

log = logging.getLogger(__name__)
ChunkKey = tuple[bytes, int, int]
EMBED_SLICE = 32  # texts between two looks at the ledger
LET_BY_AFTER = 128
INSERT_BATCH = 500


def read(lease: Lease, counter: TokenCounter) -> None:
    """Parse and chunk one version, and hand it on to be embedded. A file that cannot be used ends here, with a reason."""
    version = DocumentVersion.objects.select_related("document__collection").get(pk=lease.version_id)
    version.chunking = version.document.collection.chunking
    try:
        parsed = parse_file(
            blobs.path_of(version.blob),
            file_name=version.file_name,
            watch=lambda done, total: ledger.note_pages(lease, done, total),
            keep=attachments.keeper(version.document),
        )
        ledger.note(
            lease,
            state=VersionState.CHUNKING,
            done=len(parsed.elements),
            total=len(parsed.elements),
            unit="elements",
        )
        title = _title(version, parsed)
        chunked = chunk_document(
            parsed,
            title=title,
            counter=counter,
            profile=from_key(version.chunking).profile,
            pins=corrections.pins_of(version.document),
        )
        if not chunked.chunks:
            raise Rejected("no_text")
    except Rejected as refusal:
        doubtful = refusal.code in DOUBTFUL_CODES
        if doubtful and lease.failures + 1 < ledger.MAX_FAILURES:
            raise  # perhaps the machine's fault: counted, and tried again
        state = VersionState.QUARANTINED if doubtful else VersionState.REJECTED
        if refusal.code in quality.NO_TEXT:
            DocumentVersion.objects.filter(pk=version.pk).update(verdict=Verdict.UNREAD, read_share=0.0)
        ledger.end_lease(lease, IngestJob.State.FAILED, state, refusal.code, **refusal.params)
        log.info("not taken", extra={"file": version.file_name, "reason": refusal.code})
        return
    except FileNotFoundError:
        if blobs.path_of(version.blob).exists():
            raise
        ledger.end_lease(lease, IngestJob.State.FAILED, VersionState.QUARANTINED, "file_missing")
        log.error("stored file is missing", extra={"file": version.file_name, "blob": version.blob})
        return
    _store_draft(lease, version, parsed, chunked, title)


def _title(version: DocumentVersion, parsed: ParsedDocument) -> str:
    """What people called it, else what the file calls itself, else its name."""
    document = version.document
    return parsed.title[:500] if parsed.title and document.title == version.file_name else document.title


@transaction.atomic
def _store_draft(
    lease: Lease, version: DocumentVersion, parsed: ParsedDocument, chunked: ChunkedDocument, title: str
) -> None:
    """Everything read from the file, beside what is live, and the job's next stage, in one transaction."""
    document = Document.objects.select_for_update(of=("self",)).get(pk=version.document_id)
    ledger.lock(lease)
    if not lease.is_first:
        Element.objects.filter(version=version).delete()
        Section.objects.filter(version=version).delete()  # and with them the chunks
        VersionPart.objects.filter(version=version).exclude(role=PartRole.RECORDING).delete()
    Element.objects.bulk_create(
        [
            Element(
                version=version,
                order=order,
                kind=element.kind,
                text=element.text,
                level=element.level,
                heading_path=list(element.heading_path),
                page=element.page,
                boxes=[asdict(box) for box in element.boxes],
                table=asdict(element.table) if element.table else None,
                confidence=element.confidence,
                picture=element.picture,
            )
            for order, element in enumerate(parsed.elements)
        ],
        batch_size=INSERT_BATCH,
    )
    VersionPart.objects.bulk_create(
        [
            VersionPart(
                version=version,
                order=order,
                role=part.role,
                name=part.name,
                media_type=part.media_type,
                blob=part.digest,
                size_bytes=part.size_bytes,
            )
            for order, part in enumerate(parsed.parts)
        ],
        batch_size=INSERT_BATCH,
    )
    store_chunks(active_generation(), version, chunked)
    corrections.note_outcomes(version, chunked.lost)
    _describe(version, parsed, len(chunked.chunks))
    if document.title == version.file_name != title:
        document.title = title
        document.save(update_fields=["title"])
    ledger.advance(
        lease,
        stage=IngestJob.Stage.EMBED,
        state=VersionState.EMBEDDING,
        total=len(chunked.chunks),
        unit="chunks",
    )


def _describe(version: DocumentVersion, parsed: ParsedDocument, chunk_count: int) -> None:
    """What the file says of itself, and how well it was read."""
    report = quality.report_of(parsed)
    judgement = quality.judge(report)
    facts = {
        "media_type": parsed.media_type,
        "language": parsed.language,
        "encoding": parsed.encoding[:40],
        "author": parsed.author[:500],
        "file_title": parsed.title[:500],
        "file_created_at": quality.moment_of(parsed.created),
        "file_modified_at": quality.moment_of(parsed.modified),
        "quality": report,
        "verdict": judgement.verdict,
        "read_share": judgement.share,
        "page_count": parsed.quality.pages,
        "chunk_count": chunk_count,
    }
    for name, value in facts.items():
        setattr(version, name, value)
    version.save(update_fields=[*facts, "chunking"])


def store_chunks(
    generation: IndexGeneration,
    version: DocumentVersion,
    chunked: ChunkedDocument,
    former: Mapping[ChunkKey, int] = MappingProxyType({}),
) -> list[Chunk]:
    """Write sections and chunks; returns the chunks in reading order. former: ids that equal chunks had, and keep."""
    sections = Section.objects.bulk_create(
        [
            Section(
                version=version,
                order=draft.order,
                heading_path=list(draft.heading_path),
                text=draft.text,
                token_count=draft.token_count,
                first_element=draft.first_element,
                last_element=draft.last_element,
            )
            for draft in chunked.sections
        ],
        batch_size=INSERT_BATCH,
    )
    by_order = {section.order: section for section in sections}
    chunks = [_chunk(generation, version, by_order[draft.section], draft) for draft in chunked.chunks]
    free = dict(former)
    for chunk in chunks:
        chunk.pk = free.pop(_key(chunk), None)
    return Chunk.objects.bulk_create(chunks, batch_size=INSERT_BATCH)


def _key(chunk: Chunk) -> ChunkKey:
    """What makes two chunks of a version the same one."""
    return bytes(chunk.text_hash), chunk.first_element, chunk.last_element


def _chunk(
    generation: IndexGeneration, version: DocumentVersion, section: Section, draft: ChunkDraft
) -> Chunk:
    return Chunk(
        generation=generation,
        version=version,
        document_id=version.document_id,
        section=section,
        order=draft.order,
        kind=draft.kind,
        text=draft.text,
        embedding_text=draft.embedding_text,
        text_hash=text_hash(draft.embedding_text),
        heading_path=list(draft.heading_path),
        token_count=draft.token_count,
        language=draft.language,
        first_element=draft.first_element,
        last_element=draft.last_element,
        page=draft.page,
        boxes=[asdict(box) for box in draft.boxes],
        own_from=draft.own_from,
        correction_id=draft.correction,
    )


def embed_and_publish(
    leases: Sequence[Lease], embedder: Embedder, *, let_by: Callable[[], None] = lambda: None
) -> None:
    """Embed the chunks of several versions together, then publish each. Lost leases drop out on the way.

    let_by: called after every LET_BY_AFTER chunks while there are more, so that short files need not wait for a long one.
    """
    chunks: dict[Lease, list[Chunk]] = {lease: [] for lease in leases}
    by_version = {lease.version_id: own for lease, own in chunks.items()}
    for chunk in (
        Chunk.objects.filter(version_id__in=by_version).select_related("generation").order_by("order")
    ):
        by_version[chunk.version_id].append(chunk)
    vectors = _embed(chunks, embedder, let_by)
    ledger.begin_publishing(leases)
    for lease, own in chunks.items():
        try:
            publish(lease, own, [vectors[bytes(chunk.text_hash)] for chunk in own])
        except (StaleLease, KeyError) as lost:
            log.info(
                "job given up by someone else", extra={"job": lease.job_id, "cause": type(lost).__name__}
            )


def _embed(
    chunks: dict[Lease, list[Chunk]], embedder: Embedder, let_by: Callable[[], None]
) -> dict[bytes, NDArray[np.float32]]:
    """Text hash -> vector. What the cache holds is not embedded again; what is new goes into it slice by slice."""
    texts = {bytes(chunk.text_hash): chunk.embedding_text for own in chunks.values() for chunk in own}
    vectors = cached_vectors(embedder, list(texts))
    missing = sorted((key for key in texts if key not in vectors), key=lambda key: len(texts[key]))
    for start in range(0, len(missing), EMBED_SLICE):
        if start and start % LET_BY_AFTER == 0:
            let_by()
        part = missing[start : start + EMBED_SLICE]
        fresh = embed_texts(embedder, {key: texts[key] for key in part})
        vectors |= {key: read.vector for key, read in fresh.items()}
        _note_embedded(chunks, vectors)
    return vectors


def _note_embedded(chunks: dict[Lease, list[Chunk]], vectors: dict[bytes, NDArray[np.float32]]) -> None:
    """Tell how far the larger ones are. What is not begun has nothing to tell, and what is complete is told as it is published."""
    for lease, own in chunks.items():
        done = sum(bytes(chunk.text_hash) in vectors for chunk in own)
        if done in (0, len(own)):
            continue
        try:
            ledger.note(lease, done=done, total=len(own), unit="chunks")
        except StaleLease:
            continue  # found again at publication, where nothing of it is written


@transaction.atomic
def publish(lease: Lease, chunks: Sequence[Chunk], vectors: Sequence[NDArray[np.float32]]) -> None:
    """Make a version what readers get: new index rows in, the old version's out, the pointer moved, the job done.

    The document is locked first, as every writer of documents does, so that no two wait for each other.
    """
    version = DocumentVersion.objects.select_related("document").get(pk=lease.version_id)
    document = Document.objects.select_for_update(of=("self",)).get(pk=version.document_id)
    job = ledger.lock(lease)
    if not chunks:
        raise StaleLease()
    put_into_index(document, chunks, vectors)
    _replace_active(document, version)
    rechunking.request_if_outdated(document, version)
    attachments.follow(document, version, job)
    state = VersionState.PARTLY_LIVE if quality.lacks_parts(version.quality) else VersionState.LIVE
    job.version = version
    ledger.end(job, IngestJob.State.SUCCEEDED, state)
    log.info("live", extra={"file": version.file_name, "version": version.number, "chunks": len(chunks)})


def put_into_index(
    document: Document, chunks: Sequence[Chunk], vectors: Sequence[NDArray[np.float32]]
) -> None:
    """Exchange a locked document's index rows for those of the chunks; at least one. Archived ones have no rows."""
    generation = chunks[0].generation
    cutting = recutting.enter(document.collection_id)
    rows = [
        tables.IndexRow(
            chunk_id=chunk.pk,
            vector=vector,
            weights=bm25.weights(
                analyze(chunk.embedding_text, cutting.terms), average_length=generation.average_length
            ),
        )
        for chunk, vector in zip(chunks, vectors, strict=True)
    ]
    texts = (recutting.Text(chunk_id=chunk.pk, text=chunk.embedding_text) for chunk in chunks)
    recutting.write_aside(generation, texts, cutting)
    tables.delete_rows(generation.number, document.pk)
    if document.archived_at is None:
        tables.insert_rows(generation.number, document_id=document.pk, scope_id=document.scope_id, rows=rows)


def _replace_active(document: Document, version: DocumentVersion) -> None:
    """Point the document at the new version; the old one keeps its elements for citations, and loses its chunks."""
    old = document.active_version
    document.active_version, document.language = version, version.language
    document.save(update_fields=["active_version", "language", "updated_at"])
    version.published_at = timezone.now()
    version.save(update_fields=["published_at"])
    if old and old.pk != version.pk:
        old.state = VersionState.SUPERSEDED
        old.save(update_fields=["state"])
        Chunk.objects.filter(version=old).delete()


# --- other chunks of the same elements --------------------------------------------------------------------


def rechunk(turn: Turn, embedder: Embedder) -> None:
    """Make the chunks of a document in force anew, as its collection and its corrections ask. Only new texts are embedded.

    Nothing is stored before the one transaction that exchanges the old chunks for the new ones, except vectors in the cache.
    """
    document = Document.objects.select_related("collection", "active_version").get(pk=turn.document_id)
    version = document.active_version
    if version is None:
        with transaction.atomic():
            rechunking.finish(turn)
        return
    version.chunking = document.collection.chunking
    chunked = chunk_elements(
        [corrections.as_parsed(row) for row in version.elements.order_by("order").iterator()],
        title=document.title,
        counter=embedder,
        profile=from_key(version.chunking).profile,
        pins=corrections.pins_of(document),
    )
    if not chunked.chunks:
        raise ValueError("nothing would be left of the document")
    vectors = _vectors_of(turn, chunked, embedder)
    _exchange(turn, version, chunked, vectors)


def _vectors_of(turn: Turn, chunked: ChunkedDocument, embedder: Embedder) -> dict[bytes, NDArray[np.float32]]:
    texts = {text_hash(draft.embedding_text): draft.embedding_text for draft in chunked.chunks}
    vectors = cached_vectors(embedder, list(texts))
    missing = [key for key in texts if key not in vectors]
    for start in range(0, len(missing), EMBED_SLICE):
        rechunking.renew(turn)
        fresh = embed_texts(embedder, {key: texts[key] for key in missing[start : start + EMBED_SLICE]})
        vectors |= {key: read.vector for key, read in fresh.items()}
    return vectors


@transaction.atomic
def _exchange(
    turn: Turn,
    version: DocumentVersion,
    chunked: ChunkedDocument,
    vectors: dict[bytes, NDArray[np.float32]],
) -> None:
    """The new chunks of a version in the place of the old ones. One that is no longer in force is left alone."""
    document = Document.objects.select_for_update(of=("self",)).get(pk=version.document_id)
    rechunking.finish(turn)
    in_force = DocumentVersion.objects.filter(pk=version.pk, state__in=IN_FORCE).exists()
    if document.active_version_id != version.pk or not in_force:
        return  # the publication of what is in force now, or is coming back, looks for what changed
    generation = active_generation()
    former = {_key(chunk): chunk.pk for chunk in Chunk.objects.filter(version=version, generation=generation)}
    Section.objects.filter(version=version).delete()  # and with them the chunks
    chunks = store_chunks(generation, version, chunked, former)
    put_into_index(document, chunks, [vectors[bytes(chunk.text_hash)] for chunk in chunks])
    corrections.note_outcomes(version, chunked.lost)
    version.chunk_count = len(chunks)
    version.save(update_fields=["chunk_count", "chunking"])
    log.info("cut anew", extra={"file": version.file_name, "version": version.number, "chunks": len(chunks)})
