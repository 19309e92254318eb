"""Content-addressed files outside the web root: `blobs/ab/cd/<sha256>`. Written whole or not at all.

A blob exists on disk (fsync, rename, fsync of the folder) before any row names it.
"""

import hashlib
import os
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from kb_platform.errors import NoRoom, TooLarge, Unavailable
from kb_platform.folders import FULL, READ_ONLY
from kb_platform.runtime_config import store as configuration
from kb_platform.runtime_config.declarations import LARGEST_FILE

UNREFERENCED_FOR_S = 24 * 3600  # a blob may be on disk before its row; none is collected younger than this


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """`digest`: SHA-256 in hexadecimal."""

    digest: str
    size_bytes: int


def path_of(digest: str) -> Path:
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise ValueError("not a digest")
    return Path(settings.BLOB_DIR) / digest[:2] / digest[2:4] / digest


def store(parts: Iterable[bytes], *, max_bytes: int | None = None) -> Blob:
    """Write the parts in order and return what they are called. Raises TooLarge, NoRoom or Unavailable."""
    limit = max_bytes or configuration.get(LARGEST_FILE) * 1_000_000
    root = Path(settings.BLOB_DIR)
    part = root / f"incoming-{secrets.token_hex(8)}"
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        blob = _write(part, parts, limit)
        _put_in_place(part, path_of(blob.digest))
        return blob
    except OSError as error:
        raise _not_stored(error) from error
    finally:
        with suppress(OSError):  # a folder that takes nothing gives nothing up either
            part.unlink(missing_ok=True)


def _not_stored(error: OSError) -> Unavailable:
    if error.errno in FULL:
        return NoRoom(
            _(
                "The server’s disk is full, so the file could not be stored. Nothing that is stored is lost. Tell an administrator, and upload it again afterwards."
            )
        )
    if error.errno in READ_ONLY:
        return NoRoom(
            _(
                "The server’s folder of files cannot be written at the moment, so the file could not be stored. Nothing that is stored is lost. Tell an administrator, and upload it again afterwards."
            )
        )
    return Unavailable(_("The file could not be stored: %(cause)s.") % {"cause": error.strerror})


def _write(part: Path, parts: Iterable[bytes], limit: int) -> Blob:
    digest, size = hashlib.sha256(), 0
    with part.open("xb") as file:
        os.fchmod(file.fileno(), 0o600)
        for piece in parts:
            size += len(piece)
            if size > limit:
                raise TooLarge(
                    _(
                        "The file is larger than %(limit)d MB. Split it, or ask an administrator to raise the limit."
                    )
                    % {"limit": limit // 1_000_000}
                )
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return Blob(digest=digest.hexdigest(), size_bytes=size)


def _put_in_place(part: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part.replace(
        target
    )  # replacing equal bytes is harmless, and renews the age that garbage collection looks at
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def collect_garbage(referenced: set[str]) -> int:
    """Remove blobs and half-written files that no row has named for a day; returns how many."""
    removed = 0
    oldest = time.time() - UNREFERENCED_FOR_S
    root = Path(settings.BLOB_DIR)
    for path in [*root.glob("incoming-*"), *root.glob("??/??/*")]:
        if path.name not in referenced and path.stat().st_mtime < oldest:
            removed += _removed(path, root, oldest)
    return removed


def _removed(path: Path, root: Path, oldest: float) -> bool:
    """Take a file away, unless it was stored anew since it was looked at."""
    aside = root / f"incoming-{secrets.token_hex(8)}"
    path.replace(aside)
    if aside.stat().st_mtime >= oldest:
        aside.replace(path)
        return False
    aside.unlink()
    return True
