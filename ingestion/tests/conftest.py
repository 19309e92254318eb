"""An index made by a cheap embedder, and documents that go through the real pipeline."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from accounts.models import User
from accounts.principals import principal_of
from ingestion import ledger, pipeline, services
from ingestion.blobs import store
from ingestion.indexing.generations import ensure_first_generation
from ingestion.models import Collection, Document, DocumentVersion, IndexGeneration, IngestJob
from ingestion.testing import HashingEmbedder, use_hashing_embedder
from ingestion.values import Attributes, SourceFile


@pytest.fixture
def embedder() -> Iterator[HashingEmbedder]:
    with use_hashing_embedder() as embedder:
        yield embedder


@pytest.fixture
def generation(db: None, embedder: HashingEmbedder, settings, tmp_path: Path) -> IndexGeneration:
    """Generation 1; its tables go with the test's transaction."""
    settings.BLOB_DIR = tmp_path / "blobs"
    return ensure_first_generation(embedder)


@pytest.fixture
def collection(generation: IndexGeneration, owner: User) -> Collection:
    return services.create_collection(actor=principal_of(owner), name="Manuals")


@pytest.fixture
def upload(collection: Collection, owner: User) -> Callable[..., services.Upload]:
    """`upload(name, content)`: an upload by the owner, not yet read."""

    def upload_file(
        name: str, content: bytes, *, into: Collection | None = None, **attributes
    ) -> services.Upload:
        return services.upload_document(
            actor=principal_of(owner),
            collection=into or collection,
            file=SourceFile(name=name, blob=store([content])),
            attributes=Attributes(**attributes),
        )

    return upload_file


def run_jobs(embedder: HashingEmbedder) -> None:
    """What the workers do, in this process: read everything that waits, then embed and publish it."""
    while leases := ledger.claim(IngestJob.Stage.PARSE, limit=50):
        for lease in leases:
            pipeline.read(lease, embedder)
    while leases := ledger.claim_batch(IngestJob.Stage.EMBED, most_jobs=50, most_chunks=500):
        pipeline.embed_and_publish(leases, embedder)


@pytest.fixture
def ingest(upload: Callable[..., services.Upload], embedder: HashingEmbedder) -> Callable[..., Document]:
    """`ingest(name, content)`: upload, read, embed and publish; the document as it stands then."""

    def ingest_file(name: str, content: bytes, **options) -> Document:
        uploaded = upload(name, content, **options)
        run_jobs(embedder)
        return Document.objects.get(pk=uploaded.document.pk)

    return ingest_file


def latest(document: Document) -> DocumentVersion:
    return DocumentVersion.objects.filter(document=document).order_by("-number")[0]
