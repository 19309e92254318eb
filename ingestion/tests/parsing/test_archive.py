"""ZIP archives in memory: names, limits, what is left out."""

import io
import stat
import zipfile

import pytest

from ingestion.parsing import archive
from ingestion.parsing.elements import Kind
from ingestion.parsing.errors import Rejected
from ingestion.tests.parsing.reading import parser_of

parse = parser_of(archive)


def packed(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in members.items():
            target.writestr(name, data)
    return file.getvalue()


def test_members_are_parts_by_their_paths_and_the_list_is_the_text() -> None:
    data = packed(
        {
            "a.txt": b"one",
            "plans/b.md": b"# two",
            "__MACOSX/._a.txt": b"x",
            "plans/.DS_Store": b"x",
            "empty/": b"",
        }
    )
    read = parse(data)
    assert [(part.name, part.data) for part in read.parts] == [("a.txt", b"one"), ("plans/b.md", b"# two")]
    assert [(element.kind, element.text) for element in read.elements] == [
        (Kind.LIST_ITEM, "a.txt"),
        (Kind.HEADING, "plans"),
        (Kind.LIST_ITEM, "b.md"),
    ]


@pytest.mark.parametrize("codec", ["gb18030", "utf-8"])
def test_chinese_names_without_a_mark_are_decoded(codec: str) -> None:
    placeholder = "n" * len("设备手册/检修步骤说明.txt".encode(codec))
    data = packed({placeholder: b"words"}).replace(
        placeholder.encode(), "设备手册/检修步骤说明.txt".encode(codec)
    )
    assert [part.name for part in parse(data).parts] == ["设备手册/检修步骤说明.txt"]


def test_members_that_lead_outside_and_links_are_left_out_and_named() -> None:
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    file = io.BytesIO(
        packed({"../evil.txt": b"x", "/etc/evil.txt": b"x", "C:\\evil.txt": b"x", "fine.txt": b"y"})
    )
    with zipfile.ZipFile(file, "a") as target:
        target.writestr(link, "/etc/passwd")
    read = parse(file.getvalue())
    assert [part.name for part in read.parts] == ["fine.txt"]
    assert read.quality.warnings == ("members_refused:../evil.txt, /etc/evil.txt, C:\\evil.txt, link.txt",)


def test_a_damaged_member_does_not_stop_the_others_and_the_sum_is_limited(monkeypatch) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as target:
        target.writestr("bad.txt", b"broken bytes")
        target.writestr("good.txt", b"whole bytes")
    data = file.getvalue().replace(b"broken bytes", b"BROKEN BYTES")
    read = parse(data)
    assert [part.name for part in read.parts] == ["good.txt"]
    assert read.quality.warnings == ("members_damaged:bad.txt",)
    monkeypatch.setattr(archive, "MAX_BYTES", 15)
    with pytest.raises(Rejected) as caught:
        parse(packed({"a.txt": b"0123456789", "b.txt": b"0123456789"}))
    assert caught.value.code == "too_large"
    with pytest.raises(Rejected):
        parse(packed({}))
