"""Whatever is uploaded ends in a state that is true, in the real sandbox, and takes nothing else down with it."""

import os
from functools import partial
from pathlib import Path

import pytest

from accounts.values import SystemActor
from ingestion import pipeline, services
from ingestion.blobs import store
from ingestion.models import Chunk, DocumentVersion, IngestJob, VersionState
from ingestion.parsing import sandbox
from ingestion.parsing.errors import Rejected
from ingestion.parsing.limits import Limits
from ingestion.parsing.sandbox import Usage, parse_file
from ingestion.testing.bad_input import BAD_FILES, READ, BadFile, acceptable
from ingestion.tests.conftest import latest, run_jobs
from ingestion.values import SourceFile

QUICK = Limits(cpu_s=3, wall_s=30, cpu_per_page_s=0.0)
IN_INDEX = (VersionState.LIVE, VersionState.PARTLY_LIVE)


# One of each family; the others are read in the same way, and take the better part of a minute.
OF_EACH_FAMILY = (
    "laughs.docx", "outside.docx", "outline-loop.pdf", "deep-list.md", "archive.pdf", "nul.pdf", "wide.docx", "script.html",
)  # fmt: skip


def cases(bad_files: tuple[BadFile, ...]) -> list:
    return [
        pytest.param(bad, id=bad.name, marks=[] if bad.name in OF_EACH_FAMILY else [pytest.mark.integration])
        for bad in bad_files
    ]


@pytest.fixture
def ends_soon(monkeypatch) -> Usage:
    """Workers get little time for a file; what its child used stands in the fixture."""
    usage = Usage()
    monkeypatch.setattr(pipeline, "parse_file", partial(parse_file, limits=QUICK, usage=usage))
    return usage


@pytest.mark.parametrize("bad", cases(BAD_FILES))
def test_each_ends_with_its_reason_or_its_text(bad, collection, embedder, ends_soon):
    uploaded = services.upload_document(
        actor=SystemActor(name="tests"),
        collection=collection,
        file=SourceFile(name=bad.name, blob=store([bad.make()])),
    )
    run_jobs(embedder)
    version = latest(uploaded.document)
    text = "\n".join(Chunk.objects.filter(version=version).values_list("text", flat=True))
    is_read = version.state in IN_INDEX
    assert (READ if is_read else version.reason_code) in acceptable(bad)
    assert is_read == bool(text)
    assert not (is_read and bad.finds) or bad.finds in text
    assert not bad.never or bad.never not in text
    assert IngestJob.objects.get(version=version).ended_at
    assert ends_soon.rss_kb < QUICK.memory_bytes // 1024


def test_neighbours_of_bad_files_go_on(upload, embedder, ends_soon):
    """One in the middle of others, at the same time in one batch."""
    bad = {bad.name: bad for bad in BAD_FILES}
    names = ("archive.pdf", "laughs.docx", "deep.html", "nul.csv", "zero.md")
    for name in names:
        upload(f"beside {name}.md", f"# Beside\n\nFine, beside {name}.\n".encode())
        services.upload_document(
            actor=SystemActor(name="tests"),
            collection=upload("last.md", b"Fine, and last.\n").document.collection,
            file=SourceFile(name=name, blob=store([bad[name].make()])),
        )
    run_jobs(embedder)
    states = dict(DocumentVersion.objects.values_list("file_name", "state"))
    fine = {name for name, state in states.items() if state in IN_INDEX}
    assert fine == {"last.md", "nul.csv", *(f"beside {name}.md" for name in names)}


@pytest.mark.integration
def test_memory_of_the_worker_returns(tmp_path: Path):
    """Bombs and giants burst in the child; a second round of them costs the worker nothing more."""
    names = {"bomb-that-lies.docx", "cell.csv", "attribute.html", "outline-loop.pdf"}
    heavy = [(bad.name, bad.make()) for bad in BAD_FILES if bad.name in names]
    before = _round(tmp_path / "blob", heavy)
    assert _round(tmp_path / "blob", heavy) - before < 30 * 2**20


def _round(path: Path, files: list[tuple[str, bytes]]) -> int:
    """Bytes this process has in memory after reading them."""
    for name, data in files:
        path.write_bytes(data)
        try:
            parse_file(path, file_name=name, limits=QUICK)
        except Rejected:
            continue
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_children_have_no_network_where_the_machine_allows_it(tmp_path: Path) -> None:
    path = tmp_path / "blob"
    path.write_bytes(b"words")
    parse_file(path, file_name="a.txt")
    server = sandbox._idle[-1].process.pid
    if os.system("unshare --user --net true 2>/dev/null") != 0:
        pytest.skip("network namespaces are not allowed here")
    assert os.readlink(f"/proc/{server}/ns/net") != os.readlink("/proc/self/ns/net")
