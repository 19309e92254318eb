"""Hybrid search over synthetic chunks: how fast and how complete, whatever share of them a reader may see.

Run as `python -m benchmarks.search [CHUNKS]` (default 100,000) from the project folder; it uses a data folder of its own
and writes benchmarks/results/search.json. Words follow Zipf's law, vectors lie around 200 topics.

What is compared was run beside each other, question by question: `hybrid_to_bare` is the median time of a whole search
over the sum of the medians of its two bare SQL statements and of embedding the question; `times_faster` compares BM25
with `ts_rank_cd` over a tsvector of the same texts, under the same condition of access.
"""

import itertools
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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
from django.contrib.auth.models import Permission
from django.db import connection, transaction

from accounts.models import User, UserScopeGrant
from accounts.permissions.grants import create_scope
from accounts.principals import principal_of
from accounts.values import Principal
from ingestion.embedding.registry import get_embedder
from ingestion.indexing import bm25, tables
from ingestion.indexing.analyzer import analyze, distinct_query_terms
from ingestion.indexing.generations import create_generation
from ingestion.models import (
    Chunk,
    Collection,
    Document,
    DocumentVersion,
    IndexGeneration,
    Section,
    VersionState,
)
from kb_platform.embedded.session import ensure_services
from retrieval.channels.dense import Plan, choose_plan, search_dense
from retrieval.channels.lexical import any_of, read_statistics, search_lexical
from retrieval.filters import Filters
from retrieval.pipeline import search
from retrieval.reach import Reach, resolve_reach
from retrieval.search_settings import current
from retrieval.snapshot import read_snapshot
from retrieval.values import Mode, SearchRequest

CHUNKS_A_DOCUMENT = 10
WORDS_A_CHUNK = (60, 140)
VOCABULARY = 30_000
TOPICS = 200
SHARES = (1.0, 0.5, 0.05, 0.005, 0.0005)  # of the chunks, visible to a reader
DOCUMENTS_AT_ONCE = 200
TOP, POOL = 10, 100


class Corpus:
    """Words by Zipf's law, a fifth of them Chinese; vectors around the embedded texts of topics."""

    def __init__(self, embedder, seed: int = 7) -> None:
        self.random = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        han = [chr(code) for code in range(0x4E00, 0x4E00 + 400)]
        self.words = [
            "".join(self.random.choices(han, k=2))
            if number % 5 == 0
            else "".join(self.random.choices("aeiourstlnmdkp", k=3 + number % 6))
            for number in range(VOCABULARY)
        ]
        self.tokens = [analyze(word) for word in self.words]
        self.weights = list(itertools.accumulate(1 / (rank + 8) for rank in range(VOCABULARY)))
        self.centres = embedder.embed_documents([self.text(self.draw(20)) for _ in range(TOPICS)])

    def draw(self, words: int) -> list[int]:
        return self.random.choices(range(VOCABULARY), cum_weights=self.weights, k=words)

    def text(self, drawn: list[int]) -> str:
        return " ".join(self.words[number] for number in drawn)

    def mixed_question(self) -> str:
        """Two common, two middling and two rare words."""
        parts = (range(5, 60), range(200, 2_000), range(8_000, VOCABULARY))
        return self.text([self.random.choice(part) for part in parts for _ in range(2)])

    def common_question(self) -> str:
        return self.text(self.random.sample(range(60), 6))

    def vectors(self, count: int) -> np.ndarray:
        centre = self.centres[self.numpy.integers(TOPICS, size=count)]
        vectors = centre + self.numpy.normal(scale=0.7 / centre.shape[1] ** 0.5, size=centre.shape)
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@dataclass(frozen=True)
class Site:
    generation: IndexGeneration
    readers: dict[float, Principal]


def fill(corpus: Corpus, embedder, chunk_count: int) -> Site:
    """A generation of its own, in scopes so that each reader sees a share of the documents and all of the smaller ones."""
    admin = principal_of(User.objects.get(email="bench@example.com"))
    generation = create_generation(embedder, number=2, state=IndexGeneration.State.BUILDING)
    scopes = [create_scope(actor=admin) for _ in SHARES]
    collections = [
        Collection.objects.create(name=f"Benchmark {n}", scope=scope) for n, scope in enumerate(scopes)
    ]
    documents = chunk_count // CHUNKS_A_DOCUMENT
    placed = sorted((place_of(number / documents) for number in range(documents)), reverse=True)
    corpus.random.shuffle(placed)
    for start in range(0, documents, DOCUMENTS_AT_ONCE):
        with transaction.atomic():
            add_documents(
                corpus, generation, [collections[n] for n in placed[start : start + DOCUMENTS_AT_ONCE]]
            )
    readers = {share: reader(scopes[place:], share) for place, share in enumerate(SHARES)}
    return Site(generation=generation, readers=readers)


