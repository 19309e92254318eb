"""EPUB: the pages of its spine in their order through the HTML reader; title, author and date from its metadata."""

import io
import posixpath
import zipfile
from typing import Any
from urllib.parse import unquote

from ingestion.parsing.elements import Element, Kind, ParsedDocument, Quality
from ingestion.parsing.encodings import decode
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source
from ingestion.parsing.html import read_page
from ingestion.parsing.package import PictureFolder, read_member, read_xml
from ingestion.parsing.prose import collapse

_DC = "{http://purl.org/dc/elements/1.1/}"
_FONT_ONLY = (b"http://www.idpf.org/2008/embedding", b"http://ns.adobe.com/pdf/enc#RC")
_PAGES = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})


def parse(source: Source) -> ParsedDocument:
    """Read a book. Raises Rejected (`encrypted` for one with copy protection, `corrupt` without a list of pages)."""
    with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
        _refuse_protected(archive)
        path = _package_path(archive)
        package = read_xml(archive, path)
        if package is None:
            raise Rejected("corrupt")
        folder = PictureFolder(archive)
        elements: list[Element] = []
        failed = []
        labels = _labels(archive, package, path)
        for page in _spine(package, path):
            found = _page(archive, page, folder)
            if not found and page not in archive.namelist():
                failed.append(posixpath.basename(page))
            if found and page in labels and not _has_heading(found):
                elements.append(Element(kind=Kind.HEADING, text=labels[page], level=1))
            elements += found
        parts = folder.parts
    return ParsedDocument(
        media_type="application/epub+zip",
        elements=tuple(elements),
        quality=Quality(
            pictures=len(parts), warnings=(f"parts_skipped:{', '.join(failed[:10])}",) if failed else ()
        ),
        title=_meta(package, "title"),
        author=_meta(package, "creator"),
        created=_meta(package, "date"),
        parts=tuple(parts),
    )


def _refuse_protected(archive: zipfile.ZipFile) -> None:
    """Obfuscated fonts are fine; any other encrypted member is copy protection."""
    sealed = read_member(archive, "META-INF/encryption.xml")
    methods = sealed.count(b"EncryptionMethod ") + sealed.count(b"EncryptionMethod\n")
    if methods > sum(sealed.count(font) for font in _FONT_ONLY):
        raise Rejected("encrypted")


def _package_path(archive: zipfile.ZipFile) -> str:
    container = read_xml(archive, "META-INF/container.xml")
    for node in _all(container, "rootfile"):
        if path := node.get("full-path"):
            return str(path)
    return next((name for name in archive.namelist() if name.endswith(".opf")), "")


def _all(root: Any, name: str) -> list[Any]:
    return list(root.iter("{*}" + name)) if root is not None else []


def _items(package: Any, path: str) -> dict[str, tuple[str, Any]]:
    base = posixpath.dirname(path)
    return {
        node.get("id", ""): (
            posixpath.normpath(posixpath.join(base, unquote(node.get("href", "").partition("#")[0]))),
            node,
        )
        for node in _all(package, "item")
    }


def _spine(package: Any, path: str) -> list[str]:
    """Pages in reading order, those outside the main line last; the table of contents is no text."""
    items = _items(package, path)
    main: list[str] = []
    aside: list[str] = []
    for reference in _all(package, "itemref"):
        page, node = items.get(reference.get("idref", ""), ("", None))
        if node is None or node.get("media-type") not in _PAGES or "nav" in (node.get("properties") or ""):
            continue
        (aside if reference.get("linear") == "no" else main).append(page)
    return list(dict.fromkeys([*main, *aside]))


def _page(archive: zipfile.ZipFile, page: str, folder: PictureFolder) -> list[Element]:
    data = read_member(archive, page)
    folder.base = posixpath.dirname(page)
    return (
        list(read_page(decode(data, declared="utf-8").text, pictures=folder.element).elements) if data else []
    )


def _has_heading(elements: list[Element]) -> bool:
    return any(element.kind is Kind.HEADING for element in elements[:5])


def _labels(archive: zipfile.ZipFile, package: Any, path: str) -> dict[str, str]:
    """What the table of contents calls each page: the name of a chapter that carries none itself."""
    labels: dict[str, str] = {}
    for page, node in _items(package, path).values():
        if "nav" in (node.get("properties") or "") or node.get("media-type") == "application/x-dtbncx+xml":
            base = posixpath.dirname(page)
            for address, text in _entries(read_xml(archive, page)):
                target = posixpath.normpath(posixpath.join(base, unquote(address.partition("#")[0])))
                if text:
                    labels.setdefault(target, text)
    return labels


def _entries(root: Any) -> list[tuple[str, str]]:
    links = [(node.get("href") or "", collapse("".join(node.itertext()))) for node in _all(root, "a")]
    for point in _all(root, "navPoint"):
        content = next(iter(_all(point, "content")), None)
        text = next(iter(_all(point, "text")), None)
        if content is not None and text is not None:
            links.append((content.get("src") or "", collapse(text.text or "")))
    return links


def _meta(package: Any, name: str) -> str:
    found = next(package.iter(f"{_DC}{name}"), None)
    return collapse("".join(found.itertext())) if found is not None else ""
