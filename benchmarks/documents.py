"""The list of documents with 10,000 of them, for a reader who sees half: server time and queries of each kind of page.

Run as `python -m benchmarks.documents [DOCUMENTS]` from the project folder; it uses a data folder of its own. One JSON
object on standard output; each time is the median of the runs, in milliseconds, from request to rendered page; `cpu_ms` is
the web process's own share of it, which other work on the machine does not lengthen as much.
"""

import hashlib
import json
import os
import statistics
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

FOLDER = tempfile.TemporaryDirectory(prefix="zhiku-bench-")
os.environ.update(KB_DATA_DIR=FOLDER.name, KB_SAMPLES="0")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_platform.settings.production")

import django

django.setup()

from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from accounts.permissions.grants import replace_grants
from accounts.principals import principal_of
from accounts.services import create_user
from accounts.values import GrantRequest, Holder, Permission, SystemActor
from ingestion import bulk, services
from ingestion.models import Collection, Document, DocumentVersion, IngestJob, VersionState
from ingestion.selectors import documents_for
from kb_platform.embedded.session import ensure_services

RUNS = 5
COLLECTIONS = 20
STATES = [VersionState.LIVE] * 17 + [
    VersionState.PARTLY_LIVE,
    VersionState.REJECTED,
    VersionState.QUARANTINED,
]
PAGES = {
    "first": "",
    "last": "page={last}",
    "by title": "sort=title",
    "by state, last page": "sort=-state&page={last}",
    "by passages": "sort=-passages",
    "one collection": "collection={collection}",
    "need attention": "view=attention",
    "mine by type and language": "view=mine&type=policy&language=zh",
    "text": "q=policy+77",
    "text that nothing holds": "q=zzzzzz",
}
SYSTEM = SystemActor(name="benchmark")


def fill(count: int) -> tuple[User, User, Collection]:
    """The owner of everything, a reader of every second collection, and one of those."""
    owner = create_user(actor=SYSTEM, email="owner@example.com", name="Owner")
    reader = create_user(actor=SYSTEM, email="reader@example.com", name="Reader")
    collections = []
    for number in range(COLLECTIONS):
        made = services.create_collection(actor=principal_of(owner), name=f"Collection {number}")
        if number % 2 == 0:
            grants = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.CONTRIBUTE)]
            replace_grants(actor=principal_of(owner), scope=made.scope, grants=grants)
        collections.append(made)
    documents = Document.objects.bulk_create(
        [
            _document(number, collections[number % COLLECTIONS], (owner, reader)[number % 3 == 0])
            for number in range(count)
        ],
        batch_size=2000,
    )
    versions = DocumentVersion.objects.bulk_create(
        [_version(number, document) for number, document in enumerate(documents)], batch_size=2000
    )
    now = timezone.now()
    IngestJob.objects.bulk_create(
        [IngestJob(version=version, ended_at=now - timedelta(hours=1)) for version in versions],
        batch_size=2000,
    )
    for document, version in zip(documents, versions, strict=True):
        document.latest_version = version
        if version.published_at:
            document.active_version = version
    Document.objects.bulk_update(documents, ["latest_version", "active_version"], batch_size=1000)
    with connection.cursor() as cursor:
        cursor.execute("analyze")
    return owner, reader, collections[0]


def _document(number: int, collection: Collection, owner: User) -> Document:
    title = f"{('差旅管理办法', 'Travel policy')[number % 2]} {number}"
    return Document(
        collection=collection,
        scope_id=collection.scope_id,
        source_key=title,
        source_digest=hashlib.sha256(title.encode()).hexdigest(),
        title=title,
        owner=owner,
        doc_type=("policy", "manual", "")[number % 3],
        language=("zh", "en")[number % 2],
        tags=["finance"],
    )


def _version(number: int, document: Document) -> DocumentVersion:
    state = STATES[number % len(STATES)]
    live = state in (VersionState.LIVE, VersionState.PARTLY_LIVE)
    return DocumentVersion(
        document=document,
        number=1,
        blob="0" * 64,
        file_name=f"file-{number}.pdf",
        size_bytes=100_000,
        state=state,
        chunk_count=number % 97,
        published_at=timezone.now() if live else None,
        quality={"pages": 12, "characters": 34_000, "warnings": []},
    )


def measure(user: User, collection: Collection, count: int) -> dict[str, dict[str, float]]:
    client = Client(headers={"host": "localhost"})
    client.force_login(user)
    visible = documents_for(principal_of(user)).count()
    results = {}
    for name, query in PAGES.items():
        address = "/manage/documents?" + query.format(last=-(-visible // 25), collection=collection.uid)
        client.get(address)
        spans, own = [], []
        for _ in range(RUNS):
            started, worked = time.perf_counter(), time.process_time()
            answer = client.get(address)
            spans.append(1000 * (time.perf_counter() - started))
            own.append(1000 * (time.process_time() - worked))
            assert answer.status_code == 200, answer
        with CaptureQueriesContext(connection) as captured:
            client.get(address)
        in_database = sum(float(entry["time"]) for entry in captured.captured_queries)
        results[name] = {
            "ms": round(statistics.median(spans), 1),
            "cpu_ms": round(statistics.median(own), 1),
            "database_ms": round(1000 * in_database, 1),
            "queries": len(captured),
        }
    return results


def measure_bulk(owner: User) -> dict[str, float]:
    """Seconds for changes of everything the owner has."""
    actor = principal_of(owner)
    spans = {}
    for name, verb in (
        ("archive", bulk.archive_documents),
        ("restore", bulk.restore_documents),
        ("reread", bulk.reread_documents),
        ("delete", bulk.delete_documents),
    ):
        started = time.perf_counter()
        outcome = verb(actor=actor, documents=documents_for(actor))
        spans[name] = {"documents": outcome.changed, "s": round(time.perf_counter() - started, 2)}
    return spans


def main(count: int) -> None:
    with ensure_services():
        call_command("collectstatic", verbosity=0, interactive=False)
        owner, reader, collection = fill(count)
        result = {
            "documents": count,
            "reader": measure(reader, collection, count),
            "owner": measure(owner, collection, count),
            "bulk": measure_bulk(owner),
        }
    print(json.dumps(result, ensure_ascii=False, indent=1))
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "documents.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
