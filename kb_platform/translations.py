"""Message catalogues: compiling them without GNU gettext, and finding what is missing in them."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polib
from django.conf import settings

PLACEHOLDER = re.compile(r"%\(\w+\)[-+ #0-9.]*[a-z]|%[sd]|\{\w*\}")
NO_SOURCES = shutil.ignore_patterns(
    ".*", "__pycache__", "node_modules", "static", "files", "docs", "benchmarks"
)


def catalogues() -> list[Path]:
    """Every .po file of the project."""
    return sorted(path for root in settings.LOCALE_PATHS for path in Path(root).glob("*/LC_MESSAGES/*.po"))


def compile_catalogue(path: Path) -> Path | None:
    """Write the .mo beside the .po; None when it is newer than the .po already. Written whole or not at all."""
    target = path.with_suffix(".mo")
    if target.exists() and target.stat().st_mtime >= path.stat().st_mtime:
        return None
    part = target.with_suffix(f".{os.getpid()}.part")
    polib.pofile(str(path)).save_as_mofile(str(part))
    part.replace(target)
    return target


def gaps(path: Path) -> Iterator[str]:
    """Entries that are untranslated, doubtful, unused, or whose placeholders differ from the source's."""
    for entry in polib.pofile(str(path)):
        if entry.obsolete:
            yield f"unused: {entry.msgid!r}"
        elif "fuzzy" in entry.flags:
            yield f"fuzzy: {entry.msgid!r}"
        elif not entry.translated():
            yield f"untranslated: {entry.msgid!r}"
        else:
            for text in entry.msgstr_plural.values() or [entry.msgstr]:
                if _placeholders(text) != _placeholders(entry.msgid_plural or entry.msgid):
                    yield f"placeholders differ: {entry.msgid!r}"


def _placeholders(text: str) -> list[str]:
    return sorted(PLACEHOLDER.findall(text))


def can_extract() -> bool:
    """Whether GNU gettext, which reads the strings out of the sources, is installed."""
    return all(shutil.which(tool) for tool in ("xgettext", "msgmerge", "msguniq"))


def drift(path: Path) -> Iterator[str]:
    """What the catalogue lacks, or holds beyond what the sources say. Works on a copy; needs `can_extract()`."""
    known = _identities(path)
    with tempfile.TemporaryDirectory(prefix="kb-messages-") as folder:
        copy = Path(folder) / "sources"
        shutil.copytree(settings.BASE_DIR, copy, ignore=NO_SOURCES)
        language = path.parents[1].name
        # collecting messages needs no data, but settings want a folder to keep the secret key in
        subprocess.run(
            [sys.executable, "manage.py", "makemessages", "-l", language, "--no-location", "-v", "0"],
            cwd=copy,
            check=True,
            env={**os.environ, "KB_DATA_DIR": folder},
        )
        fresh = _identities(copy / path.relative_to(settings.BASE_DIR))
    yield from (f"not in the catalogue: {text!r}" for _context, text in sorted(fresh - known))
    yield from (f"no longer in the sources: {text!r}" for _context, text in sorted(known - fresh))


def _identities(path: Path) -> set[tuple[str, str]]:
    return {(entry.msgctxt or "", entry.msgid) for entry in polib.pofile(str(path)) if not entry.obsolete}
