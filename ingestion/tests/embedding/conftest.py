"""The real bundled model, converted once and kept between runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ingestion.embedding.conversion import FOLDER
from ingestion.embedding.onnx_e5 import OnnxE5
from ingestion.embedding.registry import replace_embedder
from ingestion.testing import bundled_model_dir


@pytest.fixture(scope="session")
def model_dir() -> Path:
    return bundled_model_dir()


@pytest.fixture(scope="session")
def e5(model_dir: Path) -> OnnxE5:
    return OnnxE5(model_dir / FOLDER, threads=2)


@pytest.fixture
def no_embedder_yet() -> Iterator[None]:
    former = replace_embedder(None)
    yield
    replace_embedder(former)
