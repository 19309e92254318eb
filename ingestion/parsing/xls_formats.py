"""How the cells of an XLS file show their numbers: read from its records, as the reader of its values does not tell.

A damaged file gives no formats, which is no reason to refuse it.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from ingestion.parsing.number_formats import BUILT_IN
from ingestion.parsing.ooxml import Facts
from ingestion.parsing.prose import collapse

_BOF, _EOF, _SHEET, _FORMAT, _XF, _FONT = 0x0809, 0x000A, 0x0085, 0x041E, 0x00E0, 0x0031
_MANY_NUMBERS = 0x00BD
_SINGLE = frozenset({0x0203, 0x027E, 0x0006, 0x00FD})  # number, packed number, formula, text
_BIFF8 = 0x0600
_BOLD = 700
_NO_FONT = 4  # a number that no font has


@dataclass(slots=True)
class Formats:
    """Styles of cells by sheet and place; what a style shows by its number."""

    codes: list[str] = field(default_factory=list)
    bold: list[bool] = field(default_factory=list)
    styles: dict[str, dict[tuple[int, int], int]] = field(default_factory=dict)

    def code(self, sheet: str, line: int, column: int) -> str:
        style = self.styles.get(sheet, {}).get((line, column), -1)
        return self.codes[style] if 0 <= style < len(self.codes) else "General"

    def is_bold(self, sheet: str, line: int, columns: Iterator[int] | list[int]) -> bool:
        places = self.styles.get(sheet, {})
        styles = [places.get((line, column), -1) for column in columns]
        return all(0 <= style < len(self.bold) and self.bold[style] for style in styles)


def read_formats(data: bytes) -> tuple[Formats, Facts]:
    """Formats of the cells, and what the file says of itself."""
    import olefile

    try:
        with olefile.OleFileIO(BytesIO(data)) as ole:
            facts = _facts(ole)
            name = next((name for name in ("Workbook", "Book") if ole.exists(name)), "")
            stream = ole.openstream(name).read() if name else b""
    except (OSError, ValueError, IndexError, struct.error):
        return Formats(), Facts()
    try:
        return _formats(stream), facts
    except (struct.error, IndexError, ValueError):
        return Formats(), facts


def _facts(ole: Any) -> Facts:
    said = ole.get_metadata()
    codepage = said.codepage if isinstance(said.codepage, int) and said.codepage > 0 else 1252
    encoding = "utf-8" if codepage == 65001 else f"cp{codepage}"

    def text(value: object) -> str:
        try:
            return collapse(value.decode(encoding, "replace")) if isinstance(value, bytes) else ""
        except LookupError:
            return ""

    def moment(value: object) -> str:
        is_known = isinstance(value, datetime) and value.year > 1980
        return value.replace(tzinfo=UTC).isoformat(timespec="seconds") if is_known else ""  # type: ignore[attr-defined]

    return Facts(
        title=text(said.title),
        author=text(said.author),
        created=moment(said.create_time),
        modified=moment(said.last_saved_time),
    )


def _formats(stream: bytes) -> Formats:
    found = Formats()
    own: dict[int, str] = {}
    fonts: list[bool] = []
    sheets: dict[str, int] = {}
    xfs: list[tuple[int, int]] = []  # font, format
    is_new = struct.unpack_from("<H", stream, 4)[0] >= _BIFF8
    for kind, body in _records(stream, 0):
        if kind == _FORMAT:
            own[struct.unpack_from("<H", body)[0]] = _string(body, 2, is_new, wide_count=is_new)
        elif kind == _FONT:
            fonts.append(struct.unpack_from("<H", body, 6)[0] >= _BOLD)
        elif kind == _XF:
            xfs.append(struct.unpack_from("<HH", body))
        elif kind == _SHEET:
            sheets[_string(body, 6, is_new, wide_count=False)] = struct.unpack_from("<I", body)[0]
    found.codes = [own.get(code) or BUILT_IN.get(code, "General") for _font, code in xfs]
    places = [font - 1 if font > _NO_FONT else font for font, _code in xfs]
    found.bold = [place < len(fonts) and fonts[place] for place in places]
    for name, start in sheets.items():
        found.styles[name] = dict(_styles(stream, start))
    return found


def _records(stream: bytes, place: int) -> Iterator[tuple[int, bytes]]:
    """Records from a BOF to its EOF; what is embedded in between, such as charts, is passed over."""
    depth = 0
    while place + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, place)
        depth += (kind == _BOF) - (kind == _EOF)
        if depth < 1:
            return
        if depth == 1:
            yield kind, stream[place + 4 : place + 4 + size]
        place += 4 + size


def _styles(stream: bytes, start: int) -> Iterator[tuple[tuple[int, int], int]]:
    for kind, body in _records(stream, start):
        if kind in _SINGLE:
            line, column, style = struct.unpack_from("<HHH", body)
            yield (line, column), style
        elif kind == _MANY_NUMBERS:
            line, first = struct.unpack_from("<HH", body)
            for number in range((len(body) - 6) // 6):
                yield (line, first + number), struct.unpack_from("<H", body, 4 + 6 * number)[0]


def _string(body: bytes, place: int, is_new: bool, *, wide_count: bool) -> str:
    count = struct.unpack_from("<H" if wide_count else "<B", body, place)[0]
    place += 2 if wide_count else 1
    if not is_new:
        return body[place : place + count].decode("latin-1")
    is_wide = body[place] & 1
    text = body[place + 1 : place + 1 + count * (2 if is_wide else 1)]
    return text.decode("utf-16-le" if is_wide else "latin-1", "replace")
