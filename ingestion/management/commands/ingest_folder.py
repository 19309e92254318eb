"""`manage.py ingest_folder PATH --collection NAME [--wait]`: every file below a folder, a line per file."""

import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError, connection

from accounts.acting import acting_principal
from accounts.values import Permission, Principal
from ingestion import selectors, services
from ingestion.blobs import store
from ingestion.intake import require_place
from ingestion.models import UNFINISHED, Collection, DocumentVersion, IngestJob
from ingestion.reasons import reason_text
from ingestion.values import SourceFile, clean_name
from kb_platform.errors import KnowledgeBaseError, TooMany
from kb_platform.management.service_command import ServiceCommand

Result = TypeVar("Result")
PIECE = 1 << 20
OUTAGE_S = 60.0
LOOK_EVERY_S = 0.5
SILENT_FOR_S = 600.0  # no file ended in this time: something is wrong, say so instead of waiting on


class Command(ServiceCommand):
    needs_workers = True
    help = "Uploads every file below PATH into a collection (made if missing); exit status 1 if any was rejected."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument("--collection", required=True, help="name of the collection")
        parser.add_argument(
            "--wait", action="store_true", help="wait until each file has reached its end state"
        )
        parser.add_argument(
            "--as", dest="email", help="account that uploads; default the first administrator"
        )

    def run(self, **options: Any) -> None:
        root: Path = options["path"]
        if not root.exists():
            raise CommandError(f"{root} does not exist")
        principal = acting_principal(options["email"])
        collection = _collection(principal, options["collection"])
        uploads: dict[int, str] = {}
        refused = 0
        for path in _files(root):
            name = str(path.relative_to(root)) if root.is_dir() else path.name
            try:
                uploads[self._upload(partial(_upload, principal, collection, path, name))] = name
            except KnowledgeBaseError as error:
                refused += 1
                self.stdout.write(f"refused      {name}  {error}")
        if options["wait"]:
            refused += self._wait(uploads)
        else:
            for name in uploads.values():
                self.stdout.write(f"queued       {name}")
        if refused:
            raise CommandError(f"{refused} of {len(uploads) + refused} files are not live")

    def _upload(self, step: Callable[[], int]) -> int:
        """The id of the version, once there is a place in the queue for it."""
        told = False
        while True:
            try:
                return _patiently(step)
            except TooMany:
                if not told:
                    self.stdout.write("waiting      the queue is full; going on as it empties")
                told = True
                time.sleep(LOOK_EVERY_S)

    def _wait(self, uploads: dict[int, str]) -> int:
        """Print each file as it ends; returns how many are not live."""
        waiting, failed, last_end = set(uploads), 0, time.monotonic()
        while waiting:
            for version in _patiently(partial(_ended, waiting)):
                waiting.discard(version.pk)
                last_end = time.monotonic()
                failed += not selectors.in_force(version)
                self.stdout.write(
                    f"{version.state:<12} {uploads[version.pk]}  {reason_text(version)}".rstrip()
                )
            if time.monotonic() - last_end > SILENT_FOR_S:
                raise CommandError(
                    f"no file ended for {SILENT_FOR_S:.0f} s; {len(waiting)} still wait. Are the workers running?"
                )
            time.sleep(LOOK_EVERY_S)
        self.stdout.write(f"{len(uploads) - failed} of {len(uploads)} files live")
        return failed


def _ended(waiting: set[int]) -> list[DocumentVersion]:
    return list(DocumentVersion.objects.filter(pk__in=waiting).exclude(state__in=UNFINISHED))


def _patiently(step: Callable[[], Result]) -> Result:
    """Repeat a step while the database is away, for a minute at most: the supervisor brings it back."""
    end = time.monotonic() + OUTAGE_S
    while True:
        try:
            return step()
        except (OperationalError, InterfaceError):
            if time.monotonic() > end:
                raise
            connection.close()
            time.sleep(1)


def _files(root: Path) -> Iterator[Path]:
    """Regular files below the root in name order; hidden ones and links are left out."""
    if root.is_file():
        yield root
        return
    for path in sorted(root.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
        if path.is_file() and not path.is_symlink() and not hidden:
            yield path


def _collection(principal: Principal, name: str) -> Collection:
    found = selectors.collections_for(principal, at_least=Permission.CONTRIBUTE).filter(name=name).first()
    return found or services.create_collection(actor=principal, name=name)


def _upload(principal: Principal, collection: Collection, path: Path, name: str) -> int:
    """Store and queue one file; returns its version's id. The path below the root is its source, so a rerun updates."""
    require_place(principal)
    with path.open("rb") as file:
        blob = store(iter(lambda: file.read(PIECE), b""))
    source = SourceFile(
        name=clean_name(path.name),
        blob=blob,
        source_uri=name,
        modified_at=datetime.fromtimestamp(path.stat().st_mtime, UTC),
    )
    upload = services.upload_document(
        actor=principal, collection=collection, file=source, priority=IngestJob.Priority.LATER
    )
    return upload.version.pk
