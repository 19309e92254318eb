"""PDFs written object by object, without a cross-reference table: readers repair that."""

from ingestion.testing.bad_input.archives import zlib_repeated

CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
ONE_PAGE = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def raw_pdf(*objects: bytes) -> bytes:
    """objects: numbered from 1; the first is the catalogue."""
    body = b"".join(
        b"%d 0 obj\n%s\nendobj\n" % (number, content) for number, content in enumerate(objects, start=1)
    )
    return b"%PDF-1.4\n" + body + b"trailer << /Root 1 0 R >>\n%%EOF\n"


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), entries, data)


def page(resources: bytes = b"", *, box: bytes = b"0 0 600 800", more: bytes = b"") -> bytes:
    """Object 3: a page whose content is object 4."""
    return b"<< /Type /Page /Parent 2 0 R /MediaBox [%s] /Contents 4 0 R /Resources << %s >> %s >>" % (
        box,
        resources,
        more,
    )


def written(text: bytes, *, box: bytes = b"0 0 600 800", more: bytes = b"") -> bytes:
    """One page with one line of text."""
    content = b"BT /F 12 Tf 72 700 Td (%s) Tj ET" % text
    return raw_pdf(
        CATALOG, ONE_PAGE, page(b"/Font << /F 5 0 R >>", box=box, more=more), stream(content), HELVETICA
    )


def stream_bomb() -> bytes:
    packed = zlib_repeated(b"q 1 0 0 1 0 0 cm Q\n" * 50_000, 550)
    return raw_pdf(CATALOG, ONE_PAGE, page(), stream(packed, b"/Filter /FlateDecode"))


def nested_forms(levels: int) -> bytes:
    """Each form draws the next one ten times: ten to the power of `levels` drawings."""
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 99 99]"
    forms = [
        stream(b"/F Do " * 10, form + b" /Resources << /XObject << /F %d 0 R >> >>" % (number + 1))
        for number in range(5, 5 + levels)
    ]
    return raw_pdf(
        CATALOG,
        ONE_PAGE,
        page(b"/XObject << /F 5 0 R >>"),
        stream(b"/F Do"),
        *forms,
        stream(b"0 0 m 9 9 l S", form),
    )


def form_that_draws_itself() -> bytes:
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 99 99] /Resources << /XObject << /F 5 0 R >> >>"
    return raw_pdf(
        CATALOG, ONE_PAGE, page(b"/XObject << /F 5 0 R >>"), stream(b"/F Do"), stream(b"/F Do", form)
    )


def page_tree_loop() -> bytes:
    return raw_pdf(CATALOG, b"<< /Type /Pages /Kids [2 0 R] /Count 100000000 >>")


def outline_loop() -> bytes:
    """The headings of the outline follow one another in a ring."""
    item = b"<< /Title (Chapter) /Parent 6 0 R /Next %d 0 R /Prev %d 0 R /First %d 0 R /Dest [3 0 R /Fit] >>"
    return raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>",
        ONE_PAGE,
        page(b"/Font << /F 5 0 R >>"),
        stream(b"BT /F 12 Tf 72 700 Td (The outline is a ring) Tj ET"),
        HELVETICA,
        b"<< /Type /Outlines /First 7 0 R /Last 8 0 R /Count 2 >>",
        item % (8, 8, 7),
        item % (7, 7, 8),
    )


def many_pages(count: int) -> bytes:
    """Empty pages, all with the same content."""
    kids = b" ".join(b"%d 0 R" % number for number in range(4, 4 + count))
    leaf = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 3 0 R >>"
    return raw_pdf(
        CATALOG, b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, count), stream(b" "), *[leaf] * count
    )


def picture_only() -> bytes:
    """A page that one grey picture covers, as a scanner makes it of an empty sheet."""
    image = stream(
        bytes([200]) * 10_000,
        b"/Type /XObject /Subtype /Image /Width 100 /Height 100 /ColorSpace /DeviceGray /BitsPerComponent 8",
    )
    return raw_pdf(
        CATALOG, ONE_PAGE, page(b"/XObject << /I 5 0 R >>"), stream(b"600 0 0 800 0 0 cm /I Do"), image
    )


def huge_picture() -> bytes:
    """A picture said to be 50,000 pixels wide and high, of zeros."""
    image = stream(
        zlib_repeated(bytes(1_000_000), 300),
        b"/Type /XObject /Subtype /Image /Width 50000 /Height 50000 /ColorSpace /DeviceGray /BitsPerComponent 1 /Filter /FlateDecode",
    )
    return raw_pdf(
        CATALOG, ONE_PAGE, page(b"/XObject << /I 5 0 R >>"), stream(b"600 0 0 800 0 0 cm /I Do"), image
    )


def no_unicode() -> bytes:
    """Glyph numbers of a font that tells neither its characters nor its shapes."""
    glyphs = b"".join(b"%04x" % number for number in range(900, 1100))
    content = b"\n".join(b"BT /F 12 Tf 40 %d Td <%s> Tj ET" % (760 - 20 * line, glyphs) for line in range(30))
    return raw_pdf(
        CATALOG,
        ONE_PAGE,
        page(b"/Font << /F 5 0 R >>"),
        stream(content),
        b"<< /Type /Font /Subtype /Type0 /BaseFont /AAAAAA+Hidden /Encoding /Identity-H /DescendantFonts [6 0 R] >>",
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /AAAAAA+Hidden /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor 7 0 R >>",
        b"<< /Type /FontDescriptor /FontName /AAAAAA+Hidden /Flags 4 /FontBBox [0 0 9 9] /ItalicAngle 0 /Ascent 9 /Descent 0 /CapHeight 9 /StemV 9 >>",
    )


def rules(count: int) -> bytes:
    """A page of nothing but crossing lines: every crossing could be the corner of a table cell."""
    lines = [
        b"%d 0 m %d 800 l S 0 %d m 600 %d l S" % (n % 600, n % 600, n % 800, n % 800) for n in range(count)
    ]
    text = b"BT /F 12 Tf 72 700 Td (Behind bars) Tj ET"
    return raw_pdf(
        CATALOG, ONE_PAGE, page(b"/Font << /F 5 0 R >>"), stream(b"\n".join([*lines, text])), HELVETICA
    )