def place_of(position: float) -> int:
    """The scope of a document: the last reader sees the first 0.05 % of them, each one before a larger share."""
    return max(place for place, share in enumerate(SHARES) if position < share)


def reader(scopes, share: float) -> Principal:
    user = User.objects.create_user(f"reader-{share}@example.com")
    view = Permission.objects.get(codename="view", content_type__app_label="accounts")
    UserScopeGrant.objects.bulk_create(
        UserScopeGrant(user=user, permission=view, content_object=scope) for scope in scopes
    )
    return principal_of(user)


def add_documents(corpus: Corpus, generation, collections: list[Collection]) -> None:
    documents = Document.objects.bulk_create(
        Document(collection=collection, scope_id=collection.scope_id, title="Document", source_key=f"{uid}",
                 source_digest=f"{corpus.random.getrandbits(250):064x}")
        for uid, collection in enumerate(collections, start=corpus.random.getrandbits(60))
    )  # fmt: skip
    versions = DocumentVersion.objects.bulk_create(
        DocumentVersion(document=document, number=1, blob="", file_name="f", size_bytes=1, state=VersionState.LIVE,
                        chunk_count=CHUNKS_A_DOCUMENT)
        for document in documents
    )  # fmt: skip
    for document, version in zip(documents, versions, strict=True):
        document.active_version = document.latest_version = version
    Document.objects.bulk_update(documents, ["active_version", "latest_version"])
    sections = Section.objects.bulk_create(
        Section(version=version, order=0, text="", token_count=1, first_element=0, last_element=9)
        for version in versions
    )
    drawn = [
        corpus.draw(corpus.random.randint(*WORDS_A_CHUNK)) for _ in range(len(documents) * CHUNKS_A_DOCUMENT)
    ]
    chunks = Chunk.objects.bulk_create(
        Chunk(
            generation=generation, version=section.version, document=section.version.document, section=section,
            order=order, kind="text", text=text, embedding_text=text, text_hash=bytes(32),
            heading_path=["Synthetic", "Text"], token_count=384, language="en", first_element=order,
            last_element=order, page=order + 1, boxes=[],
        )
        for (section, order), text in zip(
            itertools.product(sections, range(CHUNKS_A_DOCUMENT)), map(corpus.text, drawn), strict=True
        )
    )  # fmt: skip
    tables.load_rows(
        generation.number,
        [
            tables.PlacedRow(
                document_id=chunk.document_id,
                scope_id=chunk.document.scope_id,
                row=tables.IndexRow(
                    chunk_id=chunk.pk,
                    vector=vector,
                    weights=bm25.weights(
                        [token for word in words for token in corpus.tokens[word]],
                        average_length=generation.average_length,
                    ),
                ),
            )
            for chunk, words, vector in zip(chunks, drawn, corpus.vectors(len(chunks)), strict=True)
        ],
    )


def milliseconds(run: Callable[[], object]) -> float:
    begun = time.perf_counter()
    run()
    return (time.perf_counter() - begun) * 1000


@dataclass(frozen=True)
class Question:
    """A question with all that its two statements need, made beforehand."""

    text: str
    terms: list[str]
    vector: np.ndarray


def bare_times(site: Site, reach: Reach, embedder, asked: Question) -> dict[str, float]:
    """The statements alone, in a transaction that is open already, and the question's vector alone."""
    number = site.generation.number
    with read_snapshot() as cursor:
        known = read_statistics(cursor, number, reach.scopes, asked.terms)
        plan = choose_plan(reachable=known.chunk_count, everything=known.all_chunks)
        return {
            "dense_sql": milliseconds(
                lambda: search_dense(cursor, number, asked.vector, reach, plan=plan, limit=POOL)
            ),
            "lexical_sql": milliseconds(lambda: search_lexical(cursor, number, known, reach, POOL)),
            "embedding": milliseconds(lambda: embedder.embed_query(asked.text)),
        }


def compare_times(site: Site, principal: Principal, embedder, questions: list[Question]) -> dict[str, float]:
    reach = resolve_reach(principal, Filters())
    knobs = current().changed(cache_seconds=0)
    rows = []
    for asked in questions:
        row = bare_times(site, reach, embedder, asked)
        request = SearchRequest(text=asked.text, mode=Mode.HYBRID, settings=knobs)
        row["hybrid"] = milliseconds(
            lambda request=request: search(request, principal=principal, generation=site.generation)
        )
        rows.append(row)
    median = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    bare = median["dense_sql"] + median["lexical_sql"] + median["embedding"]
    p95 = statistics.quantiles([row["hybrid"] for row in rows], n=20)[-1]
    return {
        **{f"{name}_p50_ms": round(value, 2) for name, value in median.items()},
        "hybrid_p95_ms": round(p95, 2),
        "hybrid_to_bare": round(median["hybrid"] / bare, 2),
    }


