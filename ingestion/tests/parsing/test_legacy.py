"""DOC and PPT through another program, or a sentence where it is not installed."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from ingestion.parsing import legacy
from ingestion.parsing.confinement import CannotConfine
from ingestion.parsing.elements import Kind
from ingestion.parsing.errors import Rejected, reason_text
from ingestion.parsing.formats import Source
from ingestion.parsing.sandbox import parse_file
from ingestion.tests.parsing.builders import p, word
from ingestion.tests.parsing.office import line, ole, package, shape, slides

PLAIN = ole("WordDocument", struct.pack("<HHHHHH", 0xA5EC, 0xC1, 0, 0, 0, 0))


def program(folder: Path, script: str) -> str:
    """A stand-in that is started like LibreOffice: the folder for its result is in $OUT."""
    path = folder / "soffice"
    path.write_text(f'#!/bin/sh\nwhile [ "$1" != --outdir ]; do shift; done\nOUT="$2"\n{script}\n')
    path.chmod(0o755)
    return str(path)


def read(data: bytes, scratch: Path, monkeypatch: pytest.MonkeyPatch, found: str | None) -> object:
    monkeypatch.setattr(legacy, "which", lambda _name, path: found)
    monkeypatch.setattr(legacy, "confinement", lambda **_paths: None)
    try:
        return legacy.parse(Source(data=data, file_name="a.doc", scratch=str(scratch)))
    except Rejected as verdict:
        return verdict


def test_what_the_program_makes_is_read_as_the_new_format(tmp_path, monkeypatch) -> None:
    (tmp_path / "made.docx").write_bytes(word(p("总则", style="1") + p("正文。")))
    found = program(tmp_path, f'mkdir "$OUT" && cp {tmp_path}/made.docx "$OUT/source.docx"')
    document = read(PLAIN, tmp_path, monkeypatch, found)
    assert [(e.kind, e.text) for e in document.elements] == [
        (Kind.HEADING, "总则"),
        (Kind.PARAGRAPH, "正文。"),
    ]
    assert document.media_type == "application/msword"
    assert "BlockUntrustedRefererLinks" in (tmp_path / "profile/user/registrymodifications.xcu").read_text()


def test_opendocument_presentations_go_the_same_way(tmp_path, monkeypatch) -> None:
    (tmp_path / "made.pptx").write_bytes(slides(shape(line("Plan"), role="title")))
    found = program(tmp_path, f'mkdir "$OUT" && cp {tmp_path}/made.pptx "$OUT/source.pptx"')
    document = read(package("content.xml", {"content.xml": "<x/>"}), tmp_path, monkeypatch, found)
    assert [e.text for e in document.elements] == ["Plan"]


def test_without_the_program_the_reason_says_what_to_do(tmp_path, monkeypatch) -> None:
    verdict = read(PLAIN, tmp_path, monkeypatch, None)
    assert reason_text(verdict.code, verdict.params) == (
        "DOC files are read with the program LibreOffice, which is not available here. Save the file as DOCX and upload that."
    )


def test_where_the_program_cannot_be_confined_it_is_not_run(tmp_path, monkeypatch) -> None:
    def refuse(**_paths: object) -> None:
        raise CannotConfine

    monkeypatch.setattr(legacy, "which", lambda _name, path: program(tmp_path, "exit 0"))
    monkeypatch.setattr(legacy, "confinement", refuse)
    with pytest.raises(Rejected) as caught:
        legacy.parse(Source(data=PLAIN, scratch=str(tmp_path)))
    assert caught.value.code == "needs_program"


@pytest.mark.parametrize(
    ("data", "script", "code"),
    [
        (PLAIN, "exit 1", "corrupt"),
        (PLAIN, "sleep 5", "too_complex"),
        (PLAIN, "kill -KILL $$", "too_complex"),
        (ole("WordDocument", struct.pack("<HHHHHH", 0xA5EC, 0xC1, 0, 0, 0, 0x0100)), "exit 1", "encrypted"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(40), "exit 1", "corrupt"),
    ],
)
def test_reasons_for_files_that_cannot_be_read(data, script, code, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(legacy, "TIMEOUT_S", 0.2)
    assert read(data, tmp_path, monkeypatch, program(tmp_path, script)).code == code


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_a_real_file_goes_through_the_sandbox(tmp_path) -> None:
    (tmp_path / "a.rtf").write_text(r"{\rtf1\ansi Scope of work.\par It covers all sites.\par}")
    subprocess.run(
        [
            "soffice",
            f"-env:UserInstallation=file://{tmp_path}/profile",
            "--headless",
            "--convert-to",
            "doc",
            "--outdir",
            tmp_path,
            tmp_path / "a.rtf",
        ],
        check=True,
        capture_output=True,
    )
    document = parse_file(tmp_path / "a.doc", file_name="a.doc")
    assert [e.text for e in document.elements] == ["Scope of work.", "It covers all sites."]


def test_no_folder_that_others_use_is_open_to_the_program(tmp_path, monkeypatch) -> None:
    """Sites stand below /opt, and databases share memory in /dev/shm."""
    asked: dict[str, tuple[str, ...]] = {}
    monkeypatch.setattr(legacy, "which", lambda _name, path: "/opt/libreoffice/program/soffice")

    def refuse(**paths: tuple[str, ...]) -> None:
        asked.update(paths)
        raise CannotConfine

    monkeypatch.setattr(legacy, "confinement", refuse)
    with pytest.raises(Rejected):
        legacy.parse(Source(data=PLAIN, file_name="a.doc", scratch=str(tmp_path)))
    assert [path for path in asked["read"] if path.startswith("/opt")] == ["/opt/libreoffice"]
    assert {"/dev", "/dev/shm"}.isdisjoint(asked["write"])
