"""Bytes of a text file to text: byte order mark, UTF-16 by its zero bytes, strict UTF-8, then chardet's proposal.

Never fails: what cannot be decoded is replaced and said so in `lossy`.
"""

import codecs
import re
from dataclasses import dataclass

_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# chardet knows dozens of look-alike Western code pages; those of business files are enough, and a wrong one costs more.
_PROPOSALS = (
    "GB18030", "Big5", "Big5-HKSCS", "CP932", "EUC-JP", "ISO-2022-JP", "CP949", "EUC-KR",
    "IBM866", "Windows-1251", "KOI8-R", "Windows-1252",
)  # fmt: skip
_WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5hkscs": "big5hkscs",
    "iso8859-1": "cp1252",
    "ascii": "utf-8",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
_PLAUSIBLE = re.compile(
    "[\t\n\r\x20-\x7e\u00a0-\u024f\u2010-\u203f\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef\u0400-\u04ff]"
)
_ANCHORS = re.compile("[\t\n\r\x20-\x7e\u3001\u3002\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f]")
_SAMPLE = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """`encoding` is a Python codec name; `lossy` when characters were replaced."""

    text: str
    encoding: str
    lossy: bool = False


def decode(data: bytes, *, declared: str = "") -> Decoded:
    """Decode a whole file. declared: what the file claims of itself (an HTML meta tag); believed only if it holds."""
    for bom, name in _BOMS:
        if data.startswith(bom):
            return _decoded(data, name)
    if wide := guess_utf16(data, anchored=0.5):
        return _decoded(data, wide)
    if claimed := _holds(data, declared):
        return claimed
    try:
        return Decoded(text=data.decode("utf-8"), encoding="utf-8")
    except UnicodeDecodeError:
        pass
    if wide := guess_utf16(data):
        return _decoded(data, wide)
    return _nearly_utf8(data) or _proposed(data)


def guess_utf16(data: bytes, *, anchored: float = 0.02) -> str:
    """Name of the UTF-16 that bytes without a mark make sense in, or "".

    anchored: least share of characters that every text has (ASCII, Chinese punctuation). Chinese leaves few zero
    bytes, but bytes of another encoding taken in pairs give no spaces, line ends and full stops.
    """
    sample = data[: min(len(data), _SAMPLE) // 2 * 2]
    if b"\x00" not in sample:
        return ""
    shares = {}
    for name in ("utf-16-le", "utf-16-be"):
        text = sample.decode(name, "replace")
        shares[name] = len(_ANCHORS.findall(text)) / len(text) if _reads_well(text) else 0.0
    best, other = sorted(shares, key=lambda name: -shares[name])
    return best if shares[best] >= anchored and shares[best] > 3 * shares[other] else ""


def _decoded(data: bytes, name: str) -> Decoded:
    encoding = "utf-8" if name == "utf-8-sig" else name
    try:
        return Decoded(text=data.decode(name), encoding=encoding)
    except UnicodeDecodeError:
        return Decoded(text=data.decode(name, "replace"), encoding=encoding, lossy=True)


def _reads_well(text: str) -> bool:
    return len(_PLAUSIBLE.findall(text)) >= len(text) * 0.9


def _holds(data: bytes, declared: str) -> Decoded | None:
    try:
        name = codecs.lookup(declared.strip().strip("\"'")).name if declared else ""
        name = _WIDER.get(name, name)
        if not name or name.startswith(("utf-16", "utf-32")):  # a byte-readable meta tag disproves them
            return None
        return Decoded(text=data.decode(name), encoding=name)
    except (LookupError, UnicodeDecodeError, ValueError):
        return None


def _nearly_utf8(data: bytes) -> Decoded | None:
    """UTF-8 with a few broken bytes: cut in the middle of a character, or one foreign line in a log."""
    try:  # halves of surrogate pairs, written as if they were characters
        return Decoded(text=data.decode("utf-8", "surrogatepass"), encoding="utf-8", lossy=True)
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    whole = sum(1 for character in text[:_SAMPLE] if character > "\x7f") - broken
    if whole > 20 * broken:
        return Decoded(text=text, encoding="utf-8", lossy=True)
    return None


def _proposed(data: bytes) -> Decoded:
    import chardet

    verdict = chardet.detect(data[:_SAMPLE], include_encodings=_PROPOSALS)["encoding"] or "gb18030"
    name = codecs.lookup(verdict).name
    for candidate in (_WIDER.get(name, name), "gb18030"):
        try:
            return Decoded(text=data.decode(candidate), encoding=candidate)
        except UnicodeDecodeError:
            continue
    name = _WIDER.get(name, name)
    return Decoded(text=data.decode(name, "replace"), encoding=name, lossy=True)
