"""RTF by pandoc, once its bytes in national code pages have been written as Unicode.

RTF names an encoding for each font; Chinese, Japanese and Korean text is two bytes a character in it, which pandoc does
not read.
"""

import codecs
import re
from collections.abc import Iterator
from itertools import groupby

from ingestion.parsing.elements import Element, Kind, ParsedDocument, Quality
from ingestion.parsing.formats import Source
from ingestion.parsing.pandoc import convert, with_marks
from ingestion.parsing.prose import collapse

_CODECS = {0: "", 77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gb18030", 136: "cp950", 161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250"}  # fmt: skip
_FONT = re.compile(rb"\\f(\d{1,5})\b[^;{}]*?\\fcharset(\d{1,3})")
_PAGE = re.compile(rb"\\ansicpg(\d{3,5})")
_TOKEN = re.compile(
    rb"(?P<hex>(?:\\'[0-9a-fA-F]{2}|[\x80-\xff])(?:\\'[0-9a-fA-F]{2}|[\x80-\xff]|[\r\n])*)"
    rb"|\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?"
    rb"|(?P<symbol>\\[^a-zA-Z'])|(?P<brace>[{}])|(?P<text>[^\\{}\x80-\xff]+)|(?P<other>.)",
    re.DOTALL,
)
_TITLE = re.compile(rb"\{\\title ((?:[^{}\\]|\\[^{}])*)\}")
_AUTHOR = re.compile(rb"\{\\author ((?:[^{}\\]|\\[^{}])*)\}")
_UNICODE = re.compile(r"\{\\uc0((?:\\u-?\d+ )*)\}")
_UNIT = re.compile(r"\\u(-?\d+) ")
_TAIL_BYTE = re.compile(rb"\A[\x40-\x7e]")
_TWO_BYTES = frozenset({"cp932", "cp949", "johab", "gb18030", "cp950", "cp936"})


def parse(source: Source) -> ParsedDocument:
    """Read an RTF file. Raises Rejected when pandoc cannot."""
    data = in_unicode(source.data)
    page = convert(data, "rtf", scratch=source.scratch)
    elements = tuple(_prose(page.elements))
    return ParsedDocument(
        media_type="application/rtf",
        elements=tuple(with_marks(elements)),
        quality=Quality(),
        title=_info(_TITLE, data) or page.title,
        author=_info(_AUTHOR, data) or page.author,
    )


def _prose(elements: tuple[Element, ...]) -> Iterator[Element]:
    """pandoc takes each paragraph in an even-spaced font for code; a single one is prose in such a font."""
    for is_code, group in groupby(elements, key=lambda element: element.kind is Kind.CODE):
        members = list(group)
        if not is_code:
            yield from members
        elif len(members) == 1 or any("。" in element.text for element in members):
            yield from (Element(kind=Kind.PARAGRAPH, text=collapse(element.text)) for element in members)
        else:
            yield Element(kind=Kind.CODE, text="\n".join(element.text for element in members))


def _info(pattern: re.Pattern[bytes], data: bytes) -> str:
    match = pattern.search(data[:200_000])
    if not match:
        return ""
    text = _UNICODE.sub(lambda run: _units(run[1]), match[1].decode("ascii", "ignore"))
    return collapse(re.sub(r"\\[a-z]+-?\d* ?|\\.", "", text))


def _units(run: str) -> str:
    units = b"".join((int(number) & 0xFFFF).to_bytes(2, "little") for number in _UNIT.findall(run))
    return units.decode("utf-16-le", "replace")


def in_unicode(data: bytes) -> bytes:
    """The same RTF with every character beyond ASCII as a Unicode control word."""
    return _Rewriter(data).run()


class _Rewriter:
    """One pass over the tokens; the font in force and the length of fallbacks follow the groups."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        page = _PAGE.search(data[:1000])
        self._default = _codec_of(f"cp{page[1].decode()}" if page else "cp1252")
        self._fonts = {
            int(match[1]): _CODECS.get(int(match[2]), "") or self._default for match in _FONT.finditer(data)
        }
        self._codec, self._fallback = self._default, 1
        self._stack: list[tuple[str, int]] = []
        self._skip = 0  # characters that only stand in for a Unicode one
        self._out: list[bytes] = []

    def run(self) -> bytes:
        position = 0
        while match := _TOKEN.match(self._data, position):
            position = match.end()
            if match["word"] is not None:
                position = self._word(match, position)
            elif match["hex"] is not None:
                position = self._bytes(match["hex"], position)
            elif match["text"] is not None:
                self._text(match["text"])
            else:
                self._brace(match[0])
                self._out.append(match[0])
        return b"".join(self._out)

    def _brace(self, token: bytes) -> None:
        if token == b"{":
            self._stack.append((self._codec, self._fallback))
        elif token == b"}" and self._stack:
            self._codec, self._fallback = self._stack.pop()
        self._skip = 0 if token in b"{}" else max(self._skip - 1, 0)

    def _word(self, match: re.Match[bytes], position: int) -> int:
        word, number = match["word"], int(match["number"] or 0)
        if word == b"u" and match["number"]:
            self._out.append(b"{\\uc0\\u%d }" % number)
            self._skip = self._fallback
            return position
        if word == b"f" or word == b"deff":
            self._codec = self._fonts.get(number, self._default)
        elif word == b"plain":
            self._codec = self._default
        elif word == b"uc":
            self._fallback = max(min(number, 10), 0)
        elif word == b"bin":
            return position + max(number, 0)  # raw bytes of a picture
        self._out.append(match[0])
        return position

    def _text(self, text: bytes) -> None:
        if self._skip:
            kept = text.lstrip(b"\r\n")
            dropped, self._skip = kept[: self._skip], max(self._skip - len(kept), 0)
            text = kept[len(dropped) :]
        self._out.append(text)

    def _bytes(self, token: bytes, position: int) -> int:
        raw = re.sub(
            rb"\\'([0-9a-fA-F]{2})|[\r\n]", lambda one: bytes.fromhex((one[1] or b"").decode()), token
        )
        dropped = min(self._skip, len(raw))
        self._skip -= dropped
        raw = raw[dropped:]
        is_torn = self._codec in _TWO_BYTES and _is_torn(raw, self._codec)
        if is_torn and (tail := _TAIL_BYTE.match(self._data[position : position + 1])):
            raw, position = raw + tail[0], position + 1  # a second byte that is a letter of ASCII
        text = raw.decode(self._codec, "replace")
        units = text.encode("utf-16-le", "replace")
        numbers = [
            int.from_bytes(units[at : at + 2], "little", signed=True) for at in range(0, len(units), 2)
        ]
        if numbers:
            self._out.append(b"{\\uc0" + b"".join(b"\\u%d " % number for number in numbers) + b"}")
        return position


def _is_torn(raw: bytes, codec: str) -> bool:
    try:
        raw.decode(codec)
    except UnicodeDecodeError as error:
        return error.end == len(raw) and "incomplete" in error.reason
    return False


def _codec_of(name: str) -> str:
    name = {"cp936": "gb18030", "cp65001": "utf-8", "cp10000": "mac_roman"}.get(name, name)
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"
