"""An operator's own embedding model: a sentence-transformers folder on this machine, run by torch on the CPU.

Imported only when KB_EMBEDDER names a folder: it costs seconds to load and hundreds of megabytes.
"""

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from ingestion.embedding.errors import EmbedderUnavailable
from ingestion.embedding.protocol import Vectors
from ingestion.embedding.strings import tokenizable

BATCH = 8
_NOT_PART_OF_THE_MODEL = {".md", ".png"}


class SentenceTransformersFolder:
    """Embedder over a folder; prefixes are the folder's own prompts `query` and `document`. No centring."""

    def __init__(self, folder: Path, *, threads: int) -> None:
        """Raises EmbedderUnavailable if `folder` holds no model that sentence-transformers can load offline."""
        if not (folder / "modules.json").is_file():
            raise EmbedderUnavailable(f"{folder} is no sentence-transformers folder: it has no modules.json")
        torch.set_num_threads(threads)
        try:
            self._model = SentenceTransformer(
                str(folder),
                device="cpu",
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"dtype": torch.float32},  # half precision is many times slower on CPUs
            )
        except Exception as error:  # the library raises whatever its parts raise
            raise EmbedderUnavailable(f"the model in {folder} cannot be loaded: {error}") from error
        self._tokenizer = self._model.tokenizer
        self._one_at_a_time = threading.Lock()  # its tokenizer changes truncation while it works
        self._digest = folder_digest(folder)
        self._name = folder.name
        self._document_prefix = (self._model.prompts or {}).get("document") or ""
        self.dimension = len(self.embed_query(""))
        self.max_tokens = int(self._model.max_seq_length or self._tokenizer.model_max_length)

    @property
    def fingerprint(self) -> str:
        return (
            f"sentence-transformers {self._name} files={self._digest[:16]} dim={self.dimension} "
            f"max={self.max_tokens} norm=l2 centring=none"
        )

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        with self._one_at_a_time:
            vectors = self._model.encode_document(
                [tokenizable(text) for text in texts],
                batch_size=BATCH,
                normalize_embeddings=True,
                show_progress_bar=False,
            )
        return np.asarray(vectors, dtype=np.float32)

    def embed_query(self, text: str) -> Vectors:
        with self._one_at_a_time:
            vector = self._model.encode_query(
                tokenizable(text), normalize_embeddings=True, show_progress_bar=False
            )
        return np.asarray(vector, dtype=np.float32)

    def raw_cosines(
        self, query: str, query_vector: Vectors, texts: Sequence[str], vectors: Vectors
    ) -> Vectors:
        return np.asarray(vectors @ query_vector)

    def count_tokens(self, text: str) -> int:
        return self.count_tokens_batch([text])[0]

    def count_tokens_batch(self, texts: Sequence[str]) -> list[int]:
        if not texts:
            return []
        prefixed = [self._document_prefix + tokenizable(text) for text in texts]
        with self._one_at_a_time:
            encoded = self._tokenizer(prefixed, truncation=False, padding=False, verbose=False)
        return [len(ids) for ids in encoded["input_ids"]]


def folder_digest(folder: Path) -> str:
    """SHA-256 over names and contents of the files of a model folder; notes and hidden files do not count."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if (
            path.is_file()
            and path.suffix.lower() not in _NOT_PART_OF_THE_MODEL
            and not str(name).startswith(".")
        ):
            total.update(f"{name.as_posix()}\0{_file_digest(path)}\n".encode())
    return total.hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