def dense_recall(site: Site, principal: Principal, vectors: np.ndarray) -> dict[str, object]:
    """Agreement of the plan that a search takes with an exact scan; `short`: searches that gave fewer than there are."""
    number = site.generation.number
    reach = resolve_reach(principal, Filters())
    found, short = [], 0
    with read_snapshot() as cursor:
        known = read_statistics(cursor, number, reach.scopes, [])
        plan = choose_plan(reachable=known.chunk_count, everything=known.all_chunks)
        for vector in vectors:
            exact = search_dense(cursor, number, vector, reach, plan=Plan.EXACT, limit=POOL)
            chosen = search_dense(cursor, number, vector, reach, plan=plan, limit=POOL)
            short += len(chosen) < min(POOL, known.chunk_count)
            best = {hit.chunk_id for hit in exact[:TOP]}
            found.append(len(best & {hit.chunk_id for hit in chosen[:TOP]}) / len(best))
    return {
        "visible_chunks": known.chunk_count,
        "plan": plan.value,
        f"dense_recall@{TOP}": round(statistics.fmean(found), 4),
        "short": short,
    }


def make_full_text() -> None:
    """What a search without BM25 would use: a tsvector with positions of the same texts, with the same access column."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("set local statement_timeout = 0")
        cursor.execute(
            "create table full_text as select c.id as chunk_id, l.scope_id, to_tsvector('simple', c.text) as words "
            "from ingestion_chunk c join lexical_g2 l on l.chunk_id = c.id"
        )
        cursor.execute("create index on full_text using gin (words)")
        cursor.execute("create index on full_text (scope_id)")
        cursor.execute("analyze full_text")


def compare_lexical(site: Site, principal: Principal, questions: list[str]) -> dict[str, float]:
    reach = resolve_reach(principal, Filters())
    ours, theirs = [], []
    with read_snapshot() as cursor:
        for text in questions:
            terms = distinct_query_terms(text)
            known = read_statistics(cursor, site.generation.number, reach.scopes, terms)
            ours.append(
                milliseconds(
                    lambda known=known: search_lexical(cursor, site.generation.number, known, reach, POOL)
                )
            )
            any_word = any_of(text.split())
            theirs.append(
                milliseconds(
                    lambda any_word=any_word: cursor.execute(
                        "select chunk_id, ts_rank_cd(words, %s::tsquery) as rank from full_text "
                        "where words @@ %s::tsquery and scope_id = any(%s::int[]) order by rank desc limit %s",
                        [any_word, any_word, list(reach.scopes), POOL],
                    )
                )
            )
    bm25_ms, cd_ms = statistics.median(ours), statistics.median(theirs)
    return {
        "bm25_p50_ms": round(bm25_ms, 2),
        "ts_rank_cd_p50_ms": round(cd_ms, 2),
        "times_faster": round(cd_ms / bm25_ms, 1),
    }


def prepared(corpus: Corpus, embedder, count: int) -> list[Question]:
    texts = [corpus.text(corpus.draw(corpus.random.randint(3, 8))) for _ in range(count)]
    return [
        Question(text=text, terms=distinct_query_terms(text), vector=embedder.embed_query(text))
        for text in texts
    ]


def measure(chunk_count: int) -> dict[str, object]:
    embedder = get_embedder()
    corpus = Corpus(embedder)
    filling = time.perf_counter()
    site = fill(corpus, embedder, chunk_count)
    indexing = time.perf_counter()
    tables.count_all(site.generation.number)
    tables.build_indexes(site.generation.number)
    with connection.cursor() as cursor:
        cursor.execute("analyze")
    report: dict[str, object] = {
        "chunks": chunk_count,
        "load_s": round(indexing - filling, 1),
        "index_s": round(time.perf_counter() - indexing, 1),
        **sizes(),
    }
    questions, vectors = prepared(corpus, embedder, 60), corpus.vectors(50)
    visible = {}
    for share, principal in site.readers.items():
        compare_times(site, principal, embedder, questions[:10])  # warm
        visible[f"{share:.2%}"] = {
            **dense_recall(site, principal, vectors),
            **compare_times(site, principal, embedder, questions),
        }
    report["visible"] = visible
    make_full_text()
    everybody = site.readers[1.0]
    report["lexical"] = {
        name: compare_lexical(site, everybody, [make() for _ in range(20)])
        for name, make in (("mixed", corpus.mixed_question), ("common", corpus.common_question))
    }
    return report


def sizes() -> dict[str, float]:
    with connection.cursor() as cursor:
        cursor.execute("select pg_total_relation_size('dense_g2'), pg_total_relation_size('lexical_g2')")
        dense, lexical = cursor.fetchone()
    return {"dense_mb": round(dense / 1e6), "lexical_mb": round(lexical / 1e6)}


def main(chunk_count: int) -> None:
    with ensure_services():
        report = measure(chunk_count)
    text = json.dumps(report, indent=1)
    print(text)
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "search.json").write_text(text + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
