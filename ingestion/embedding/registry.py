"""The embedder of this process: chosen by the setting EMBEDDER, loaded once, at first use."""

import os
import threading
from pathlib import Path

from django.conf import settings

from ingestion.embedding.centring import LanguageCentring
from ingestion.embedding.conversion import ensure_converted
from ingestion.embedding.errors import EmbedderUnavailable
from ingestion.embedding.protocol import Embedder

BUNDLED = "bundled"

_lock = threading.Lock()
_current: Embedder | None = None


def get_embedder() -> Embedder:
    """The process's embedder. The first call loads it (about 1 s), and converts the bundled model if it is missing.

    Raises EmbedderUnavailable; the next call tries again.
    """
    global _current
    if (embedder := _current) is not None:
        return embedder
    with _lock:
        if _current is None:
            _current = _load()
        return _current


def replace_embedder(embedder: Embedder | None) -> Embedder | None:
    """Put another embedder in place (None: load anew at next use) and return the former one."""
    global _current
    with _lock:
        former, _current = _current, embedder
    return former


def configured_folder() -> Path | None:
    """The operator's own model folder, or None for the bundled model. Raises EmbedderUnavailable if it is missing."""
    if settings.EMBEDDER == BUNDLED:
        return None
    folder = Path(settings.EMBEDDER).expanduser()
    if not folder.is_dir():
        raise EmbedderUnavailable(
            f"KB_EMBEDDER={settings.EMBEDDER!r} must be {BUNDLED!r} or the path of a sentence-transformers folder"
        )
    return folder


def _load() -> Embedder:
    threads = settings.EMBEDDER_THREADS
    if folder := configured_folder():
        from ingestion.embedding.sentence_transformers_folder import SentenceTransformersFolder  # loads torch

        return SentenceTransformersFolder(folder, threads=threads)
    from ingestion.embedding.onnx_e5 import OnnxE5  # onnxruntime: only where something is embedded

    return OnnxE5(ensure_converted(settings.MODEL_DIR), threads=threads, centring=_configured_means())


def uncentred_embedder() -> Embedder:
    """The bundled model's own vectors, from which new means are measured. Raises EmbedderUnavailable for another model."""
    if configured_folder():
        raise EmbedderUnavailable("means are only used with the bundled model; KB_EMBEDDER names another one")
    from ingestion.embedding.onnx_e5 import DIMENSION, OnnxE5

    folder = ensure_converted(settings.MODEL_DIR)
    return OnnxE5(folder, threads=settings.EMBEDDER_THREADS, centring=LanguageCentring.none(DIMENSION))


def _configured_means() -> LanguageCentring | None:
    return LanguageCentring.read(Path(settings.LANGUAGE_MEANS)) if settings.LANGUAGE_MEANS else None


def _forget_after_fork() -> None:
    """The threads of an inference session do not survive a fork, nor need the lock be free."""
    global _current, _lock
    _current, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_after_fork)
