"""The package that Word, PowerPoint and Excel files are: parts and relations read safely, facts of the file itself.

Read from the ZIP in memory, by name, with the real bytes counted. Strict OOXML is brought to the usual namespaces.
"""

import posixpath
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from typing import IO, Any

from lxml import etree

from ingestion.parsing.errors import Rejected
from ingestion.parsing.kinds import MAX_ZIP_BYTES, check_archive
from ingestion.parsing.prose import collapse

R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/(\w+)")
_TOO_MUCH = re.compile(r"too long|amplification|excessive|huge|maximum|memory", re.IGNORECASE)
UNREADABLE: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    EOFError,
    RuntimeError,
    NotImplementedError,
    OSError,
    ValueError,
)
_HEAD = 4_096
# What programs write as the title of a file whose author gave none.
_NO_TITLE = re.compile(r"^(?:powerpoint (?:presentation|演示文稿)|演示文稿\s*\d*|presentation\s*\d*|slide \d+|幻灯片\s*\d+|word document|untitled|无标题)$", re.IGNORECASE)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """kind is the last word of its type (image, hyperlink …); target is a part's name, or an address outside."""

    identity: str
    kind: str
    target: str
    is_external: bool = False


class Package:
    """An open office file. Raises Rejected on anything that is no sound package."""

    def __init__(self, data: bytes, *, main: str) -> None:
        """main: the name of the main part, for a file whose relations do not tell."""
        try:
            self._archive = zipfile.ZipFile(BytesIO(data))
        except (zipfile.BadZipFile, ValueError) as error:
            raise Rejected("corrupt") from error
        check_archive(self._archive)
        self._names = {name.lower(): name for name in self._archive.namelist()}
        self._left = MAX_ZIP_BYTES
        self._known: dict[str, tuple[Relation, ...]] = {}
        self.main_name = (
            next((r.target for r in self.relations("") if r.kind == "officeDocument"), "") or main
        )

    @property
    def names(self) -> list[str]:
        return list(self._names.values())

    def has(self, name: str) -> bool:
        return name.lower() in self._names

    def xml(self, name: str) -> Any:
        """Root of a part, None if there is no such part."""
        if not self.has(name):
            return None
        data = _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/\2", self.read(name))
        _refuse_entities(data[:_HEAD])
        try:
            return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True))  # fmt: skip
        except etree.XMLSyntaxError as error:
            raise xml_verdict(error) from error

    def read(self, name: str) -> bytes:
        """The bytes of a part. Raises Rejected when it cannot be unpacked, or all parts come to too much."""
        try:
            with self._archive.open(self._names[name.lower()]) as part:
                data = part.read(self._left + 1)
        except UNREADABLE as error:
            raise Rejected("corrupt") from error
        self._count(len(data))
        return data

    @contextmanager
    def stream(self, name: str) -> Iterator[IO[bytes]]:
        """A part to be read bit by bit, for those too large to be held as a tree."""
        try:
            with self._archive.open(self._names[name.lower()]) as part:
                _refuse_entities(part.read(_HEAD))
                part.seek(0)
                yield part
                self._count(part.tell())
        except UNREADABLE as error:
            raise Rejected("corrupt") from error

    def related(self, kind: str) -> Any:
        """Root of the part that the main document relates to by this kind (styles, footnotes …)."""
        name = next(iter(self.related_names(kind)), "")
        return self.xml(name) if name else None

    def related_names(self, kind: str) -> list[str]:
        return [relation.target for relation in self.relations(self.main_name) if relation.kind == kind]

    def target(self, source: str, identity: str | None) -> str:
        """Name of the part inside the file that `source` means by a relation's id, "" if there is none."""
        return next(
            (r.target for r in self.relations(source) if r.identity == identity and not r.is_external), ""
        )

    def relations(self, source: str) -> tuple[Relation, ...]:
        """The relations of a part; of the package itself for ""."""
        if source not in self._known:
            self._known[source] = tuple(self._read_relations(source))
        return self._known[source]

    def _read_relations(self, source: str) -> Iterator[Relation]:
        folder, name = posixpath.split(source)
        root = self.xml(posixpath.join(folder, "_rels", f"{name}.rels"))
        for node in root if root is not None else ():
            if isinstance(node.tag, str):
                address = node.get("Target", "")
                is_external = node.get("TargetMode") == "External"
                inside = posixpath.normpath(posixpath.join("/", folder, address)).lstrip("/")
                yield Relation(
                    identity=node.get("Id", ""),
                    kind=node.get("Type", "").rpartition("/")[2],
                    target=address if is_external else inside,
                    is_external=is_external,
                )

    def _count(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise Rejected("too_large", limit=f"{MAX_ZIP_BYTES // 1_000_000} MB unpacked")


def _refuse_entities(head: bytes) -> None:
    if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
        raise Rejected("corrupt")


def xml_verdict(error: etree.XMLSyntaxError) -> Rejected:
    """Why XML could not be read: it asks for too much, or it is damaged."""
    return Rejected("too_complex", limit="XML size") if _TOO_MUCH.search(str(error)) else Rejected("corrupt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a file says of itself; dates in ISO 8601, "" for what it does not say."""

    title: str = ""
    author: str = ""
    created: str = ""
    modified: str = ""


def core_facts(package: Package) -> Facts:
    """Title, author and dates from the core properties. Damaged ones are no reason to refuse the file."""
    name = next((r.target for r in package.relations("") if r.kind == "core-properties"), "")
    try:
        root = package.xml(name or "docProps/core.xml")
    except Rejected:
        root = None
    if root is None:
        return Facts()
    title = collapse(root.findtext(f"{_DC}title") or "")
    return Facts(
        title="" if _NO_TITLE.match(title) else title,
        author=collapse(root.findtext(f"{_DC}creator") or ""),
        created=iso_date(root.findtext(f"{_TERMS}created") or ""),
        modified=iso_date(root.findtext(f"{_TERMS}modified") or ""),
    )


def iso_date(text: str) -> str:
    """The text if it is a date in ISO 8601, else ""."""
    try:
        return datetime.fromisoformat(text.strip()).isoformat()
    except ValueError:
        return ""


def children(node: Any) -> Iterator[Any]:
    """Child elements; of alternatives the first that is there."""
    for child in node:
        if not isinstance(child.tag, str):
            continue
        if child.tag == f"{MC}AlternateContent":
            chosen = child.find(f"{MC}Choice")
            yield chosen if chosen is not None else child
        else:
            yield child
