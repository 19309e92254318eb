"""The committed PDF and DOCX files are what the sources make."""

import zipfile
from pathlib import Path

import docx
import pymupdf
import pytest

from ingestion.samples.build import SOURCES, build
from ingestion.samples.catalogue import FILES


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build(tmp_path_factory.mktemp("samples"))


def test_every_source_makes_one_file(built: list[Path]) -> None:
    assert sorted(path.stem for path in built) == sorted(path.stem for path in SOURCES.iterdir())


def test_committed_files_are_up_to_date(built: list[Path]) -> None:
    """Contents are compared, not bytes: compression may differ from one machine to the next."""
    for path in built:
        assert contents(path) == contents(FILES / path.name), (
            f"run python -m ingestion.samples.build: {path.name}"
        )


def test_two_runs_give_the_same_bytes(built: list[Path], tmp_path: Path) -> None:
    again = build(tmp_path)
    assert [path.read_bytes() for path in built] == [path.read_bytes() for path in again]


def test_each_step_list_in_word_counts_from_one(built: list[Path]) -> None:
    """Every list has a numbering of its own."""
    (path,) = [path for path in built if path.name == "information-security.zh.docx"]
    word = docx.Document(str(path))
    steps = [paragraph for paragraph in word.paragraphs if paragraph.style.name == "List Number"]
    (number,) = {paragraph._p.pPr.numPr.numId.val for paragraph in steps}
    numbering = word.part.numbering_part.element.num_having_numId(number)
    assert numbering.xpath("w:lvlOverride/w:startOverride/@w:val") == ["1"]


def contents(path: Path) -> list[object]:
    if path.suffix == ".docx":
        with zipfile.ZipFile(path) as archive:
            return [(name, archive.read(name)) for name in archive.namelist()]
    with pymupdf.open(path) as pdf:
        return [pdf.metadata, pdf.get_toc(), *(page.get_text("words") for page in pdf)]
