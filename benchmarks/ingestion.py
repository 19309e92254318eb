"""Ingestion of Markdown by the real workers against the embedder's own speed: one JSON object on standard output.

Run as `python -m benchmarks.ingestion [FILES]` from the project folder; it uses a data folder of its own. The ratio is
what counts: both figures come from the same machine, minutes apart.
"""

import json
import os
import random
import sys
import tempfile
import time
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

from django.db.models import Max, Min

from accounts.acting import acting_principal
from benchmarks.embedder import chinese, english
from ingestion import services
from ingestion.blobs import store
from ingestion.embedding.registry import get_embedder
from ingestion.models import UNFINISHED, Chunk, DocumentVersion, IngestJob
from ingestion.values import SourceFile
from kb_platform.embedded.session import ensure_services


def markdown(number: int, rng: random.Random) -> bytes:
    """A file of about eight chunks, every second one Chinese."""
    paragraph = (lambda: chinese(160, rng)) if number % 2 else (lambda: english(70, rng))
    sections = [
        f"## {number}.{part} {english(3, rng)}\n\n" + "\n\n".join(paragraph() for _ in range(4))
        for part in range(8)
    ]
    return f"# Manual {number}\n\n{english(8, rng)}\n\n".encode() + "\n\n".join(sections).encode()


def ingest(files: list[bytes]) -> float:
    """Seconds from the first claim to the last publication, with every worker started and warm."""
    principal = acting_principal(None)
    collection = services.create_collection(actor=principal, name="Benchmark")
    uploads(principal, collection, [markdown(9999, random.Random(0))])
    wait()
    started = time.perf_counter()
    uploads(principal, collection, files)
    wait()
    wall = time.perf_counter() - started
    span = IngestJob.objects.exclude(version__file_name="warm.md").aggregate(
        a=Min("started_at"), b=Max("ended_at")
    )
    assert not DocumentVersion.objects.exclude(state="live").exists()
    return min(wall, (span["b"] - span["a"]).total_seconds())


def uploads(principal, collection, files: list[bytes]) -> None:
    for number, content in enumerate(files):
        name = f"{number}.md" if len(files) > 1 else "warm.md"
        services.upload_document(
            actor=principal, collection=collection, file=SourceFile(name=name, blob=store([content]))
        )


def wait() -> None:
    while DocumentVersion.objects.filter(state__in=UNFINISHED).exists():
        time.sleep(0.1)


def main(count: int) -> None:
    rng = random.Random(7)
    files = [markdown(number, rng) for number in range(count)]
    with ensure_services(workers=True):
        seconds = ingest(files)
        texts = list(
            Chunk.objects.exclude(version__file_name="warm.md").values_list("embedding_text", flat=True)
        )
    embedder = get_embedder()
    embedder.embed_documents(texts[:16])
    started = time.perf_counter()
    embedder.embed_documents(texts)
    raw = time.perf_counter() - started
    result = {
        "files": count,
        "chunks": len(texts),
        "bytes": sum(map(len, files)),
        "chunks_per_s": round(len(texts) / seconds, 1),
        "embedder_chunks_per_s": round(len(texts) / raw, 1),
        "share_of_embedder_speed": round(raw / seconds, 3),
    }
    print(json.dumps(result))
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "ingestion.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
