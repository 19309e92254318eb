"""A new title is in the index soon, without reading the file again; other metadata moves nothing at all."""

import pytest

from accounts.principals import principal_of
from ingestion import pipeline, rechunking, services
from ingestion.models import Chunk, Document, DocumentVersion, IngestJob
from ingestion.tests.conftest import run_jobs
from ingestion.values import Attributes

pytestmark = pytest.mark.django_db
POLICY = b"# Visitors\n\nVisitors sign in at gate 4.\n"


def follow(embedder):
    while turn := rechunking.take_turn():
        pipeline.rechunk(turn, embedder)


def embedded(document):
    return list(Chunk.objects.filter(document=document).values_list("embedding_text", flat=True))


def test_a_new_title_is_embedded_without_parsing(ingest, owner, embedder, monkeypatch):
    document = ingest("visitors.md", POLICY)
    monkeypatch.setattr(pipeline, "parse_file", lambda *_args, **_options: pytest.fail("parsed again"))
    services.update_document(
        actor=principal_of(owner), document=document, attributes=Attributes(title="Gate rules")
    )
    assert DocumentVersion.objects.get(document=document).state == "live"  # found all the while
    follow(embedder)
    assert embedded(document)[0].startswith("Gate rules")
    assert DocumentVersion.objects.filter(document=document).count() == 1


def test_other_metadata_embeds_nothing(ingest, owner, embedder):
    document = ingest("visitors.md", POLICY)
    services.update_document(
        actor=principal_of(owner), document=document, attributes=Attributes(tags=("a",), department="Site")
    )
    assert rechunking.take_turn() is None
    assert not IngestJob.objects.filter(ended_at=None).exists()


def test_a_title_changed_while_the_file_is_read_reaches_the_index(upload, owner, embedder):
    document = upload("visitors.md", POLICY).document
    from ingestion import ledger

    (lease,) = ledger.claim(IngestJob.Stage.PARSE)
    pipeline.read(lease, embedder)
    services.update_document(
        actor=principal_of(owner), document=document, attributes=Attributes(title="Gate rules")
    )
    run_jobs(embedder)
    follow(embedder)
    assert embedded(document)[0].startswith("Gate rules")
    assert Document.objects.get(pk=document.pk).retitled_at is None
