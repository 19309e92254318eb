"""One owner per data folder: a lock that the kernel drops when its holder dies, and a note of who holds it."""

import contextlib
import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from kb_platform.embedded.processes import ServiceError


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a data folder: its process id, what it was started as, and whether it runs workers."""

    pid: int
    command: str
    has_workers: bool


class FolderInUseError(ServiceError):
    """Another process holds the data folder."""

    def __init__(self, data_dir: Path, holder: Holder | None) -> None:
        who = f"process {holder.pid} ({holder.command})" if holder else "another process"
        super().__init__(f"{data_dir} is in use by {who}; stop it, or set KB_DATA_DIR to another folder")
        self.holder = holder


class FolderLock:
    """Held from `take` until `release` or the end of the process."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._file: IO[Any] | None = None

    def take(self, *, command: str, has_workers: bool) -> None:
        """Raises FolderInUseError, naming the holder, if another process has the folder."""
        self._data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = (self._data_dir / "lock").open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise FolderInUseError(self._data_dir, read_holder(self._data_dir)) from None
        file.truncate(0)
        file.write(json.dumps(asdict(Holder(pid=os.getpid(), command=command, has_workers=has_workers))))
        file.flush()
        self._file = file

    def release(self) -> None:
        if self._file:
            self._file.close()
            self._file = None


def read_holder(data_dir: Path) -> Holder | None:
    """What the lock file says; only meaningful while the lock is held. None while it is being written."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        return Holder(**json.loads((data_dir / "lock").read_text(encoding="utf-8")))
    return None
