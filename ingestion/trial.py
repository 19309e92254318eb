"""A temporary index generation of its own, over documents that only its maker can find. For evaluation.

The active generation, its statistics and its readers never meet it: its rows lie in other tables, its documents in an
access scope that nobody else has a grant on.
"""

import hashlib
from collections.abc import Sequence
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
EMBED_SLICE = 64


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


def add_documents(trial: Trial, documents: Sequence[TrialDocument], embedder: Embedder) -> int:
    """Chunk, embed and index; returns how many chunks. Vectors go through the cache, so a repeated trial is quick."""
    return sum(_add(trial, document, embedder) for document in documents)


def build_indexes(trial: Trial) -> None:
    """After the last document: the vector and the word index."""
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


def _add(trial: Trial, document: TrialDocument, embedder: Embedder) -> int:
    chunked = chunk_document(document.parsed, title=document.title, counter=embedder)
    vectors = _vectors([draft.embedding_text for draft in chunked.chunks], embedder)
    with transaction.atomic():
        version = _version(trial, document, chunk_count=len(chunked.chunks))
        store_chunks(trial.generation, version, chunked)
        cutting = recutting.enter(trial.collection.pk)
        rows = [
            tables.IndexRow(
                chunk_id=chunk.pk,
                vector=vectors[bytes(chunk.text_hash)],
                weights=bm25.weights(
                    analyze(chunk.embedding_text, cutting.terms),
                    average_length=trial.generation.average_length,
                ),
            )
            for chunk in Chunk.objects.filter(version=version).order_by("order")
        ]
        tables.insert_rows(
            trial.generation.number,
            document_id=version.document_id,
            scope_id=trial.collection.scope_id,
            rows=rows,
        )
    return len(rows)


def _version(trial: Trial, document: TrialDocument, *, chunk_count: int) -> DocumentVersion:
    stored = Document.objects.create(
        collection=trial.collection,
        scope_id=trial.collection.scope_id,
        source_key=document.key,
        source_digest=hashlib.sha256(document.key.encode()).hexdigest(),
        title=document.title,
        language=document.parsed.language,
    )
    version = DocumentVersion.objects.create(
        document=stored,
        number=1,
        blob="",
        file_name=document.key[-500:],
        size_bytes=0,
        state=VersionState.LIVE,
        chunk_count=chunk_count,
        published_at=timezone.now(),
    )
    stored.active_version = stored.latest_version = version
    stored.save(update_fields=["active_version", "latest_version"])
    return version


def _vectors(texts: Sequence[str], embedder: Embedder) -> dict[bytes, NDArray[np.float32]]:
    by_hash = {text_hash(text): text for text in texts}
    vectors = cached_vectors(embedder, list(by_hash))
    missing = [key for key in by_hash if key not in vectors]
    for start in range(0, len(missing), EMBED_SLICE):
        part = missing[start : start + EMBED_SLICE]
        fresh = embed_texts(embedder, {key: by_hash[key] for key in part})
        vectors |= {key: read.vector for key, read in fresh.items()}
    return vectors
