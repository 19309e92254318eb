"""Where the embedded services live, derived from the data folder alone, so that every process finds them."""

import hashlib
import os
from pathlib import Path

DATABASE = ROLE = "zhiku"


def run_dir(data_dir: Path) -> Path:
    """Folder of the unix sockets. Socket paths end at 107 bytes and data folders need not, hence /tmp and a hash."""
    if chosen := os.environ.get("KB_RUN_DIR"):
        return Path(chosen)
    digest = hashlib.sha256(str(data_dir.resolve()).encode()).hexdigest()[:12]
    return Path("/tmp") / f"kb-{os.geteuid()}-{digest}"  # noqa: S108 - a 0700 folder of our own, checked by the launcher


def valkey_socket(data_dir: Path) -> Path:
    return run_dir(data_dir) / "valkey.sock"
