"""The list of bad files, and how each may end. Read it top to bottom."""

from collections.abc import Callable
from dataclasses import dataclass

from ingestion.parsing.formats import NOT_READ, extension_of
from ingestion.testing.bad_input import mails, office, pdfs, pictures, texts
from ingestion.testing.bad_input.archives import ENCRYPTED, SYMLINK, Member, bomb, zip_files, zip_of

READ = "read"  # some text of it is in the index
_PARSERS_LIMIT = frozenset({"too_large", "too_complex"})
_BROKEN = frozenset({"corrupt", "truncated"})
_NOTHING = frozenset({"empty", "no_text", "no_text_layer"})
_MISNAMED = frozenset({"wrong_name", "corrupt"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BadFile:
    """outcomes: READ and codes of reasons. finds, never: text that is in the index if it is READ; that is in no case."""

    name: str
    make: Callable[[], bytes]
    outcomes: frozenset[str]
    finds: str = ""
    never: str = ""


def acceptable(bad: BadFile) -> frozenset[str]:
    """How it may end here; a format that is not read may say so."""
    refusal = {"unsupported"} if extension_of(bad.name) in NOT_READ else set()
    return bad.outcomes | refusal


def _bad(
    name: str, make: Callable[[], bytes] | bytes, outcomes: set[str] | frozenset[str], **more: str
) -> BadFile:
    content = make if callable(make) else (lambda: make)
    return BadFile(name=name, make=content, outcomes=frozenset(outcomes), **more)  # type: ignore[arg-type]


_PARAGRAPH = office.paragraph("This is said again and again.")
_WORD = office.docx_parts("")
_SHEET = office.xlsx_parts("")
_ROW = f"<row>{office.cell('A1', 'again')}</row>"

BOMBS = (
    _bad("bomb.zip", lambda: zip_of([bomb("a.txt", b"a" * 200_000, 400)]), _PARSERS_LIMIT),
    _bad("bomb-that-lies.zip", lambda: zip_of([bomb("a.txt", b"a" * 200_000, 400, declared=900)]), _PARSERS_LIMIT | _BROKEN | _NOTHING | {READ}),
    _bad("bomb-of-bombs.zip", lambda: zip_files({f"{n}.zip": zip_of([bomb("a.txt", bytes(1_000_000), 200)]) for n in range(16)}), _PARSERS_LIMIT | _NOTHING | {READ}),
    _bad("bomb.docx", lambda: office.blown_up(_WORD, "word/document.xml", _PARAGRAPH * 5_000, 1_000), _PARSERS_LIMIT),
    _bad("bomb-that-lies.docx", lambda: office.blown_up(_WORD, "word/document.xml", _PARAGRAPH * 5_000, 1_000, declared=2_000), _PARSERS_LIMIT | _BROKEN),
    _bad("bomb.xlsx", lambda: office.blown_up(_SHEET, "xl/worksheets/sheet1.xml", _ROW * 5_000, 1_000), _PARSERS_LIMIT),
    _bad("bomb-that-lies.xlsx", lambda: office.blown_up(_SHEET, "xl/worksheets/sheet1.xml", _ROW * 5_000, 1_000, declared=2_000), _PARSERS_LIMIT | _BROKEN),
    _bad("bomb.pdf", pdfs.stream_bomb, _PARSERS_LIMIT | _BROKEN | _NOTHING),
    _bad("bomb.png", pictures.png_bomb, _PARSERS_LIMIT | _BROKEN | _NOTHING),
    _bad("picture-bomb.pdf", pdfs.huge_picture, _PARSERS_LIMIT | _BROKEN | _NOTHING),
    _bad("laughs.docx", lambda: office.docx(office.paragraph("&a9;"), before=office.LAUGHS), _BROKEN | _PARSERS_LIMIT),
    _bad("laughs.xlsx", lambda: office.xlsx(office.sheet(office.cell("A1", "&a9;")), before=office.LAUGHS), _BROKEN | _PARSERS_LIMIT | _NOTHING),
    _bad("laughs.odt", lambda: office.odt("<t:p>&a9;</t:p>", before=office.LAUGHS), _BROKEN | _PARSERS_LIMIT | _NOTHING),
    _bad("laughs.epub", lambda: office.epub(office.xhtml("<p>&a9;</p>", before=office.LAUGHS)), _BROKEN | _PARSERS_LIMIT | _NOTHING | {READ}),
    _bad("laughs.html", lambda: office.xhtml("<p>Only once: &a9;</p>", before=office.LAUGHS).encode(), _PARSERS_LIMIT | {READ}, finds="Only once"),
    _bad("six-thousand-members.zip", lambda: zip_files({f"{n}.txt": "x" for n in range(6_000)}), _PARSERS_LIMIT),
)  # fmt: skip

OUTSIDE = (
    _bad("outside.docx", lambda: office.docx(office.paragraph("XXE[&a9;]"), before=office.OUTSIDE), _BROKEN | {READ}, never="root:"),
    _bad("outside.xlsx", lambda: office.xlsx(office.sheet(office.cell("A1", "XXE[&a9;]")), before=office.OUTSIDE), _BROKEN | _NOTHING | {READ}, never="root:"),
    _bad("outside.odt", lambda: office.odt("<t:p>XXE[&a9;]</t:p>", before=office.OUTSIDE), _BROKEN | _NOTHING | {READ}, never="root:"),
    _bad("outside.epub", lambda: office.epub(office.xhtml("<p>XXE[&a9;]</p>", before=office.OUTSIDE)), _BROKEN | _NOTHING | {READ}, never="root:"),
    _bad("outside.html", b'<p>Here</p><iframe src="file:///etc/passwd"></iframe><object data="/etc/passwd"></object>', {READ}, finds="Here", never="root:"),
    _bad("outside.md", b"# Top\n\nHere it is: {{include /etc/passwd}}\n\n![](/etc/passwd)\n", {READ}, finds="Here", never="root:"),
    _bad("slip.zip", lambda: zip_files({"../../evil.txt": "evil", "/tmp/evil.txt": "evil", "C:\\evil.txt": "evil", "a\x00b.txt": "evil", "fine.txt": "A fine sentence."}), _BROKEN | _NOTHING | {READ}),
    _bad("links.zip", lambda: zip_of([Member(name="link.txt", content=b"/etc/passwd", attributes=SYMLINK), Member(name="fine.txt", content=b"A fine sentence.")]), _BROKEN | _NOTHING | {READ}, never="root:"),
    _bad("slip.docx", lambda: zip_files({**office.docx_parts(office.paragraph("A fine sentence.")), "../../evil.xml": "evil"}), _BROKEN | {READ}, finds="A fine sentence"),
    _bad("slip.eml", lambda: mails.with_parts(b"Slip", [b"Content-Type: text/plain\r\n\r\nA fine sentence.\r\n", mails.attached(b"../../../etc/evil.txt", b"evil")]), {READ}, finds="A fine sentence"),
)  # fmt: skip

LOOPS = (
    _bad("page-tree-loop.pdf", pdfs.page_tree_loop, _BROKEN | _PARSERS_LIMIT | _NOTHING),
    _bad("forms-of-forms.pdf", lambda: pdfs.nested_forms(11), {"too_complex"}),
    _bad("form-draws-itself.pdf", pdfs.form_that_draws_itself, _BROKEN | _PARSERS_LIMIT | _NOTHING),
    _bad("outline-loop.pdf", pdfs.outline_loop, _BROKEN | {READ}, finds="The outline is a ring"),
    _bad("styles-loop.docx", lambda: office.docx(office.paragraph("A fine sentence.", "a"), styles='<w:style w:type="paragraph" w:styleId="a"><w:basedOn w:val="b"/></w:style><w:style w:type="paragraph" w:styleId="b"><w:basedOn w:val="a"/></w:style>'), {READ}, finds="A fine sentence"),
    _bad("spine-loop.epub", lambda: office.epub(office.xhtml('<p>A fine sentence. <a href="c.xhtml">again</a></p>'), spine='<itemref idref="c"/>' * 2_000), _PARSERS_LIMIT | _BROKEN | {READ}),
    _bad("objects-loop.odt", lambda: office.odt('<t:p>A fine sentence.<d:frame><d:object xlink:href="./"/></d:frame></t:p>'), _BROKEN | {READ}, finds="A fine sentence"),
    _bad("ring.tiff", pictures.tiff_ring, _PARSERS_LIMIT | _BROKEN | _NOTHING),
)  # fmt: skip

DEEP = (
    _bad("deep.html", lambda: texts.nested_html(100_000), {"too_complex", READ}),
    _bad("deep-list.md", lambda: texts.nested_list(600), {READ, "too_complex"}, finds="level 0"),
    _bad("deep-quotes.md", lambda: b">" * 20_000 + b" The bottom.\n", {READ, "too_complex"}),
    _bad("deep-brackets.md", lambda: b"[" * 1_500 + b"words" + b"](x)" * 1_500, {READ, "too_complex"}),
    _bad("deep.json", lambda: texts.nested_json(20_000), {READ, "too_complex", "corrupt"}),
    _bad("deep-tables.docx", lambda: office.docx("<w:tbl><w:tr><w:tc>" * 2_000 + office.paragraph("The bottom.") + "</w:tc></w:tr></w:tbl>" * 2_000), {READ, "too_complex", "corrupt"}),
    _bad("deep.odt", lambda: office.odt("<t:list><t:list-item>" * 5_000 + "<t:p>The bottom.</t:p>" + "</t:list-item></t:list>" * 5_000), _PARSERS_LIMIT | _BROKEN | {READ}),
    _bad("deep.rtf", lambda: texts.nested_rtf(50_000), _PARSERS_LIMIT | _BROKEN | {READ}),
    _bad("deep.py", lambda: texts.nested_code(50_000), {READ, "too_complex"}),
    _bad("thirty-mails.eml", lambda: mails.forwarded(30), {READ, "too_complex"}),
    _bad("deep-parts.eml", lambda: mails.multiparts(500), {READ, "too_complex", "corrupt", "no_text"}),
    _bad("thirty-archives.zip", lambda: _nested_zip(30), _PARSERS_LIMIT | _NOTHING | {READ}),
)  # fmt: skip


def _nested_zip(depth: int) -> bytes:
    content, name = b"The innermost sentence.", "inner.txt"
    for level in range(depth):
        content, name = zip_files({name: content}), f"{level}.zip"
    return content


LIES = (
    _bad("archive.pdf", b"7z\xbc\xaf\x27\x1c\x00\x04" + bytes(99), {"wrong_name"}),
    _bad("word.pdf", lambda: office.docx(_PARAGRAPH), {"wrong_name"}),
    _bad("pdf.docx", lambda: pdfs.written(b"words"), {"wrong_name"}),
    _bad("text.docx", b"Only words, no package.", _MISNAMED),
    _bad("hello.xlsx", b"hello", _MISNAMED),
    _bad("words.pdf", b"Only words, no pages.", _MISNAMED),
    _bad("page.docx", b"<html><body><p>Words of a page.</p></body></html>", _MISNAMED),
    _bad("program.md", b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 40, {"wrong_name", "unsupported", "corrupt"}),
    _bad("picture.txt", lambda: pictures.blank_png(9), {"wrong_name", "unsupported"} | _NOTHING),
    _bad("archive.docx", lambda: zip_files({"a.txt": "Words."}), _MISNAMED),
    _bad("sheet.docx", lambda: office.xlsx(office.sheet(office.cell("A1", "Words"))), {"wrong_name"}),
    _bad("locked.zip", lambda: zip_of([Member(name="a.txt", content=b"Words.", flags=ENCRYPTED)]), {"encrypted"}),
    _bad("short.docx", lambda: office.docx(_PARAGRAPH * 500)[:1_200], {"truncated"}),
    _bad("short.pdf", lambda: pdfs.written(b"words")[:60], _BROKEN),
    _bad("noise.pdf", lambda: b"%PDF-1.7\n" + bytes(range(256)) * 400, _BROKEN | _NOTHING | _PARSERS_LIMIT),
    _bad("noise.docx", lambda: b"PK\x03\x04" + bytes(range(256)) * 400, _BROKEN),
    _bad("noise.doc", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\xff" * 4_000, _BROKEN),
    _bad("noise.msg", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(8_000), _BROKEN),
    _bad("noise.jpg", lambda: b"\xff\xd8\xff\xe0" + bytes(range(256)) * 40, _BROKEN | _NOTHING | _PARSERS_LIMIT),
    _bad("far-box.pdf", lambda: pdfs.written(b"Behind the wall", box=b"0 0 1000000000 1000000000"), _BROKEN | _NOTHING | _PARSERS_LIMIT | {READ}),
    _bad("no-box.pdf", lambda: pdfs.written(b"In no room", box=b"5 5 5 5"), _BROKEN | _NOTHING | {READ}),
    _bad("turned-by-ten.pdf", lambda: pdfs.written(b"Turned a little", more=b"/Rotate 10"), {READ}, finds="Turned a little"),
)  # fmt: skip

_SENTENCE = "A fine sentence 好句子 "
CHARACTERS = (
    _bad("nul.txt", b"A fine\x00 sentence with a stray NUL.\n", {READ}, finds="sentence", never="\x00"),
    _bad("nul.md", b"# Head\x00ing\n\nA fine\x00 sentence.\n", {READ}, finds="sentence", never="\x00"),
    _bad("nul.csv", b"name,fee\x00\nA fine\x00 sentence,5\n", {READ}, finds="sentence", never="\x00"),
    _bad("nul.html", b"<p>A fine\x00 sentence &#0; here.</p>", {READ}, finds="sentence", never="\x00"),
    _bad("nul.pdf", lambda: pdfs.written(b"A fine\\000 sentence"), {READ}, finds="sentence", never="\x00"),
    _bad("controls.md", lambda: f"# {_SENTENCE}\n\n{_SENTENCE * 99}{texts.CONTROLS}\n".encode(), {READ}, finds="好句子", never="\x00"),
    _bad("escaped.docx", lambda: office.docx(office.paragraph("A fine_x0000_ sentence &#x9; here")), {READ}, finds="sentence", never="\x00"),
    _bad("nul-entity.docx", lambda: office.docx(office.paragraph("A fine&#0; sentence")), _BROKEN | {READ}, never="\x00"),
    _bad("surrogates.docx", lambda: office.docx(office.paragraph("A fine &#xD800; sentence")), _BROKEN | {READ}),
    _bad("surrogates.txt", _SENTENCE.encode() * 9 + b"\xed\xa0\x80 \xed\xb0\x80 end\n", {READ}, finds="好句子"),
    _bad("surrogates-utf16.txt", "\ufeffA fine \ud800 sentence 好句子\n".encode("utf-16-le", "surrogatepass"), {READ}, finds="好句子"),
    _bad("surrogates.json", texts.lone_surrogates_json(), {READ, "corrupt"}),
    _bad("hidden.txt", f"{_SENTENCE}{texts.HIDDEN * 50}{texts.TURNED}{'e' + chr(0x301) * 5_000}\n".encode(), {READ}, finds="sentence"),
    _bad("only-hidden.txt", (texts.HIDDEN * 50).encode(), _NOTHING),
    _bad("only-marks.md", b"---\n\n***\n\n- \n\n> \n", _NOTHING),
    _bad("replaced.txt", ("\ufffd" * 3_000).encode(), _NOTHING | {READ}),
    _bad("terminal.txt", b"\x1b[31mA fine sentence\x1b[0m\x07\x08\x1b]0;title\x07\n", {READ}, finds="sentence"),
    _bad("half-a-character.txt", "好句子。".encode() * 50 + b"\xe5\xa5", {READ}, finds="好句子"),
    _bad("noise.txt", lambda: bytes((i * 7919 + i // 251) % 95 + 32 for i in range(50_000)), {READ} | _NOTHING),
)  # fmt: skip

GIANT = (
    _bad("line.txt", lambda: ("这是一行没有尽头的文字" * 40_000).encode(), {READ} | _PARSERS_LIMIT),
    _bad("word.txt", lambda: b"a" * 200_000, {READ} | _PARSERS_LIMIT),
    _bad("big.txt", lambda: b"The same line.\n" * 1_500_000, _PARSERS_LIMIT),
    _bad("cell.csv", lambda: b'name,text\na,"' + b"words " * 30_000 + b'"\n', {READ} | _PARSERS_LIMIT),
    _bad("columns.csv", lambda: b",".join(b"c%d" % n for n in range(5_000)) + b"\n" + b"1," * 4_999 + b"1\n", {READ} | _PARSERS_LIMIT),
    _bad("quote.csv", lambda: b'a,b\n"' + b"never closed,\n" * 5_000, {READ} | _PARSERS_LIMIT | _BROKEN),
    _bad("wide.html", texts.wide_spans, {READ, "too_complex"}, finds="Tier B"),
    _bad("wide.docx", lambda: office.docx('<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="100000000"/></w:tcPr>' + office.paragraph("0.5 %") + "</w:tc><w:tc>" + office.paragraph("Tier B") + "</w:tc></w:tr></w:tbl>"), {READ, "too_complex"}, finds="Tier B"),
    _bad("sparse.xlsx", office.sparse_xlsx, {READ} | _PARSERS_LIMIT, finds="corner"),
    _bad("columns.md", lambda: b"|a" * 3_000 + b"|\n" + b"|-" * 3_000 + b"|\n" + b"|1" * 3_000 + b"|\n", {READ} | _PARSERS_LIMIT),
    _bad("headings.md", lambda: texts.many_headings(3_000), {READ} | _PARSERS_LIMIT | _NOTHING),
    _bad("a-million-cues.vtt", lambda: texts.cues(1_000_000), _PARSERS_LIMIT),
    _bad("minified.js", lambda: texts.minified(150_000), {READ} | _PARSERS_LIMIT),
    _bad("attribute.html", lambda: b'<p title="' + b"x" * 12_000_000 + b'">A fine sentence.</p>', {READ} | _PARSERS_LIMIT),
    _bad("text-node.docx", lambda: office.docx(office.paragraph("long " * 3_000_000)), _PARSERS_LIMIT | _BROKEN | {READ}),
    _bad("three-thousand-pages.pdf", lambda: pdfs.many_pages(3_000), _PARSERS_LIMIT | _NOTHING),
    _bad("rules.pdf", lambda: pdfs.rules(3_000), {READ} | _PARSERS_LIMIT),
    _bad("ten-thousand-pages.tiff", lambda: pictures.tiff_pages(10_000), _PARSERS_LIMIT | _NOTHING | _BROKEN),
    _bad("attachments.eml", lambda: mails.with_parts(b"Many", [b"Content-Type: text/plain\r\n\r\nSee the files.\r\n", *[mails.attached(b"a%d.txt" % n, b"words") for n in range(400)]]), {READ} | _PARSERS_LIMIT),
    _bad("headers.eml", lambda: mails.HEAD % (b"=?utf-8?B?" + b"x" * 50_000 + b"?=") + b"To: " + b"a@example.com, " * 20_000 + b"\r\n\r\nA fine sentence.\r\n", {READ} | _PARSERS_LIMIT | _BROKEN),
)  # fmt: skip

EMPTY = (
    *(_bad(f"zero.{extension}", b"", {"empty"}) for extension in ("pdf", "docx", "md", "xlsx", "eml", "zip", "png", "json")),
    *(_bad(f"byte.{extension}", b"x", {READ, *_MISNAMED, *_NOTHING, "truncated"}) for extension in ("pdf", "docx", "txt", "csv", "html", "xlsx", "eml", "rtf", "zip", "png", "json", "epub")),
    _bad("bom.txt", b"\xef\xbb\xbf", {"empty"}),
    _bad("bom-utf16.txt", b"\xff\xfe", _NOTHING),
    _bad("bom.csv", b"\xef\xbb\xbf\r\n", _NOTHING),
    _bad("blank.txt", b" \t\r\n" * 500, {"empty"}),
    _bad("ideographic-blanks.md", "\u3000\u3000\n".encode() * 50, _NOTHING),
    _bad("script.html", b"<html><head><title></title><script>var a = 'words';</script><style>p{}</style></head><body><!-- words --></body></html>", _NOTHING),
    _bad("commas.csv", b",,,\n" * 500, _NOTHING),
    _bad("front-matter.md", b"---\ntitle: Words\n---\n", _NOTHING | {READ}),
    _bad("no-members.zip", lambda: zip_of([]), _NOTHING | _BROKEN),
    _bad("no-paragraphs.docx", lambda: office.docx(""), _NOTHING),
    _bad("no-cells.xlsx", lambda: office.xlsx("<sheetData/>"), _NOTHING),
    _bad("no-chapters.epub", lambda: office.epub(office.xhtml(""), spine=""), _NOTHING | _BROKEN),
    _bad("no-pages.pdf", lambda: pdfs.raw_pdf(pdfs.CATALOG, b"<< /Type /Pages /Kids [] /Count 0 >>"), _NOTHING | _BROKEN),
    _bad("picture-only.pdf", pdfs.picture_only, _NOTHING),
    _bad("no-unicode.pdf", pdfs.no_unicode, _NOTHING | _BROKEN),
    _bad("blank.png", lambda: pictures.blank_png(300), _NOTHING),
    _bad("no-body.eml", lambda: mails.plain(b"", b""), _NOTHING | {READ}),
    _bad("open-ended.eml", lambda: mails.with_parts(b"Open", [b"Content-Type: text/plain\r\n\r\nA fine sentence.\r\n"], closed=False), {READ}, finds="A fine sentence"),
    _bad("empty.json", b"{}", _NOTHING | {READ}),
    _bad("broken.json", b'{"name": "A fine sentence", ', _BROKEN | {READ}),
)  # fmt: skip

BAD_FILES: tuple[BadFile, ...] = (*BOMBS, *OUTSIDE, *LOOPS, *DEEP, *LIES, *CHARACTERS, *GIANT, *EMPTY)
