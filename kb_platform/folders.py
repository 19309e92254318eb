"""Whether the folders of the site can be written: tried, not guessed, so that trouble shows before the next upload."""

import errno
import os
import secrets
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from django.conf import settings

FULL = (errno.ENOSPC, errno.EDQUOT)
READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
ROOM_BYTES = 1_000_000  # what a folder must still take
CHECKED_FOR_S = 2.0

_seen: dict[Path, tuple[float, str]] = {}
_lock = threading.Lock()


def watched() -> dict[str, Path]:
    """What is written to, by what it holds."""
    return {
        "data": Path(settings.DATA_DIR),
        "files": Path(settings.BLOB_DIR),
        "temporary": Path(settings.FILE_UPLOAD_TEMP_DIR or tempfile.gettempdir()),
    }


def state_of(folder: Path) -> str:
    """ok, full, read_only or down; tried anew after two seconds, however often it is asked for."""
    with _lock:
        tried_at, state = _seen.get(folder, (-CHECKED_FOR_S, ""))
        if time.monotonic() - tried_at >= CHECKED_FOR_S:
            state = _tried(folder)
            _seen[folder] = time.monotonic(), state
        return state


def _tried(folder: Path) -> str:
    while not folder.exists() and folder != folder.parent:  # made by whoever writes first
        folder = folder.parent
    try:
        _write(folder / f".room-{secrets.token_hex(4)}")
    except OSError as error:
        return "full" if error.errno in FULL else "read_only" if error.errno in READ_ONLY else "down"
    return "ok"


def _write(path: Path) -> None:
    """Reserve room and give it back."""
    file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        os.posix_fallocate(file, 0, ROOM_BYTES)
    finally:
        os.close(file)
        with suppress(OSError):
            path.unlink()
