"""Data files, subtitles and source code: paths, times and names stay with what they say."""

import pytest

from ingestion.parsing import source_code, structured, subtitles
from ingestion.parsing.elements import Kind, ParsedDocument
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source


def read(text: str, name: str) -> ParsedDocument:
    module = {"srt": subtitles, "vtt": subtitles, "py": source_code, "lua": source_code, "ts": source_code}
    return module.get(name.rpartition(".")[2], structured).parse(Source(data=text.encode(), file_name=name))


def shown(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(element.kind.value, element.text) for element in document.elements]


def test_values_keep_their_path_and_like_records_make_a_table() -> None:
    long = "Bring the pump to zero pressure before the housing is opened. " * 6
    text = f'{{"title": "Plant", "site": {{"town": "无锡", "lines": [1, 2]}}, "pumps": [{{"id": "P1", "bar": 3}}, {{"id": "P2", "bar": null}}], "safety": {{"note": "{long}"}}}}'
    document = read(text, "plant.json")
    assert document.title == "Plant"
    assert shown(document) == [
        ("paragraph", "title: Plant\nsite.town: 无锡\nsite.lines: 1, 2"),
        ("heading", "pumps"),
        ("table", "id | bar\nP1 | 3\nP2 | "),
        ("heading", "safety"),
        ("paragraph", f"note: {long}"),
    ]


def test_json_lines_keep_a_broken_line_and_broken_json_is_read_as_text() -> None:
    document = read('{"a": 1, "b": 2}\n{"a": 3, "b": 4}\n{"a": 5,\n', "log.jsonl")
    assert ("table", "a | b\n1 | 2\n3 | 4") in shown(document)
    assert ("paragraph", '{"a": 5,') in shown(document)
    assert document.quality.warnings == ("lines_failed:3",)
    loose = read("{\n// a comment\nkey: 'value',\n}", "settings.json")
    assert "key: 'value'," in "".join(element.text for element in loose.elements)
    assert loose.quality.warnings == ("not_well_formed:JSON",)


def test_yaml_keeps_comments_tags_and_several_documents() -> None:
    document = read("# The gateway.\nhost: !Sub ${x}\nday: 2024-01-01\n---\nhost: b\nday: c\n", "a.yaml")
    assert ("table", "host | day\n${x} | 2024-01-01\nb | c") in shown(document)
    assert ("note", "The gateway.") in shown(document)


def test_xml_says_attributes_and_running_text_and_follows_no_entity() -> None:
    document = read(
        '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/hostname">]>'
        '<manual xmlns="urn:x"><title>Pump</title><p id="1">Turn the <b>red</b> valve.&e;</p></manual>',
        "a.xml",
    )
    assert document.title == "Pump"
    assert shown(document) == [
        ("paragraph", "manual.title: Pump\nmanual.p.@id: 1\nmanual.p: Turn the red valve.&e;")
    ]


def _aliases() -> str:
    """Nine levels of nine references each: a few hundred bytes that stand for 400 million values."""
    lines = ["k0: &k0 [x, x]"]
    lines += [f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 9)}]" for n in range(1, 10)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("[" * 5_000 + "]" * 5_000, "a.json"),
        ("<a>" * 5_000 + "</a>" * 5_000, "a.xml"),
        (_aliases(), "a.yaml"),
    ],
)
def test_bombs_of_data_end(text: str, name: str) -> None:
    with pytest.raises(Rejected) as caught:
        read(text, name)
    assert caught.value.code in {"too_complex", "too_large"}


def test_subtitles_become_passages_with_their_time() -> None:
    document = read(
        "WEBVTT\n\nNOTE made by hand\n\n00:01.000 --> 00:03.000\n<v Ada>Close the &amp; valve.\n\n"
        "00:03.500 --> 00:05.000 align:start\nClose the & valve. Then wait.\n\n01:00:10.000 --> 01:00:12.000\n第二部分。\n",
        "a.vtt",
    )
    assert shown(document) == [
        ("heading", "00:00:00 – 00:05:00"),
        ("paragraph", "[00:00:01] Ada: Close the & valve. Close the & valve. Then wait."),
        ("heading", "01:00:00 – 01:00:12"),
        ("paragraph", "[01:00:10] 第二部分。"),
    ]
    with pytest.raises(Rejected):
        read("no cue at all", "a.srt")


def test_source_code_is_told_by_definition_and_no_line_is_lost() -> None:
    text = "import os\n\n\n# Opens a valve.\n@cache\ndef open_valve(number: int) -> bool:\n    return True\n\n\nLIMIT = 3\n"
    document = read(text, "a.py")
    assert shown(document) == [
        ("code", "import os"),
        ("heading", "def open_valve(number: int) -> bool"),
        ("code", "# Opens a valve.\n@cache\ndef open_valve(number: int) -> bool:\n    return True"),
        ("code", "LIMIT = 3"),
    ]


def test_members_of_a_long_class_stand_below_it_and_unknown_languages_are_cut_at_blank_lines() -> None:
    body = "\n".join(f"  method{n}(a: string) {{\n    return {n};\n  }}\n" for n in range(15))
    document = read(f"export class Pump {{\n{body}\n}}\n", "pump.ts")
    headings = [(e.level, e.text) for e in document.elements if e.kind is Kind.HEADING]
    assert headings[:2] == [(1, "class Pump"), (2, "method0(a: string)")]
    assert len(headings) == 16
    lua = read("\n".join(["x = 1", ""] * 50), "a.lua")
    assert [element.kind for element in lua.elements] == [Kind.CODE] * 2
