"""A full disk and a folder that cannot be written: said so, nothing lost, well again without a restart."""

import errno
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from psycopg.errors import DiskFull

from accounts.models import User
from ingestion import blobs, ledger, pipeline, tasks
from ingestion.models import Document, IngestJob, ProcessingEvent
from kb_platform import folders


@pytest.fixture(autouse=True)
def looked_at_every_time(monkeypatch):
    monkeypatch.setattr(folders, "CHECKED_FOR_S", 0.0)


@pytest.fixture
def send(api, owner: User, collection):
    def send_file(content: bytes):
        form = {"collection": str(collection.uid), "file": SimpleUploadedFile("a.md", content)}
        return api(owner).post("/api/v1/documents", form, format="multipart")

    return send_file


@pytest.mark.parametrize(
    ("number", "state", "words"),
    [(errno.ENOSPC, "full", "disk is full"), (errno.EROFS, "read_only", "cannot be written")],
)
def test_uploads_are_put_off_and_health_is_red_until_there_is_room(
    send, client, browser, administrator, monkeypatch, number, state, words
):
    with monkeypatch.context() as broken:

        def refuse(*_arguments, **_named):
            raise OSError(number, "no")

        broken.setattr("os.fsync", refuse)
        broken.setattr("os.posix_fallocate", refuse)
        answer = send(b"# A")
        assert answer.status_code == 507
        assert words in answer.json()["error"]["message"]
        assert answer["Retry-After"]
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["parts"]["storage"]) == (503, state)
        assert words in browser(administrator).get("/system/processing").content.decode()
        assert not Document.objects.exists()
    assert send(b"# A").status_code == 201
    assert client.get("/readyz").status_code == 200
    assert words not in browser(administrator).get("/system/processing").content.decode()


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "no"), OperationalError("could not extend file")],
    ids=["files", "database"],
)
def test_a_disk_that_fills_up_while_a_file_is_read_is_not_the_files_fault(
    upload, monkeypatch, embedder, error
):
    upload("a.md", b"# A\n\ntext")
    if isinstance(error, OperationalError):
        error.__cause__ = DiskFull()

    def fail(*_arguments, **_named):
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(pipeline, "_store_draft", fail)
        broken.setattr("django.db.connection.close", lambda: None)
        for _time in range(4):
            (lease,) = ledger.claim(IngestJob.Stage.PARSE)
            with tasks.at_work([lease]):
                pipeline.read(lease, embedder)
            IngestJob.objects.update(not_before=None)
    job = IngestJob.objects.get()
    assert (job.state, job.failures) == ("queued", 0)
    assert ProcessingEvent.objects.filter(reason_code="no_space").count() == 4


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB, where mounting is allowed."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], capture_output=True
    )
    if made.returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_really_full_loses_nothing(send, client, settings, small_disk: Path):
    settings.BLOB_DIR = small_disk / "blobs"
    assert send(b"# kept").status_code == 201
    assert send(b"x" * 5_000_000).status_code == 507
    assert [path.name[:8] for path in (small_disk / "blobs").glob("incoming-*")] == []
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 3_800_000)
    assert client.get("/readyz").json()["parts"]["storage"] == "full"
    filler.unlink()
    assert client.get("/readyz").status_code == 200
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert client.get("/readyz").json()["parts"]["storage"] == "read_only"
    assert send(b"# more").status_code == 507
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    assert send(b"# more").status_code == 201
    kept = Document.objects.get().versions.values_list("blob", flat=True)
    assert all(blobs.path_of(digest).exists() for digest in kept)
