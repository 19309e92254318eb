"""Office packages made in code: the main part, other parts by name, relations written as (id, kind, target)."""

import io
import struct
import zipfile
from collections.abc import Iterable, Mapping
from posixpath import split

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
C = "http://schemas.openxmlformats.org/drawingml/2006/chart"
D = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(500)  # only kept and counted, never decoded

Relations = Mapping[str, Iterable[tuple[str, str, str]]]


def package(main: str, parts: Mapping[str, str | bytes], relations: Relations | None = None) -> bytes:
    """relations: by the name of the part they belong to; targets are relative to its folder."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
        for source, listed in {"": [("r", "officeDocument", main)], **(relations or {})}.items():
            folder, name = split(source)
            nodes = "".join(
                f'<Relationship Id="{identity}" Type="{OFFICE}/{kind}" Target="{target}"/>'
                for identity, kind, target in listed
            )
            archive.writestr(
                f"{folder}/_rels/{name}.rels".lstrip("/"), f"<Relationships>{nodes}</Relationships>"
            )
    return file.getvalue()


def slides(
    *trees: str, parts: Mapping[str, str | bytes] | None = None, relations: Relations | None = None
) -> bytes:
    """A presentation of shape trees; a tree that starts with `hidden:` is a hidden slide."""
    listed = "".join(f'<p:sldId r:id="s{n}"/>' for n in range(1, len(trees) + 1))
    content: dict[str, str | bytes] = {
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{P}" xmlns:r="{OFFICE}"><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>'
    }
    for number, tree in enumerate(trees, start=1):
        show = ' show="0"' if tree.startswith("hidden:") else ""
        content[f"ppt/slides/slide{number}.xml"] = (
            f'<p:sld xmlns:p="{P}" xmlns:a="{A}" xmlns:r="{OFFICE}" xmlns:c="{C}" xmlns:dgm="{D}"{show}>'
            f"<p:cSld><p:spTree>{tree.removeprefix('hidden:')}</p:spTree></p:cSld></p:sld>"
        )
    own = {
        "ppt/presentation.xml": [(f"s{n}", "slide", f"slides/slide{n}.xml") for n in range(1, len(trees) + 1)]
    }
    return package("ppt/presentation.xml", {**content, **(parts or {})}, {**own, **(relations or {})})


def shape(*paragraphs: str, role: str | None = None) -> str:
    """A text shape. role: its placeholder type, "" for the untyped body, None for a free text box."""
    placeholder = "" if role is None else f'<p:ph type="{role}"/>' if role else "<p:ph/>"
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="1" name="x"/><p:cNvSpPr/><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr>'
        f"<p:txBody><a:bodyPr/>{''.join(paragraphs)}</p:txBody></p:sp>"
    )


def line(text: str, properties: str = "") -> str:
    return f"<a:p>{properties}<a:r><a:t>{text}</a:t></a:r></a:p>"


def frame(content: str) -> str:
    return f"<p:graphicFrame><p:nvGraphicFramePr/><a:graphic><a:graphicData>{content}</a:graphicData></a:graphic></p:graphicFrame>"


def ole(stream: str, data: bytes) -> bytes:
    """An OLE container of one stream, in sectors of 512 bytes."""
    sector, end, free = 512, 0xFFFFFFFE, 0xFFFFFFFF
    data = data.ljust(4096, b"\x00")  # smaller streams would need the mini stream
    count = -(-len(data) // sector)
    fat = [0xFFFFFFFD, end, *range(3, 2 + count), end]
    fat += [free] * (128 - len(fat))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
    header += (
        bytes(6)
        + struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, end, 0, end, 0)
        + struct.pack("<109I", 0, *[free] * 108)
    )

    def entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
        text = name.encode("utf-16-le") + b"\x00\x00"
        return (
            text.ljust(64, b"\x00")
            + struct.pack("<HBBIII", len(text), kind, 1, free, free, child)
            + bytes(36)
            + struct.pack("<IQ", start, size)
        )

    directory = entry("Root Entry", 5, 1, end, 0) + entry(stream, 2, free, 2, len(data))
    return (
        header
        + struct.pack("<128I", *fat)
        + directory.ljust(sector, b"\x00")
        + data.ljust(count * sector, b"\x00")
    )


def workbook(
    *sheets: str,
    names: Iterable[str] = (),
    parts: Mapping[str, str | bytes] | None = None,
    relations: Relations | None = None,
) -> bytes:
    """A workbook of sheetData contents (see `rows`); a name that starts with `hidden:` is a hidden sheet."""
    titles = [*names, *(f"Sheet{n}" for n in range(len(list(names)) + 1, len(sheets) + 1))]
    listed = "".join(
        f'<sheet name="{title.removeprefix("hidden:")}"{" state=" + chr(34) + "hidden" + chr(34) if title.startswith("hidden:") else ""} r:id="s{n}"/>'
        for n, title in enumerate(titles, start=1)
    )
    content: dict[str, str | bytes] = {
        "xl/workbook.xml": f'<workbook xmlns="{S}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>'
    }
    for number, sheet in enumerate(sheets, start=1):
        content[f"xl/sheet{number}.xml"] = f'<worksheet xmlns="{S}">{sheet}</worksheet>'
    own = {
        "xl/workbook.xml": [
            *((f"s{n}", "worksheet", f"sheet{n}.xml") for n in range(1, len(sheets) + 1)),
            ("st", "styles", "styles.xml"),
        ]
    }
    return package("xl/workbook.xml", {**content, **(parts or {})}, {**own, **(relations or {})})


def rows(*lines: Iterable[str | int | float | None], merged: Iterable[str] = (), first: int = 1) -> str:
    """sheetData of inline strings and numbers, None for a cell that is not there."""
    said = []
    for number, line in enumerate(lines, start=first):
        cells = []
        for column, value in enumerate(line):
            place = f"{chr(65 + column)}{number}"
            if isinstance(value, str):
                cells.append(f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>')
            elif value is not None:
                cells.append(f'<c r="{place}"><v>{value}</v></c>')
        said.append(f'<row r="{number}">{"".join(cells)}</row>')
    spans = "".join(f'<mergeCell ref="{ref}"/>' for ref in merged)
    return f"<sheetData>{''.join(said)}</sheetData>" + (f"<mergeCells>{spans}</mergeCells>" if spans else "")
