import sys
from pathlib import Path

import numpy as np
import pytest

from ingestion.embedding import weights
from ingestion.embedding.errors import EmbedderUnavailable
from ingestion.embedding.weights import Q4Matrix, bundled_path, read_weights


@pytest.fixture(scope="module")
def bundled():
    return read_weights(bundled_path())


def test_the_package_is_never_imported(bundled):
    assert weights.PACKAGE not in sys.modules


def test_sizes_and_special_tokens(bundled):
    assert (bundled.shape.layers, bundled.shape.hidden, bundled.shape.positions) == (12, 384, 512)
    vocabulary = bundled.vocabulary
    specials = [
        vocabulary.pieces[i] for i in (vocabulary.bos, vocabulary.pad, vocabulary.eos, vocabulary.unknown)
    ]
    assert specials == ["<s>", "<pad>", "</s>", "<unk>"]


def test_matrices_and_vectors_have_their_shapes(bundled):
    assert bundled.matrix("l0.fo.w", 1536).dense().shape == (384, 1536)
    assert bundled.vector("l11.oln.w").shape == (384,)
    with pytest.raises(EmbedderUnavailable, match=r"l0\.q\.w"):
        bundled.vector("l0.q.w")


def test_a_4bit_matrix_decodes_to_shifted_nibbles_times_scale():
    nibbles = np.tile(np.arange(16, dtype=np.uint8), (2, 2))
    matrix = Q4Matrix(nibbles=nibbles, scales=np.array([[0.5], [2.0]], dtype=np.float32))
    assert matrix.dense()[0, :3].tolist() == [-4.0, -3.5, -3.0]
    assert matrix.dense()[1, 15] == 14.0
    assert matrix.packed()[0, :2].tolist() == [0x10, 0x32]


def test_another_file_is_refused_with_both_hashes(tmp_path: Path):
    path = tmp_path / "e5-small-q4.bin"
    path.write_bytes(b"E5S1 something else")
    with pytest.raises(EmbedderUnavailable, match=weights.SHA256):
        read_weights(path)


def test_an_unreadable_file_is_named(tmp_path: Path):
    with pytest.raises(EmbedderUnavailable, match=r"absent\.bin"):
        read_weights(tmp_path / "absent.bin")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(weights, "PACKAGE", "no_such_package_here")
    with pytest.raises(EmbedderUnavailable, match="no_such_package_here is not installed"):
        bundled_path()
