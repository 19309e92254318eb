"""Workbooks of Excel and OpenDocument: a heading for each sheet, its number the page, its tables with their headers.

Excel's and OpenDocument's XML is read by own walks, the older binary files by calamine. Hidden sheets are read and named.
"""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from io import BytesIO
from typing import Any

from ingestion.parsing import ods_sheets, xlsx_sheets
from ingestion.parsing.elements import Element, Kind, ParsedDocument, Quality
from ingestion.parsing.embedded import Inside
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source
from ingestion.parsing.grids import Grid, Row, grid_elements
from ingestion.parsing.number_formats import shown
from ingestion.parsing.ooxml import Facts, Package, core_facts
from ingestion.parsing.picture_text import with_picture_text
from ingestion.parsing.sheets import MAX_SHEETS, Budget, Sheet, Workbook, cell_text
from ingestion.parsing.xls_formats import Formats, read_formats

_MOST_NAMED = 30
_FIRST_DAY = datetime(1899, 12, 30)
_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_XLS = "application/vnd.ms-excel"
_ODS = "application/vnd.oasis.opendocument.spreadsheet"


def parse(source: Source) -> ParsedDocument:
    """Read a workbook. Raises Rejected: encrypted, corrupt, too_large, too_complex."""
    if not source.data.startswith(b"PK"):
        formats, facts = read_formats(source.data)
        return _document(_XLS, _old_workbook(source.data, formats), facts, None)
    package = Package(source.data, main="xl/workbook.xml")
    if package.has("content.xml"):
        return _document(_ODS, ods_sheets.read_workbook(package), ods_sheets.facts(package), None)
    if package.main_name.endswith(".bin"):
        return _document(_XLS, _old_workbook(source.data, Formats()), core_facts(package), None)
    inside = Inside(package)
    workbook = xlsx_sheets.read_workbook(package, inside, source.progress)
    document = _document(_XLSX, workbook, core_facts(package), inside)
    return with_picture_text(document, source)


def _document(media_type: str, workbook: Workbook, facts: Facts, inside: Inside | None) -> ParsedDocument:
    sheets = workbook.sheets
    if sheets and all(sheet.has_failed and not sheet.rows for sheet in sheets):
        raise Rejected("corrupt")
    has_content = any(sheet.rows or sheet.extras for sheet in sheets)
    elements = [e for n, sheet in enumerate(sheets, start=1) for e in _sheet_elements(sheet, n)]
    counts = [0] * len(sheets)
    for element in elements:
        counts[(element.page or 1) - 1] += len(element.text) if element.kind is not Kind.HEADING else 0
    return ParsedDocument(
        media_type=media_type,
        elements=tuple(elements) if has_content else (),
        quality=Quality(
            pages=len(sheets),
            pages_with_text=sum(count > 0 for count in counts),
            page_characters=tuple(counts),
            pictures=inside.pictures if inside else 0,
            warnings=(*_warnings(workbook), *(inside.warnings if inside else ())),
        ),
        title=facts.title,
        author=facts.author,
        created=facts.created,
        modified=facts.modified,
        parts=tuple(inside.parts.values()) if inside else (),
        properties={"sheets": [sheet.name for sheet in sheets]},
    )


def _sheet_elements(sheet: Sheet, number: int) -> Iterator[Element]:
    yield Element(kind=Kind.HEADING, text=sheet.name, level=1, page=number)
    grid = Grid(rows=sheet.rows, spans=sheet.spans, bold=sheet.bold)
    for element in (*grid_elements(grid, level=2), *sheet.extras):
        yield _on_page(element, number)
    sheet.rows = {}


def _on_page(element: Element, number: int) -> Element:
    return Element(
        kind=element.kind,
        text=element.text,
        level=element.level,
        page=number,
        table=element.table,
        picture=element.picture,
    )


def _warnings(workbook: Workbook) -> Iterator[str]:
    hidden = [sheet.name for sheet in workbook.sheets if sheet.is_hidden]
    failed = [sheet.name for sheet in workbook.sheets if sheet.has_failed]
    for code, names in (("sheets_hidden", hidden), ("sheets_failed", failed)):
        if names:
            yield f"{code}:{', '.join(names[:_MOST_NAMED])}{'…' if len(names) > _MOST_NAMED else ''}"
    if workbook.formulas:
        yield f"formulas_unsolved:{workbook.formulas}"
    yield from workbook.warnings


# --- binary workbooks -----------------------------------------------------------------------------------------


def _old_workbook(data: bytes, formats: Formats) -> Workbook:
    """XLS and XLSB by calamine, which knows values and merged cells, but no formats other than dates."""
    import python_calamine as calamine

    try:
        file = calamine.CalamineWorkbook.from_filelike(BytesIO(data))
    except calamine.PasswordError as error:
        raise Rejected("encrypted") from error
    except (calamine.CalamineError, ValueError, OSError) as error:
        raise Rejected("corrupt") from error
    if len(file.sheets_metadata) > MAX_SHEETS:
        raise Rejected("too_large", limit=f"{MAX_SHEETS} sheets")
    workbook, budget = Workbook(), Budget()
    for facts in file.sheets_metadata:
        sheet = Sheet(name=facts.name, is_hidden=facts.visible != calamine.SheetVisibleEnum.Visible)
        workbook.sheets.append(sheet)
        budget.begin_sheet()
        try:
            found = file.get_sheet_by_name(facts.name)
            _fill(sheet, found, budget, formats)
        except (calamine.CalamineError, ValueError, OSError):
            sheet.has_failed = facts.typ == calamine.SheetTypeEnum.WorkSheet
    return workbook


def _fill(sheet: Sheet, found: Any, budget: Budget, formats: Formats) -> None:
    top, left = found.start or (0, 0)
    for line, cells in enumerate(found.iter_rows(), start=top):
        row: Row = {}
        for column, value in enumerate(cells, start=left):
            if value != "" and (text := _said(value, formats.code(sheet.name, line, column))):
                row[column] = text
        if row:
            budget.take(row)
            sheet.rows[line] = row
            if formats.is_bold(sheet.name, line, list(row)):
                sheet.bold.add(line)
    spans = ((*first, *last) for first, last in found.merged_cell_ranges or ())
    sheet.spans = [span for span in spans if sheet.rows.get(span[0], {}).get(span[1])]


def _said(value: Any, code: str) -> str:
    if isinstance(value, str):
        return cell_text(value)
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return shown(repr(value).removesuffix(".0"), code)
    if type(value) is date:
        value = datetime(value.year, value.month, value.day)
    if code != "General" and isinstance(value, datetime | timedelta):
        since = value - _FIRST_DAY if isinstance(value, datetime) else value
        return shown(repr(since / timedelta(days=1)), code)
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds").removesuffix(" 00:00:00")
    if isinstance(value, timedelta):
        hours, rest = divmod(round(value.total_seconds()), 3600)
        return f"{hours}:{rest // 60:02}:{rest % 60:02}"
    return value.isoformat() if isinstance(value, time) else ""
