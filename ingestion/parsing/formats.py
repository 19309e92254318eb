"""The formats that are read, one line each: the names they go by, the module that reads them, what that may cost.

To add one: its line here, and its module with `parse(source: Source) -> ParsedDocument`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePath


class DocumentKind(StrEnum):
    """What a file is by its content. ZIP and OLE are containers that have not been looked into."""

    PDF = "pdf"
    DOCX = "docx"
    PPTX = "pptx"
    XLSX = "xlsx"
    XLS = "xls"
    ODS = "ods"
    DOC = "doc"
    PPT = "ppt"
    ODP = "odp"
    IMAGE = "image"
    MARKDOWN = "markdown"
    HTML = "html"
    TEXT = "text"
    CSV = "csv"
    EML = "eml"
    MSG = "msg"
    ODT = "odt"
    EPUB = "epub"
    RTF = "rtf"
    SUBTITLES = "subtitles"
    JSON = "json"
    YAML = "yaml"
    XML = "xml"
    CODE = "code"
    MARKUP = "markup"
    ARCHIVE = "archive"
    ZIP = "zip"
    OLE = "ole"


CONTAINERS = frozenset({DocumentKind.ZIP, DocumentKind.OLE})


class Effort(StrEnum):
    """What reading a kind of file takes: the limits of its child follow from it."""

    LIGHT = "light"  # text: small and fast
    HEAVY = "heavy"  # structured files, page by page
    PICTURES = "pictures"  # the same, and may hand pictures of pages to a program through a pipe
    PROGRAM = "program"  # runs another program over files in a private folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """label: what people call it. is_text: its bytes are text, told from other text by the name of the file.

    holds_files: though text, it may carry whole files, and be as large as they are.
    """

    kind: DocumentKind
    label: str
    module: str
    extensions: tuple[str, ...]
    is_text: bool = False
    holds_files: bool = False
    effort: Effort = Effort.HEAVY


CODE_EXTENSIONS = ("py", "pyi", "pyw", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "java", "go", "rs", "c", "h", "cc", "cpp", "cxx", "hpp", "hh", "hxx", "cs", "rb", "php", "kt", "kts", "swift", "scala", "lua", "pl", "r", "jl", "dart", "sh", "bash", "zsh", "ps1", "bat", "sql", "vue", "css", "scss", "less", "proto", "graphql", "tf", "gradle", "groovy", "m", "vb", "pas", "f90", "asm", "clj", "ex", "exs", "erl", "hs", "ml", "nim", "zig", "sol", "vhd", "sv")  # fmt: skip

FORMATS: tuple[Format, ...] = (
    Format(kind=DocumentKind.PDF, label="PDF", module="pdf", extensions=("pdf",), effort=Effort.PICTURES),
    Format(kind=DocumentKind.DOCX, label="DOCX", module="docx", extensions=("docx", "docm", "dotx", "dotm"), effort=Effort.PICTURES),
    Format(kind=DocumentKind.PPTX, label="PPTX", module="pptx", extensions=("pptx", "pptm", "ppsx", "ppsm", "potx", "potm"), effort=Effort.PICTURES),
    Format(kind=DocumentKind.XLSX, label="XLSX", module="spreadsheet", extensions=("xlsx", "xlsm", "xlsb", "xltx", "xltm"), effort=Effort.PICTURES),
    Format(kind=DocumentKind.XLS, label="XLS", module="spreadsheet", extensions=("xls", "xlt", "et")),
    Format(kind=DocumentKind.ODS, label="ODS", module="spreadsheet", extensions=("ods", "ots")),
    Format(kind=DocumentKind.DOC, label="DOC", module="legacy", extensions=("doc", "dot", "wps"), effort=Effort.PROGRAM),
    Format(kind=DocumentKind.PPT, label="PPT", module="legacy", extensions=("ppt", "pps", "pot", "dps"), effort=Effort.PROGRAM),
    Format(kind=DocumentKind.ODP, label="ODP", module="legacy", extensions=("odp", "otp"), effort=Effort.PROGRAM),
    Format(kind=DocumentKind.IMAGE, label="PNG, JPEG, GIF, BMP, WebP, TIFF, HEIC", module="images", extensions=("png", "jpg", "jpeg", "jfif", "gif", "bmp", "webp", "tif", "tiff", "heic", "heif"), effort=Effort.PICTURES),
    Format(kind=DocumentKind.MARKDOWN, label="Markdown", module="markdown", extensions=("md", "markdown", "mdown", "mkd", "mdx"), is_text=True),
    Format(kind=DocumentKind.HTML, label="HTML", module="html", extensions=("html", "htm", "xhtml"), is_text=True),
    Format(kind=DocumentKind.TEXT, label="TXT", module="text", extensions=(), is_text=True, effort=Effort.LIGHT),
    Format(kind=DocumentKind.CSV, label="CSV", module="delimited", extensions=("csv", "tsv"), is_text=True, effort=Effort.LIGHT),
    Format(kind=DocumentKind.EML, label="EML", module="mail", extensions=("eml",), is_text=True, holds_files=True),
    Format(kind=DocumentKind.MSG, label="MSG", module="mail", extensions=("msg",)),
    Format(kind=DocumentKind.ODT, label="ODT", module="odt", extensions=("odt", "ott"), effort=Effort.PROGRAM),
    Format(kind=DocumentKind.EPUB, label="EPUB", module="epub", extensions=("epub",)),
    Format(kind=DocumentKind.RTF, label="RTF", module="rtf", extensions=("rtf",), effort=Effort.PROGRAM),
    Format(kind=DocumentKind.SUBTITLES, label="SRT, VTT", module="subtitles", extensions=("srt", "vtt"), is_text=True, effort=Effort.LIGHT),
    Format(kind=DocumentKind.JSON, label="JSON", module="structured", extensions=("json", "jsonl", "ndjson"), is_text=True),
    Format(kind=DocumentKind.YAML, label="YAML", module="structured", extensions=("yaml", "yml"), is_text=True),
    Format(kind=DocumentKind.XML, label="XML", module="structured", extensions=("xml",), is_text=True),
    Format(kind=DocumentKind.CODE, label="PY, JS, SQL …", module="source_code", extensions=CODE_EXTENSIONS, is_text=True),
    Format(kind=DocumentKind.ARCHIVE, label="ZIP", module="archive", extensions=("zip",)),
    Format(kind=DocumentKind.MARKUP, label="AsciiDoc, RST", module="pandoc", extensions=("adoc", "asciidoc", "asc", "rst", "org", "textile", "tex", "mediawiki", "ipynb", "opml", "fb2", "docbook", "typ"), is_text=True, effort=Effort.PROGRAM),
)  # fmt: skip
FORMAT_OF: dict[DocumentKind, Format] = {known.kind: known for known in FORMATS}
BY_LABEL: dict[str, Format] = {known.label: known for known in FORMATS}
BY_LABEL.update(
    {
        f"{name} image": FORMAT_OF[DocumentKind.IMAGE]
        for name in ("PNG", "JPEG", "GIF", "BMP", "WebP", "TIFF", "HEIC")
    }
)
BY_LABEL["ZIP archive"] = FORMAT_OF[DocumentKind.ARCHIVE]
BY_EXTENSION: dict[str, Format] = {name: known for known in FORMATS for name in known.extensions}

# Not read, with a word of their own on what to do instead.
MEDIA = frozenset(
    ["mp3", "mp4", "wav", "mov", "avi", "mkv", "webm", "m4a", "m4v", "flac", "ogg", "oga", "ogv", "opus", "wma", "wmv", "flv", "aac", "mpg", "mpeg", "3gp", "amr"]
)  # fmt: skip
ARCHIVES = frozenset(["7z", "rar", "gz", "tgz", "tar", "bz2", "xz", "zst", "lzma", "cab", "iso"])

# Names of formats that nothing here reads: said by their name, before the content is looked at.
NOT_READ = frozenset(
    ["mht", "svg", "exe", "dll", "pages", "numbers", "key", "vsd", "vsdx", "mdb", "one", "xmind", "ofd", "caj"]
) | MEDIA | ARCHIVES  # fmt: skip


def extension_of(file_name: str) -> str:
    """Lower-case extension without the dot; "" if there is none."""
    return PurePath(file_name).suffix.lstrip(".").lower()


def supported_labels() -> str:
    """What can be uploaded, for a sentence."""
    return ", ".join(known.label for known in FORMATS)


def _unheard(*counts: int) -> None:
    """Progress that nobody listens to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file as its parser gets it.

    progress: call with (0, pages) before the first page and then with (done, pages); time is allowed by the page.
    recognising: call before each picture in which text is recognised, with the number of those so far, this one
        included; time is allowed for each.
    scratch: a private folder that is removed afterwards, for kinds of Effort.PROGRAM; "" for the others.
    """

    data: bytes
    file_name: str = ""
    progress: Callable[[int, int], None] = field(default=_unheard)
    recognising: Callable[[int], None] = field(default=_unheard)
    scratch: str = ""
