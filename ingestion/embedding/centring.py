"""Taking the language out of a vector, so that a question finds passages of the other language.

A raw e5 vector is ruled by its language. Subtracting most of the mean vector of that language before normalising
leaves the meaning. Texts of mixed language get the means mixed by their share of CJK characters.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import Literal, Self

import numpy as np

from ingestion.embedding.errors import EmbedderUnavailable
from ingestion.embedding.protocol import Vectors

FACTOR = 0.9
SHARE_OF_PURE_CHINESE = 0.3  # from this share of CJK characters on, the Chinese mean alone is taken
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_LATIN_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+")

Side = Literal["query", "document"]


def cjk_share(text: str) -> float:
    """CJK characters / (CJK characters + Latin words), 0..1; 0 for a text without either."""
    characters = len(_CJK.findall(text))
    total = characters + len(_LATIN_WORD.findall(text))
    return characters / total if total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageCentring:
    """Means of unit e5 vectors, float32 (2, dimension) each: row 0 English, row 1 Chinese."""

    query: Vectors
    document: Vectors
    factor: float = FACTOR
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        if self.query.shape != self.document.shape or len(self.query) != 2:
            raise ValueError(
                f"two means of equal shape expected, got {self.query.shape}, {self.document.shape}"
            )
        content = self.query.astype("<f4").tobytes() + self.document.astype("<f4").tobytes()
        object.__setattr__(self, "digest", hashlib.sha256(content).hexdigest()[:8])

    @classmethod
    def bundled(cls) -> Self:
        """The means that come with the code, measured on several public sources in each language."""
        with as_file(files("ingestion.embedding") / "language_means.npz") as path, np.load(path) as means:
            return cls(query=means["q"], document=means["p"])

    @classmethod
    def read(cls, path: Path) -> Self:
        """Means that `write` has kept. Raises EmbedderUnavailable when the file is missing or something else."""
        try:
            with np.load(path) as means:
                return cls(query=means["q"], document=means["p"])
        except (OSError, KeyError, ValueError) as error:
            raise EmbedderUnavailable(f"the means in {path} cannot be read: {error}") from error

    @classmethod
    def none(cls, dimension: int) -> Self:
        """Leaves vectors as the model makes them."""
        nothing = np.zeros((2, dimension), dtype=np.float32)
        return cls(query=nothing, document=nothing)

    def write(self, path: Path) -> None:
        with path.open("wb") as file:
            np.savez(file, q=self.query, p=self.document)

    def centre(self, raw: Vectors, texts: Sequence[str], side: Side) -> Vectors:
        """Unit vectors (n, dimension) of the model -> centred unit vectors of the same shape."""
        centred = raw - self._offsets(texts, side)
        return _as_float32(centred / np.linalg.norm(centred, axis=1, keepdims=True))

    def restore(self, centred: Vectors, texts: Sequence[str], side: Side) -> Vectors:
        """The inverse of `centre`: the unit vectors (n, dimension) of the model.

        The length lost by normalising follows from the model's vectors being of length 1:
        |length * centred + offset| = 1.
        """
        offsets = self._offsets(texts, side)
        along = np.sum(centred * offsets, axis=1, keepdims=True)
        rest = 1 - np.sum(offsets * offsets, axis=1, keepdims=True)
        length = np.sqrt(np.maximum(along * along + rest, 0)) - along
        return _as_float32(length * centred + offsets)

    def _offsets(self, texts: Sequence[str], side: Side) -> Vectors:
        english, chinese = self.query if side == "query" else self.document
        shares = np.array([cjk_share(text) for text in texts], dtype=np.float32)
        weights = np.minimum(1, shares / SHARE_OF_PURE_CHINESE)[:, None]
        return _as_float32(self.factor * ((1 - weights) * english + weights * chinese))


def _as_float32(array: Vectors) -> Vectors:
    return np.asarray(array, dtype=np.float32)
