"""A temporary index generation of its own, over documents that only its maker can find. For evaluation.

The active generation, its statistics and its readers never meet it: its rows lie in other tables, its documents in an
access scope that nobody else has a grant on.
"""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from numpy.typing import NDArray

from accounts.permissions.grants import create_scope
from accounts.values import Principal
from ingestion.chunking.structure import chunk_document
from ingestion.dictionary import recutting
from ingestion.embedding.cache import cached_vectors, embed_texts, text_hash
from ingestion.embedding.protocol import Embedder
from ingestion.indexing import bm25, tables
from ingestion.indexing.analyzer import analyze
from ingestion.indexing.generations import create_generation, drop_generation
from ingestion.models import Chunk, Collection, Document, DocumentVersion, IndexGeneration, VersionState
from ingestion.parsing.elements import ParsedDocument
from ingestion.pipeline import store_chunks

NAME = "Evaluation"
DOCUMENTS_AT_ONCE = 64
EMBED_SLICE = 64  # kept together: what a killed run loses at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    generation: IndexGeneration
    collection: Collection


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialDocument:
    """A parsed document. `key` names it in the trial and is its `source_key`."""

    key: str
    title: str
    parsed: ParsedDocument


@transaction.atomic
def open_trial(maker: Principal, embedder: Embedder) -> Trial:
    """An empty generation, and a collection that only `maker` sees; its name ends with the generation's number."""
    number = (IndexGeneration.objects.aggregate(last=Max("number"))["last"] or 0) + 1
    generation = create_generation(embedder, number=number, state=IndexGeneration.State.BUILDING)
    collection = Collection.objects.create(
        name=f"{NAME} {number}", scope=create_scope(actor=maker), created_by_id=maker.user_id
    )
    return Trial(generation=generation, collection=collection)


def add_documents(trial: Trial, documents: Iterable[TrialDocument], embedder: Embedder) -> int:
    """Chunk, embed and index; returns how many chunks.

    Vectors are kept as soon as they are made, by the hash of their text: a run that was killed, and one that is
    repeated, embed nothing twice. What is indexed is found only after `build_indexes`.
    """
    return sum(_add(trial, batch, embedder) for batch in _batches(documents))


def build_indexes(trial: Trial) -> None:
    """After the last document: the statistics, the vector index and the word index."""
    tables.count_all(trial.generation.number)
    tables.build_indexes(trial.generation.number)


@transaction.atomic
def close_trial(trial: Trial) -> None:
    """Remove everything that `open_trial` and `add_documents` made."""
    drop_generation(trial.generation)
    Document.objects.filter(collection=trial.collection).delete()
    scope = trial.collection.scope
    trial.collection.delete()
    scope.delete()


def trials_of(maker: Principal) -> list[Trial]:
    """What earlier trials of this account have left behind, because they were killed."""
    collections = {
        collection.name: collection
        for collection in Collection.objects.filter(created_by_id=maker.user_id).select_related("scope")
    }
    return [
        Trial(generation=generation, collection=collections[name])
        for generation in IndexGeneration.objects.filter(state=IndexGeneration.State.BUILDING)
        if (name := f"{NAME} {generation.number}") in collections
    ]


def _add(trial: Trial, documents: Sequence[TrialDocument], embedder: Embedder) -> int:
    chunked = [
        chunk_document(document.parsed, title=document.title, counter=embedder) for document in documents
    ]
    vectors = _vectors([draft.embedding_text for one in chunked for draft in one.chunks], embedder)
    with transaction.atomic():
        versions = _versions(trial, documents, [len(one.chunks) for one in chunked])
        stored = [
            chunk
            for version, one in zip(versions, chunked, strict=True)
            for chunk in store_chunks(trial.generation, version, one)
        ]
        cutting = recutting.enter(trial.collection.pk)
        tables.load_rows(
            trial.generation.number,
            [
                _placed(trial, chunk, vectors, analyze(chunk.embedding_text, cutting.terms))
                for chunk in stored
            ],
        )
    return len(stored)


def _placed(
    trial: Trial, chunk: Chunk, vectors: Mapping[bytes, NDArray[np.float32]], tokens: Sequence[str]
) -> tables.PlacedRow:
    row = tables.IndexRow(
        chunk_id=chunk.pk,
        vector=vectors[bytes(chunk.text_hash)],
        weights=bm25.weights(tokens, average_length=trial.generation.average_length),
    )
    return tables.PlacedRow(document_id=chunk.document_id, scope_id=trial.collection.scope_id, row=row)


def _versions(
    trial: Trial, documents: Sequence[TrialDocument], chunk_counts: Sequence[int]
) -> list[DocumentVersion]:
    stored = Document.objects.bulk_create(
        Document(
            collection=trial.collection,
            scope_id=trial.collection.scope_id,
            source_key=document.key,
            source_digest=hashlib.sha256(document.key.encode()).hexdigest(),
            title=document.title,
            language=document.parsed.language,
        )
        for document in documents
    )
    versions = DocumentVersion.objects.bulk_create(
        DocumentVersion(
            document=document,
            number=1,
            blob="",
            file_name=document.source_key[-500:],
            size_bytes=0,
            state=VersionState.LIVE,
            chunk_count=chunk_count,
            published_at=timezone.now(),
        )
        for document, chunk_count in zip(stored, chunk_counts, strict=True)
    )
    for document, version in zip(stored, versions, strict=True):
        document.active_version = document.latest_version = version
    Document.objects.bulk_update(stored, ["active_version", "latest_version"])
    return versions


def _vectors(texts: Sequence[str], embedder: Embedder) -> dict[bytes, NDArray[np.float32]]:
    by_hash = {text_hash(text): text for text in texts}
    vectors = cached_vectors(embedder, list(by_hash))
    missing = [key for key in by_hash if key not in vectors]
    missing.sort(key=lambda key: len(by_hash[key]))  # texts of like length are read faster together
    for start in range(0, len(missing), EMBED_SLICE):
        part = missing[start : start + EMBED_SLICE]
        fresh = embed_texts(embedder, {key: by_hash[key] for key in part})
        vectors |= {key: read.vector for key, read in fresh.items()}
    return vectors


def _batches(documents: Iterable[TrialDocument]) -> Iterator[list[TrialDocument]]:
    waiting = iter(documents)
    while batch := list(itertools.islice(waiting, DOCUMENTS_AT_ONCE)):
        yield batch
