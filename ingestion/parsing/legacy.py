"""Word and PowerPoint files of the old binary formats, and OpenDocument presentations: LibreOffice turns them into the new
formats, whose readers read them.

LibreOffice is a program of its own and need not be there: without it the file is refused with what can be done. It runs in
the sandbox with a profile in the private folder, so that several run side by side. It runs no macros, and sees no file but
its own and the one it reads: a link in a document to a file of the site leads nowhere.
"""

import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from shutil import which
from typing import Any

from ingestion.parsing import docx, pptx
from ingestion.parsing.confinement import CannotConfine, confinement
from ingestion.parsing.elements import ParsedDocument
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source
from ingestion.parsing.ooxml import Package

TIMEOUT_S = 90
_MANIFEST = "META-INF/manifest.xml"
_PATH = "/usr/bin:/bin:/usr/local/bin:/opt/libreoffice/program"
_SOCKETS = "/tmp"  # noqa: S108 - where LibreOffice always makes the socket it listens on
_DEVICES = (
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
)  # not /dev/shm: databases share memory there
_SEEN = (
    "/usr",
    "/bin",
    "/lib",
    "/lib64",
    "/etc/libreoffice",
    "/etc/fonts",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/var/cache/fontconfig",
    "/var/lib/libreoffice",
    "/var/spool/libreoffice",
)
_ENCRYPTED_WORD, _ENCRYPTED_SLIDES = 0x0100, 0xF3D1C4DF
_COMMON = "/org.openoffice.Office.Common"
_SETTINGS = (
    (f"{_COMMON}/Security/Scripting", "MacroSecurityLevel", "3"),
    (f"{_COMMON}/Security/Scripting", "DisableMacrosExecution", "true"),
    (f"{_COMMON}/Security/Scripting", "BlockUntrustedRefererLinks", "true"),
    ("/org.openoffice.Office.Writer/Content/Update", "Link", "0"),
    (f"{_COMMON}/Misc", "FirstRun", "false"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Route:
    """From an old format to the reader of the new one."""

    kind: str
    media_type: str
    extension: str
    read: Callable[[Source], ParsedDocument]


_WORD = _Route(kind="DOC", media_type="application/msword", extension="docx", read=docx.parse)
_SLIDES = _Route(kind="PPT", media_type="application/vnd.ms-powerpoint", extension="pptx", read=pptx.parse)
_OPEN_SLIDES = _Route(
    kind="ODP",
    media_type="application/vnd.oasis.opendocument.presentation",
    extension="pptx",
    read=pptx.parse,
)


def parse(source: Source) -> ParsedDocument:
    """Read a DOC, PPT or ODP file. Raises Rejected: needs_program, encrypted, corrupt, too_complex."""
    route = _route(source.data)
    program = which("soffice", path=_PATH) or which("libreoffice", path=_PATH)
    missing = Rejected("needs_program", kind=route.kind, program="LibreOffice", other=route.extension.upper())
    if program is None:
        raise missing
    try:
        confine = confinement(
            read=(*_SEEN, *_place_of(program)), write=(source.scratch, *_DEVICES), sockets=(_SOCKETS,)
        )
    except CannotConfine as error:
        raise missing from error
    converted = _converted(program, source, route, confine)
    return replace(route.read(replace(source, data=converted)), media_type=route.media_type)


def _place_of(program: str) -> tuple[str, ...]:
    """LibreOffice's own folder below /opt, where sites have theirs too; elsewhere it is among what is seen."""
    folder = Path(program).resolve().parent.parent
    return (str(folder),) if folder.is_relative_to("/opt/") and folder != Path("/opt") else ()


def _route(data: bytes) -> _Route:
    """By the streams of the container; a password is found here, where LibreOffice would only fail."""
    import olefile

    if data.startswith(b"PK"):
        package = Package(data, main="content.xml")
        if package.has(_MANIFEST) and b"encryption-data" in package.read(_MANIFEST):
            raise Rejected("encrypted")
        return _OPEN_SLIDES
    try:
        with olefile.OleFileIO(BytesIO(data)) as ole:
            route = _SLIDES if ole.exists("PowerPoint Document") else _WORD
            if _is_encrypted(ole, route):
                raise Rejected("encrypted")
            return route
    except (OSError, ValueError, IndexError, struct.error) as error:
        raise Rejected("corrupt") from error


def _is_encrypted(ole: Any, route: _Route) -> bool:
    if route is _SLIDES:
        if not ole.exists("Current User"):
            return False
        head = ole.openstream("Current User").read(16)
        return len(head) == 16 and struct.unpack_from("<I", head, 12)[0] == _ENCRYPTED_SLIDES
    head = ole.openstream("WordDocument").read(12)
    return len(head) == 12 and bool(struct.unpack_from("<H", head, 10)[0] & _ENCRYPTED_WORD)


def _converted(program: str, source: Source, route: _Route, confine: Callable[[], None]) -> bytes:
    folder = Path(source.scratch)
    _write_profile(folder / "profile" / "user")
    given, made = folder / f"source.{route.kind.lower()}", folder / "out" / f"source.{route.extension}"
    given.write_bytes(source.data)
    command = [
        program,
        f"-env:UserInstallation={(folder / 'profile').as_uri()}",
        "--headless",
        "--norestore",
        "--nologo",
        "--nodefault",
        "--nolockcheck",
        "--convert-to",
        route.extension,
        "--outdir",
        str(made.parent),
        str(given),
    ]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={"HOME": str(folder), "TMPDIR": str(folder), "PATH": _PATH, "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
            preexec_fn=confine,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Rejected("too_complex", limit=f"{TIMEOUT_S} s") from error
    if not made.is_file():
        # Killed by a limit, or at its end without a file: LibreOffice says no more than that.
        raise Rejected("too_complex", limit="LibreOffice") if done.returncode < 0 else Rejected("corrupt")
    return made.read_bytes()


def _write_profile(folder: Path) -> None:
    items = "".join(
        f'<item oor:path="{path}"><prop oor:name="{name}" oor:op="fuse"><value>{value}</value></prop></item>'
        for path, name, value in _SETTINGS
    )
    folder.mkdir(parents=True)
    (folder / "registrymodifications.xcu").write_text(
        '<?xml version="1.0" encoding="UTF-8"?><oor:items xmlns:oor="http://openoffice.org/2001/registry">'
        f"{items}</oor:items>",
        encoding="utf-8",
    )
