"""Files made to exhaust or crash a reader end with a reason, in the real sandbox, within seconds."""

import os
from pathlib import Path

import pytest

from ingestion.parsing import sandbox
from ingestion.parsing.errors import Rejected
from ingestion.parsing.limits import Limits
from ingestion.parsing.sandbox import parse_file
from ingestion.tests.parsing.builders import p, pdf, word

QUICK = Limits(cpu_s=2, wall_s=20, cpu_per_page_s=0.0)


def raw_pdf(*objects: bytes) -> bytes:
    """Objects numbered from 1 without a cross-reference table: MuPDF repairs that."""
    body = b"".join(
        b"%d 0 obj\n%s\nendobj\n" % (number, content) for number, content in enumerate(objects, start=1)
    )
    return b"%PDF-1.4\n" + body + b"trailer << /Root 1 0 R >>\n%%EOF\n"


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), entries, data)


def nested_forms(levels: int) -> bytes:
    """Each form draws the next one ten times: ten to the power of `levels` drawings."""
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R /Resources << /XObject << /F 5 0 R >> >> >>"
    forms = [
        stream(
            b"/F Do " * 10,
            b"/Type /XObject /Subtype /Form /BBox [0 0 99 99] /Resources << /XObject << /F %d 0 R >> >>"
            % (number + 1),
        )
        for number in range(5, 5 + levels)
    ]
    last = stream(b"0 0 m 9 9 l S", b"/Type /XObject /Subtype /Form /BBox [0 0 99 99]")
    return raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        page,
        stream(b"/F Do"),
        *forms,
        last,
    )


def page_tree_loop() -> bytes:
    return raw_pdf(b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R] /Count 100000000 >>")


@pytest.mark.parametrize(
    ("name", "data", "codes"),
    [
        ("forms.pdf", nested_forms(11), {"too_complex"}),
        ("loop.pdf", page_tree_loop(), {"corrupt", "too_large", "no_text"}),
        ("short.pdf", pdf([(50, 100, "words")])[:100], {"truncated"}),
        (
            "laughs.docx",
            word("<!-- -->", raw={"word/document.xml": b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"}),
            {"corrupt"},
        ),
        ("bomb.docx", word(p("x" * 60_000_000)), {"too_large"}),
        ("deep.html", b"<div>" * 100_000, {"too_complex"}),
        ("archive.pdf", b"7z\xbc\xaf\x27\x1c\x00\x04" + bytes(99), {"wrong_name"}),
        ("word.pdf", word(p("Body.")), {"wrong_name"}),
        ("zero.docx", b"", {"empty"}),
    ],
)
def test_each_ends_with_its_reason(tmp_path: Path, name: str, data: bytes, codes: set[str]) -> None:
    path = tmp_path / "blob"
    path.write_bytes(data)
    with pytest.raises(Rejected) as caught:
        parse_file(path, file_name=name, limits=QUICK)
    assert caught.value.code in codes


def test_neighbours_of_a_bad_file_go_on(tmp_path: Path) -> None:
    outcomes = []
    for number, data in enumerate(
        [pdf([(50, 100, "fine")]), pdf([(50, 100, "words")])[:100], word(p("Fine."))]
    ):
        path = tmp_path / str(number)
        path.write_bytes(data)
        try:
            outcomes.append(
                parse_file(path, file_name=["a.pdf", "b.pdf", "c.docx"][number], limits=QUICK)
                .elements[0]
                .text
            )
        except Rejected as verdict:
            outcomes.append(verdict.code)
    assert outcomes == ["fine", "truncated", "Fine."]


def test_children_have_no_network_where_the_machine_allows_it(tmp_path: Path) -> None:
    path = tmp_path / "blob"
    path.write_bytes(b"words")
    parse_file(path, file_name="a.txt")
    server = sandbox._idle[-1].process.pid
    if os.system("unshare --user --net true 2>/dev/null") != 0:
        pytest.skip("network namespaces are not allowed here")
    assert os.readlink(f"/proc/{server}/ns/net") != os.readlink("/proc/self/ns/net")
