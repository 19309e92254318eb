"""The image of a PDF page or of a picture: drawn once in a child without network, then read from `<data>/pages`."""

import functools
import secrets
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from ingestion.blobs import path_of
from ingestion.rendering import child
from kb_platform.errors import NotFound, Unavailable

WIDTH_PX = 1100
WALL_S = 30
_drawing = threading.BoundedSemaphore(2)  # pages drawn at once by one web process


def page_image(digest: str, page: int) -> bytes:
    """WebP of page `page` (from 1), 1,100 pixels wide or as wide as the picture is. Raises NotFound, or Unavailable when it cannot be drawn."""
    kept = _folder() / digest[:2] / digest / f"{page}.webp"
    if kept.exists():
        return kept.read_bytes()
    if not _drawing.acquire(timeout=WALL_S):
        raise Unavailable(_("Many pages are being drawn just now. Try again in a moment."))
    try:
        image = _draw(path_of(digest), page)
    finally:
        _drawing.release()
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = kept.with_suffix(f".{secrets.token_hex(4)}")
    part.write_bytes(image)
    part.replace(kept)
    return image


def collect_garbage(referenced: set[str]) -> int:
    """Remove the images of files that no row names any more; returns of how many files."""
    forgotten = [folder for folder in _folder().glob("??/*") if folder.name not in referenced]
    for folder in forgotten:
        shutil.rmtree(folder, ignore_errors=True)
    return len(forgotten)


def _folder() -> Path:
    return Path(settings.DATA_DIR) / "pages"


def _draw(path: Path, page: int) -> bytes:
    command = [*_without_network(), sys.executable, "-I", child.__file__, str(path), str(page), str(WIDTH_PX)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=WALL_S,
            cwd="/",
            check=False,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"},
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(_("This page takes too long to draw. Its text is shown instead.")) from None
    if done.returncode == child.NO_SUCH_PAGE:
        raise NotFound()
    if done.returncode or not done.stdout:
        raise Unavailable(_("This page cannot be drawn. Its text is shown instead."))
    return done.stdout


@functools.cache
def _without_network() -> tuple[str, ...]:
    """A network namespace of its own where the machine allows one."""
    command = ("unshare", "--user", "--map-current-user", "--net", "--")
    allowed = (
        shutil.which("unshare")
        and subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    )
    return command if allowed else ()
