"""Bytes to text: the encoding ladder."""

import codecs

import pytest

from ingestion.parsing.encodings import decode

SIMPLIFIED = "设备重启步骤如下：先关闭电源，再等待三十秒。\n如果指示灯仍为红色，请联系网络管理员。\n"
TRADITIONAL = "設備重啟步驟如下：先關閉電源，再等待三十秒。\n如果指示燈仍為紅色，請聯絡網路管理員。\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (SIMPLIFIED, "utf-8"),
        (SIMPLIFIED, "gb18030"),
        (TRADITIONAL, "big5"),
        ("名前,年齢,住所\n山田太郎,30,東京都\n", "cp932"),
        ("Die schöne Frau hat einen Kaffee getrunken, wie üblich über Nacht.\n", "cp1252"),
        (SIMPLIFIED, "utf-16-le"),
        (SIMPLIFIED, "utf-16-be"),
        ("plain words, in two bytes each\n", "utf-16-le"),
        ("plain words, in two bytes each\n", "utf-16-be"),
    ],
)
def test_text_comes_back_with_the_name_of_its_encoding(text: str, encoding: str) -> None:
    decoded = decode(text.encode(encoding))
    assert decoded.text == text
    assert codecs.lookup(decoded.encoding).name == codecs.lookup(encoding).name
    assert not decoded.lossy


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_decides_and_is_no_text(encoding: str) -> None:
    assert decode(SIMPLIFIED.encode(encoding)).text == SIMPLIFIED


def test_stray_zero_bytes_do_not_make_utf8_look_like_utf16() -> None:
    assert decode(b"before\x00after, and more words" * 3).encoding == "utf-8"


def test_a_few_broken_bytes_keep_utf8_and_are_reported() -> None:
    decoded = decode(SIMPLIFIED.encode() + b"\xe8\xae")
    assert decoded.encoding == "utf-8"
    assert decoded.lossy
    assert decoded.text.startswith(SIMPLIFIED)


def test_a_wrong_claim_is_not_believed() -> None:
    assert decode(SIMPLIFIED.encode("gb18030"), declared="utf-8").text == SIMPLIFIED
    assert decode(SIMPLIFIED.encode(), declared="utf-16").text == SIMPLIFIED
    assert decode(SIMPLIFIED.encode("gb18030"), declared="gb2312").encoding == "gb18030"
    assert decode(b"words", declared="no-such-encoding").text == "words"
