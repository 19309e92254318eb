import threading
from pathlib import Path

import pytest

from ingestion.embedding import conversion
from ingestion.embedding.conversion import FOLDER, MANIFEST, NETWORK, ensure_converted, is_complete
from ingestion.embedding.errors import EmbedderUnavailable


@pytest.fixture
def runs(monkeypatch) -> list[Path]:
    """Stand-in for the child process: writes two small files and notes each run."""
    done: list[Path] = []

    def write(target: Path) -> None:
        done.append(target)
        (target / NETWORK).write_text("network")
        (target / MANIFEST).write_text(f'{{"{NETWORK}": 7}}')

    monkeypatch.setattr(conversion, "_run_child", write)
    return done


def test_converts_once_and_then_finds_it(tmp_path, runs):
    first, second = ensure_converted(tmp_path / "models"), ensure_converted(tmp_path / "models")
    assert first == second == tmp_path / "models" / FOLDER
    assert len(runs) == 1


def test_callers_at_the_same_time_convert_once(tmp_path, runs):
    threads = [threading.Thread(target=ensure_converted, args=(tmp_path,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runs) == 1
    assert is_complete(tmp_path / FOLDER)


def test_a_truncated_folder_is_converted_anew(tmp_path, runs):
    folder = ensure_converted(tmp_path)
    (folder / NETWORK).write_text("net")
    assert not is_complete(folder)
    assert is_complete(ensure_converted(tmp_path))
    assert len(runs) == 2


@pytest.mark.parametrize("manifest", ["", "[]", "{", '{"absent.onnx": 1}'])
def test_a_damaged_manifest_means_incomplete(tmp_path, manifest):
    (tmp_path / MANIFEST).write_text(manifest)
    assert not is_complete(tmp_path)


def test_a_failed_conversion_leaves_nothing_and_tells_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(conversion, "_PROJECT", tmp_path)  # the child cannot find the project's modules there
    with pytest.raises(EmbedderUnavailable, match=r"could not be converted: .*ingestion"):
        ensure_converted(tmp_path / "models")
    assert [path.name for path in (tmp_path / "models").iterdir()] == [f".{FOLDER}.lock"]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EmbedderUnavailable, match="file cannot be written"):
        ensure_converted(tmp_path / "file")


def test_the_real_conversion_makes_a_complete_folder(model_dir):
    assert is_complete(model_dir / FOLDER)
