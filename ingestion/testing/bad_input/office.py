"""Office packages, EPUB and OpenDocument with something wrong inside."""

from ingestion.testing.bad_input.archives import Member, bomb, zip_files, zip_of

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
OFFICE = "urn:oasis:names:tc:opendocument:xmlns:"
LAUGHS = (
    '<!DOCTYPE a [<!ENTITY a0 "ha">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    + "]>"
)
OUTSIDE = '<!DOCTYPE a [<!ENTITY a9 SYSTEM "file:///etc/passwd">]>'


def package(main: str, content_type: str, parts: dict[str, bytes | str]) -> dict[str, bytes | str]:
    """The files of an Office package around its main part."""
    return {
        "[Content_Types].xml": f'{_XML}<Types xmlns="{_TYPES}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/><Override PartName="/{main}" ContentType="{content_type}"/></Types>',
        "_rels/.rels": f'{_XML}<Relationships xmlns="{_RELATIONS}"><Relationship Id="r1" Type="{_R}/officeDocument" Target="{main}"/></Relationships>',
        **parts,
    }


def docx_parts(body: str, *, before: str = "", styles: str = "") -> dict[str, bytes | str]:
    relations = f'<Relationship Id="r1" Type="{_R}/styles" Target="styles.xml"/>' if styles else ""
    return package(
        "word/document.xml",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
        {
            "word/_rels/document.xml.rels": f'{_XML}<Relationships xmlns="{_RELATIONS}">{relations}</Relationships>',
            "word/document.xml": f'{before}<w:document xmlns:w="{_W}"><w:body>{body}</w:body></w:document>',
            **({"word/styles.xml": f'<w:styles xmlns:w="{_W}">{styles}</w:styles>'} if styles else {}),
        },
    )


def paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def docx(body: str, *, before: str = "", styles: str = "") -> bytes:
    return zip_files(docx_parts(body, before=before, styles=styles))


def xlsx_parts(sheet: str, *, before: str = "", strings: str = "") -> dict[str, bytes | str]:
    extra = f'<Relationship Id="r2" Type="{_R}/sharedStrings" Target="sharedStrings.xml"/>' if strings else ""
    return package(
        "xl/workbook.xml",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml",
        {
            "xl/workbook.xml": f'{_XML}<workbook xmlns="{_S}" xmlns:r="{_R}"><sheets><sheet name="Rates" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'{_XML}<Relationships xmlns="{_RELATIONS}"><Relationship Id="r1" Type="{_R}/worksheet" Target="worksheets/sheet1.xml"/>{extra}</Relationships>',
            "xl/worksheets/sheet1.xml": f'{before}<worksheet xmlns="{_S}">{sheet}</worksheet>',
            **({"xl/sharedStrings.xml": strings} if strings else {}),
        },
    )


def xlsx(sheet: str, *, before: str = "", strings: str = "") -> bytes:
    return zip_files(xlsx_parts(sheet, before=before, strings=strings))


def cell(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


def sheet(*rows: str) -> str:
    """rows: the cells of each; an empty text leaves a row out."""
    filled = (f'<row r="{number}">{cells}</row>' for number, cells in enumerate(rows, start=1) if cells)
    return f"<sheetData>{''.join(filled)}</sheetData>"


def blown_up(
    parts: dict[str, bytes | str], name: str, unit: str, times: int, *, declared: int | None = None
) -> bytes:
    """A package whose part `name` unpacks to `unit` written `times` times."""
    honest = [
        Member(name=path, content=content.encode() if isinstance(content, str) else content)
        for path, content in parts.items()
        if path != name
    ]
    return zip_of([*honest, bomb(name, unit.encode(), times, declared=declared)])


def sparse_xlsx() -> bytes:
    """Two cells, in the first and the last place of the largest sheet there is."""
    corner = f'<row r="1048576">{cell("XFD1048576", "far corner")}</row>'
    return xlsx(
        f'<dimension ref="A1:XFD1048576"/><sheetData><row r="1">{cell("A1", "near corner")}</row>{corner}</sheetData>'
    )


def epub(chapter: str, *, spine: str = '<itemref idref="c"/>', nav: str = "") -> bytes:
    items = '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/>'
    if nav:
        items += '<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    return zip_files(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": f'{_XML}<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="b.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
            "b.opf": f'{_XML}<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="i">i</dc:identifier><dc:title>Book</dc:title><dc:language>en</dc:language></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>',
            "c.xhtml": chapter,
            **({"nav.xhtml": nav} if nav else {}),
        }
    )


def xhtml(body: str, *, before: str = "") -> str:
    return f'{before}<html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title></head><body>{body}</body></html>'


def odt(body: str, *, before: str = "") -> bytes:
    return zip_files(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "META-INF/manifest.xml": f'{_XML}<m:manifest xmlns:m="{OFFICE}manifest:1.0"><m:file-entry m:full-path="/" m:media-type="application/vnd.oasis.opendocument.text"/><m:file-entry m:full-path="content.xml" m:media-type="text/xml"/></m:manifest>',
            "content.xml": f'{before}<o:document-content xmlns:o="{OFFICE}office:1.0" xmlns:t="{OFFICE}text:1.0" xmlns:d="{OFFICE}drawing:1.0" xmlns:xlink="http://www.w3.org/1999/xlink" o:version="1.3"><o:body><o:text>{body}</o:text></o:body></o:document-content>',
        }
    )
