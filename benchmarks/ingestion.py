"""What ingestion costs besides the embedder, by the real workers: one JSON object on standard output.

Run as `python -m benchmarks.ingestion [FOLDER or number of files]` from the project folder; it uses a data folder of its
own. A folder's Markdown files are read as they are; otherwise files are made. Three things in one run:

`share_of_embedder_cpu`: CPU seconds the bare model takes for the same chunk texts, sorted by length in the same batches,
in proportion to all that the workers, the parsing children, PostgreSQL and Valkey take from upload to publication. It
hardly depends on what else the machine does; `share_of_embedder_speed`, by the clock, does. `upload_cpu_s` is the part of
`cpu_s` that this process takes for the uploads themselves, which come before the first parse.
`short_texts`: seconds until the last of 646 short texts can be searched, from the first upload.
`changed_file`: chunks that are embedded when one section of a file changes.
"""

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Mapping
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

from accounts.acting import acting_principal
from benchmarks.embedder import chinese, english
from ingestion import services
from ingestion.blobs import store
from ingestion.embedding.registry import get_embedder
from ingestion.models import UNFINISHED, CachedVector, Chunk, DocumentVersion
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


SHORT_TEXTS = 646
LOOK_EVERY_S = 0.5  # each look costs CPU time too, which is counted
TICKS = os.sysconf("SC_CLK_TCK")


def short_text(number: int, rng: random.Random) -> bytes:
    """A question and its answer, every second one Chinese."""
    text = chinese(60, rng) if number % 2 else english(25, rng)
    return f"# {number}: {english(4, rng)}\n\n{text}\n".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    wall_s: float
    cpu_s: float
    upload_cpu_s: float = 0.0


def ingest(collection, files: Mapping[str, bytes]) -> Spent:
    """From the first upload to the last publication, with every worker started and warm."""
    cpu, own, started = tree_cpu_s(), time.process_time(), time.perf_counter()
    for name, content in files.items():
        services.upload_document(
            actor=acting_principal(None),
            collection=collection,
            file=SourceFile(name=name, blob=store([content])),
        )
    own = time.process_time() - own
    while DocumentVersion.objects.filter(state__in=UNFINISHED).exists():
        time.sleep(LOOK_EVERY_S)
    spent = Spent(wall_s=time.perf_counter() - started, cpu_s=tree_cpu_s() - cpu, upload_cpu_s=own)
    odd = DocumentVersion.objects.filter(document__collection=collection).exclude(
        state__in=("live", "partly_live", "superseded")
    )
    assert not odd.exists(), list(odd.values_list("file_name", "state", "reason_code"))[:5]
    return spent


def tree_cpu_s() -> float:
    """CPU seconds of this process and all below it, the ended ones included: workers, children, servers."""
    parents, ticks = {}, {}
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split() if entry.name.isdigit() else []
        except OSError:
            continue
        if fields:
            parents[int(entry.name)], ticks[int(entry.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    return sum(own for pid, own in ticks.items() if _is_below(pid, os.getpid(), parents)) / TICKS


def _is_below(pid: int, top: int, parents: Mapping[int, int]) -> bool:
    while pid > 1 and pid != top:
        pid = parents.get(pid, 0)
    return pid == top


def bare_model(texts: list[str]) -> Spent:
    embedder = get_embedder()
    embedder.embed_documents(texts[:16])
    started, cpu = time.perf_counter(), time.process_time()
    embedder.embed_documents(texts)
    return Spent(wall_s=time.perf_counter() - started, cpu_s=time.process_time() - cpu)


def corpus(source: str) -> dict[str, bytes]:
    if not source.isdigit():
        folder = Path(source)
        return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.md"))}
    rng = random.Random(7)
    return {f"{number}.md": markdown(number, rng) for number in range(int(source))}


def embedded_again(collection) -> dict[str, int]:
    """A file with one section changed: its chunks, and those that were embedded."""
    before = markdown(2, random.Random(3))
    ingest(collection, {"changed.md": before})
    known = CachedVector.objects.count()
    ingest(collection, {"changed.md": before.replace(b"## 2.4", b"One sentence more.\n\n## 2.4")})
    chunks = Chunk.objects.filter(version__file_name="changed.md", version__state="live").count()
    return {"chunks": chunks, "embedded_again": CachedVector.objects.count() - known}


def main(source: str) -> None:
    files = corpus(source)
    rng = random.Random(11)
    short = {f"short/{number}.md": short_text(number, rng) for number in range(SHORT_TEXTS)}
    with ensure_services(workers=True):

        def collection(name: str):
            return services.create_collection(actor=acting_principal(None), name=name)

        ingest(collection("Warm"), {"warm.md": markdown(9999, random.Random(0))})
        own = collection("Files")
        spent = ingest(own, files)
        texts = list(Chunk.objects.filter(document__collection=own).values_list("embedding_text", flat=True))
        short_spent = ingest(collection("Short"), short)
        again = embedded_again(collection("Changed"))
    distinct = list(dict.fromkeys(texts))
    raw = bare_model(distinct)
    result = {
        "source": Path(source).name,
        "files": len(files),
        "chunks": len(texts),
        "distinct_texts": len(distinct),
        "bytes": sum(map(len, files.values())),
        "cpu_s": round(spent.cpu_s, 1),
        "upload_cpu_s": round(spent.upload_cpu_s, 1),
        "embedder_cpu_s": round(raw.cpu_s, 1),
        "share_of_embedder_cpu": round(raw.cpu_s / spent.cpu_s, 3),
        "wall_s": round(spent.wall_s, 1),
        "embedder_wall_s": round(raw.wall_s, 1),
        "share_of_embedder_speed": round(raw.wall_s / spent.wall_s, 3),
        "short_texts": {
            "files": len(short),
            "wall_s": round(short_spent.wall_s, 1),
            "cpu_s": round(short_spent.cpu_s, 1),
        },
        "changed_file": again,
        "load": os.getloadavg()[0],
    }
    print(json.dumps(result))
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "ingestion.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "60")
