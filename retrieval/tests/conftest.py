"""A library of documents put straight into the index, a fixed cast, and an embedder without a model."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from django.contrib.auth.models import Permission as DjangoPermission

from accounts.models import AccessScope, User, UserScopeGrant
from accounts.principals import principal_of
from accounts.values import Permission, Principal
from ingestion.embedding import registry
from ingestion.indexing import bm25, tables
from ingestion.indexing.analyzer import analyze, term_id
from ingestion.models import (
    Chunk,
    Collection,
    Document,
    DocumentVersion,
    Element,
    IndexGeneration,
    Section,
    VersionState,
)
from kb_platform.net.breaker import Breaker
from kb_platform.testing.asgi import AsgiSite, serve
from retrieval import question_vector

DIMENSION = 64


class WordBagEmbedder:
    """Texts that share tokens are near. Counts its calls, and can be told to fail."""

    fingerprint = "word bag"
    dimension = DIMENSION
    max_tokens = 512

    def __init__(self) -> None:
        self.is_broken = False
        self.queries: list[str] = []

    def embed_documents(self, texts):
        return np.stack([self._vector(text) for text in texts])

    def embed_query(self, text):
        if self.is_broken:
            raise RuntimeError("no model")
        self.queries.append(text)
        return self._vector(text)

    def raw_cosines(self, query, query_vector, texts, vectors):
        return vectors @ query_vector

    def count_tokens(self, text):
        return len(text) + 4

    def count_tokens_batch(self, texts):
        return [self.count_tokens(text) for text in texts]

    def _vector(self, text):
        vector = np.full(DIMENSION, 0.01, dtype=np.float32)
        for token in analyze(text):
            vector[term_id(token) % DIMENSION] += 1
        return (vector / np.linalg.norm(vector)).astype(np.float32)


@dataclass
class Library:
    """Collections and documents as ingestion leaves them, made without parsing."""

    embedder: WordBagEmbedder
    generation: IndexGeneration
    made: int = field(default=0)

    def collection(self, name: str, *readers: Principal) -> Collection:
        scope = AccessScope.objects.create()
        for reader in readers:
            self.share(scope, reader)
        return Collection.objects.create(name=name, scope=scope)

    def share(self, scope: AccessScope, reader: Principal, level: Permission = Permission.VIEW) -> None:
        permission = DjangoPermission.objects.get(
            codename=level.value, content_type__app_label="accounts", content_type__model="accessscope"
        )
        UserScopeGrant.objects.create(user_id=reader.user_id, permission=permission, content_object=scope)

    def revoke(self, scope: AccessScope, reader: Principal) -> None:
        UserScopeGrant.objects.filter(user_id=reader.user_id, content_object=scope).delete()

    def document(
        self, collection: Collection, title: str, *texts: str, kind: str = "paragraph", **fields
    ) -> Document:
        """A live document with one chunk and one element for each text."""
        self.made += 1
        document = Document.objects.create(
            collection=collection,
            scope_id=collection.scope_id,
            title=title,
            source_key=f"{title}-{self.made}",
            source_digest=f"{self.made:064}",
            **fields,
        )
        self.publish(document, *texts, kind=kind)
        return document

    def publish(self, document: Document, *texts: str, kind: str = "paragraph") -> None:
        """A new version in force; the chunks and index rows of the old one go."""
        number = document.versions.count() + 1
        version = DocumentVersion.objects.create(
            document=document,
            number=number,
            blob="0" * 64,
            file_name=document.title,
            size_bytes=1,
            state=VersionState.LIVE,
            chunk_count=len(texts),
        )
        section = Section.objects.create(
            version=version, order=0, text="\n".join(texts), token_count=1, first_element=0,
            last_element=len(texts),
        )  # fmt: skip
        Element.objects.bulk_create(
            [
                Element(version=version, order=order, kind=kind, text=text, page=1)
                for order, text in enumerate(texts)
            ]
        )
        chunks = Chunk.objects.bulk_create(
            [self._chunk(document, version, section, order, text) for order, text in enumerate(texts)]
        )
        tables.delete_rows(self.generation.number, document.pk)
        if document.active_version_id:
            Chunk.objects.filter(version=document.active_version_id).delete()
        vectors = self.embedder.embed_documents([chunk.embedding_text for chunk in chunks])
        rows = [
            tables.IndexRow(
                chunk_id=chunk.pk,
                vector=vector,
                weights=bm25.weights(
                    analyze(chunk.embedding_text), average_length=self.generation.average_length
                ),
            )
            for chunk, vector in zip(chunks, vectors, strict=True)
        ]
        tables.insert_rows(
            self.generation.number, document_id=document.pk, scope_id=document.scope_id, rows=rows
        )
        document.active_version = document.latest_version = version
        document.save()

    def _chunk(self, document, version, section, order, text) -> Chunk:
        embedding_text = f"{document.title}\n{text}"
        return Chunk(
            generation=self.generation,
            version=version,
            document=document,
            section=section,
            order=order,
            kind="text",
            text=text,
            embedding_text=embedding_text,
            text_hash=hashlib.sha256(embedding_text.encode()).digest(),
            heading_path=[document.title],
            token_count=10,
            language="en",
            first_element=order,
            last_element=order,
            page=1,
            boxes=[{"page": 1, "x0": 1, "y0": 1, "x1": 9, "y1": 9, "page_width": 99, "page_height": 99}],
        )


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> Iterator[WordBagEmbedder]:
    embedder = WordBagEmbedder()
    monkeypatch.setattr(question_vector, "BREAKER", Breaker("embedder"))
    former = registry.replace_embedder(embedder)
    yield embedder
    registry.replace_embedder(former)


@pytest.fixture
def library(transactional_db, embedder: WordBagEmbedder) -> Iterator[Library]:
    generation = IndexGeneration.objects.create(
        number=1,
        state=IndexGeneration.State.ACTIVE,
        embedder=embedder.fingerprint,
        dimension=DIMENSION,
        chunker_version="1",
        analyzer_version="1",
        average_length=10.0,
    )
    tables.drop_tables(1)
    tables.create_tables(1, DIMENSION)
    tables.build_indexes(1)
    yield Library(embedder=embedder, generation=generation)
    tables.drop_tables(1)


@pytest.fixture
def person(transactional_db) -> Callable[..., Principal]:
    """Make an account and take its principal."""

    def make(name: str, **fields) -> Principal:
        return principal_of(User.objects.create_user(f"{name}@example.com", "pw", name=name, **fields))

    return make


@pytest.fixture
def reader(person) -> Principal:
    return person("reader")


@pytest.fixture
def outsider(person) -> Principal:
    return person("outsider")


@pytest.fixture
def site(transactional_db) -> Iterator[AsgiSite]:
    """The site on a socket, in this process, for what the test client cannot do: streams."""
    with serve() as running:
        yield running
