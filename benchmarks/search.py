"""Hybrid search over synthetic chunks, and where its time goes: one JSON object on standard output.

Run as `python -m benchmarks.search [CHUNKS]` (default 20,000) from the project folder; it uses a data folder of its own.
`outside` is what is neither PostgreSQL (client-side time of all statements) nor waiting for the question's vector.
"""

import itertools
import json
import os
import random
import statistics
import sys
import tempfile
import time

FOLDER = tempfile.TemporaryDirectory(prefix="zhiku-bench-")
os.environ.update(
    KB_DATA_DIR=FOLDER.name,
    KB_SAMPLES="0",
    KB_ADMIN_EMAIL="bench@example.com",
    KB_ADMIN_PASSWORD="bench only, never kept",
)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_platform.settings.production")

import django

django.setup()

import numpy as np
from django.db import connection, transaction

from accounts.models import User
from accounts.permissions.grants import create_scope
from accounts.principals import principal_of
from ingestion.embedding.registry import get_embedder
from ingestion.indexing import bm25, tables
from ingestion.indexing.analyzer import analyze
from ingestion.indexing.generations import active_generation
from ingestion.models import Chunk, Collection, Document, DocumentVersion, Section, VersionState
from kb_platform.embedded.session import ensure_services
from retrieval.pipeline import search
from retrieval.values import Mode, SearchRequest

CHUNKS_A_DOCUMENT = 10
WORDS_A_CHUNK = 180
VOCABULARY = 30_000
TOPICS = 200
SHARES = (1.0, 0.5, 0.05)  # of the chunks, visible to a reader


class Corpus:
    """Words by Zipf's law, a fifth of them Chinese; vectors in clusters."""

    def __init__(self, dimension: int, seed: int = 7) -> None:
        self.random = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        han = [chr(code) for code in range(0x4E00, 0x4E00 + 400)]
        self.words = [
            "".join(self.random.choices(han, k=2))
            if number % 5 == 0
            else "".join(self.random.choices("aeiourstlnmdkp", k=3 + number % 6))
            for number in range(VOCABULARY)
        ]
        self.weights = list(itertools.accumulate(1 / (rank + 8) for rank in range(VOCABULARY)))
        self.centres = self.numpy.normal(size=(TOPICS, dimension))

    def text(self, words: int) -> str:
        return " ".join(self.random.choices(self.words, cum_weights=self.weights, k=words))

    def vectors(self, count: int) -> np.ndarray:
        centre = self.centres[self.numpy.integers(TOPICS)]
        vectors = centre + self.numpy.normal(size=(count, centre.size))
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def fill(corpus: Corpus, chunk_count: int) -> dict[float, User]:
    """Documents in one scope a twentieth; readers who see the shares."""
    admin = principal_of(User.objects.get(email="bench@example.com"))
    generation = active_generation()
    scopes = [create_scope(actor=admin) for _ in range(20)]
    collections = [
        Collection.objects.create(name=f"Benchmark {n}", scope=scope) for n, scope in enumerate(scopes)
    ]
    for number in range(chunk_count // CHUNKS_A_DOCUMENT):
        with transaction.atomic():
            add_document(corpus, generation, collections[number % 20], number)
    with connection.cursor() as cursor:
        cursor.execute("analyze")
    return {share: reader(scopes[: max(1, round(20 * share))], share) for share in SHARES}


def reader(scopes, share: float) -> User:
    from django.contrib.auth.models import Permission

    from accounts.models import UserScopeGrant

    user = User.objects.create_user(f"reader-{share}@example.com")
    view = Permission.objects.get(codename="view", content_type__app_label="accounts")
    UserScopeGrant.objects.bulk_create(
        UserScopeGrant(user=user, permission=view, content_object=scope) for scope in scopes
    )
    return user


def add_document(corpus: Corpus, generation, collection: Collection, number: int) -> None:
    document = Document.objects.create(
        collection=collection,
        scope_id=collection.scope_id,
        title=f"Document {number}",
        source_key=str(number),
        source_digest=f"{number:064}",
    )
    version = DocumentVersion.objects.create(
        document=document, number=1, blob="", file_name="f", size_bytes=1, state=VersionState.LIVE,
        chunk_count=CHUNKS_A_DOCUMENT,
    )  # fmt: skip
    section = Section.objects.create(
        version=version, order=0, text="", token_count=1, first_element=0, last_element=9
    )
    texts = [corpus.text(WORDS_A_CHUNK) for _ in range(CHUNKS_A_DOCUMENT)]
    chunks = Chunk.objects.bulk_create(
        Chunk(
            generation=generation, version=version, document=document, section=section, order=order, kind="text",
            text=text, embedding_text=text, text_hash=bytes(32), heading_path=["Synthetic", "Text"], token_count=384,
            language="en", first_element=order, last_element=order, page=order + 1, boxes=[],
        )
        for order, text in enumerate(texts)
    )  # fmt: skip
    rows = [
        tables.IndexRow(
            chunk_id=chunk.pk,
            vector=vector,
            weights=bm25.weights(analyze(chunk.text), average_length=generation.average_length),
        )
        for chunk, vector in zip(chunks, corpus.vectors(len(chunks)), strict=True)
    ]
    tables.insert_rows(generation.number, document_id=document.pk, scope_id=collection.scope_id, rows=rows)
    document.active_version = document.latest_version = version
    document.save()


class DatabaseClock:
    """Milliseconds spent in statements."""

    def __init__(self) -> None:
        self.spent_ms = 0.0
        self.statements = 0

    def __call__(self, execute, sql, params, many, context):
        begun = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            self.spent_ms += (time.perf_counter() - begun) * 1000
            self.statements += 1


def measure(principal, questions: list[str], mode: Mode) -> dict[str, float]:
    rows = []
    for question in questions:
        clock = DatabaseClock()
        begun = time.perf_counter()
        with connection.execute_wrapper(clock):
            result = search(SearchRequest(text=question, mode=mode), principal=principal)
        total = (time.perf_counter() - begun) * 1000
        waited = result.timings_ms.get("wait_for_vector", 0.0)
        rows.append(
            {
                "total": total,
                "postgres": clock.spent_ms,
                "statements": clock.statements,
                "wait_for_vector": waited,
                "outside": total - clock.spent_ms - waited,
                **{
                    name: result.timings_ms.get(name, 0.0)
                    for name in ("lexical", "dense", "signals", "hydrate")
                },
            }
        )
    median = {name: round(statistics.median(row[name] for row in rows), 2) for name in rows[0]}
    totals = sorted(row["total"] for row in rows)
    return {
        "p50_ms": median["total"],
        "p95_ms": round(totals[int(0.95 * len(totals))], 2),
        "outside_share": round(sum(row["outside"] for row in rows) / sum(totals), 3),
        "median_ms": median,
    }


def main(chunk_count: int) -> None:
    with ensure_services():
        embedder = get_embedder()
        corpus = Corpus(embedder.dimension)
        begun = time.perf_counter()
        readers = fill(corpus, chunk_count)
        filled = time.perf_counter() - begun
        questions = [corpus.text(corpus.random.randint(3, 8)) for _ in range(120)]
        report = {"chunks": chunk_count, "fill_s": round(filled, 1), "visible": {}}
        for share, user in readers.items():
            principal = principal_of(user)
            measure(principal, questions[:20], Mode.HYBRID)  # warm
            report["visible"][str(share)] = {mode.value: measure(principal, questions, mode) for mode in Mode}
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
