"""Formats that pandoc knows, turned into HTML by it and read by the HTML reader: RTF, ODT and text with markup.

pandoc is a program of its own (`--sandbox`: it reads nothing but its input). What a format needs before that is done
here and in `rtf`; see docs/decisions/0009.
"""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from ingestion.parsing.elements import Element, Kind, ParsedDocument, Quality
from ingestion.parsing.encodings import decode
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source, extension_of
from ingestion.parsing.headings import list_mark
from ingestion.parsing.html import Page, Pictures, read_page

TIMEOUT_S = 50
_NO_TITLE = "source"  # the name of the input, which pandoc gives for a title where there is none
_READERS = {"adoc": "asciidoc", "asciidoc": "asciidoc", "asc": "asciidoc", "rst": "rst", "org": "org", "textile": "textile", "tex": "latex", "mediawiki": "mediawiki", "wiki": "mediawiki", "ipynb": "ipynb", "opml": "opml", "fb2": "fb2", "docbook": "docbook", "dbk": "docbook", "typ": "typst", "muse": "muse"}  # fmt: skip
# What takes in another file. Nothing is taken in, and pandoc gives some of such texts up as a whole for it.
_TAKES_IN = {
    "asciidoc": re.compile(r"^include::([^\[\n]+)\[[^\n]*$", re.MULTILINE),
    "rst": re.compile(r"^(?:[ \t]+:(?:file|url):|\.\. include::)[ \t]*(\S[^\n]*)$", re.MULTILINE),
    "org": re.compile(r"^[ \t]*#\+include:[ \t]*\"?([^\"\n]+)[^\n]*$", re.MULTILINE | re.IGNORECASE),
    "latex": re.compile(r"\\(?:input|include)\{([^{}\n]+)\}"),
    "typst": re.compile(r"#include[ \t]+\"([^\"\n]+)\""),
}
_MOST_NAMED = 20
_TITLE_OF = {"asciidoc": re.compile(r"\A(?:\s*//[^\n]*\n)*\s*= +(\S[^\n]*)\n")}


def parse(source: Source) -> ParsedDocument:
    """Read a text with markup by the reader that its name calls for."""
    reader = _READERS.get(extension_of(source.file_name), "markdown")
    decoded = decode(source.data)
    text, left_out = _by_itself(reader, decoded.text)
    page = convert(text.encode("utf-8", "replace"), reader, scratch=source.scratch)
    elements, title = list(page.elements), page.title
    if not title and (written := _written_title(reader, decoded.text)):
        title = written
        elements.insert(0, Element(kind=Kind.TITLE, text=written))
    return ParsedDocument(
        media_type=f"text/x-{reader}",
        elements=tuple(elements),
        quality=Quality(
            warnings=(
                *(("lossy_encoding",) if decoded.lossy else ()),
                *((f"parts_skipped:{', '.join(left_out)}",) if left_out else ()),
            )
        ),
        title=title,
        author=page.author,
        encoding=decoded.encoding,
    )


def _by_itself(reader: str, text: str) -> tuple[str, list[str]]:
    """The text without what takes in other files, and their names."""
    pattern = _TAKES_IN.get(reader)
    if pattern is None:
        return text, []
    text = text.replace("\r\n", "\n")
    names = list(dict.fromkeys(match[1].strip() for match in pattern.finditer(text)))
    # In RST ".." alone begins a comment, which the options of the directive then belong to.
    alone = pattern.sub(lambda match: ".. -" if match[0].startswith("..") else "", text)
    return alone, names[:_MOST_NAMED]


def _written_title(reader: str, text: str) -> str:
    pattern = _TITLE_OF.get(reader)
    match = pattern.match(text.replace("\r\n", "\n")) if pattern else None
    return match[1].strip() if match else ""


def convert(data: bytes, reader: str, *, scratch: str, pictures: Pictures | None = None) -> Page:
    """HTML of a document by pandoc, read. Raises Rejected (`corrupt`, `too_complex`)."""
    source = Path(scratch, _NO_TITLE)
    source.write_bytes(data)
    command = [
        _program(),
        f"--from={reader}",
        "--to=html5",
        "--standalone",
        "--sandbox",
        "--wrap=none",
        "--track-changes=accept",
        str(source),
    ]
    try:
        done = subprocess.run(
            command,
            cwd=scratch,
            env={"LANG": "C.UTF-8", "HOME": scratch, "PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Rejected("too_complex", limit=f"{TIMEOUT_S} s") from error
    if done.returncode:
        raise Rejected("corrupt" if done.returncode > 0 else "too_complex", limit="pandoc")
    page = read_page(done.stdout.decode("utf-8", "replace"), pictures=pictures)
    return replace(page, title="") if page.title == _NO_TITLE else page


@cache
def _program() -> str:
    import pypandoc  # type: ignore[import-untyped]

    return str(pypandoc.get_pandoc_path())


def with_marks(elements: tuple[Element, ...]) -> Iterator[Element]:
    """Paragraphs that begin with a bullet or a number written by hand are items of a list."""
    for element in elements:
        mark = list_mark(element.text) if element.kind is Kind.PARAGRAPH else None
        yield replace(element, kind=mark.kind, text=mark.text, level=1) if mark else element
