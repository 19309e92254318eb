"""What chunking yields: sections (parents, given to the answer) and chunks (children, searched). Plain values."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

from ingestion.parsing.elements import PageBox

ChunkKind = Literal["text", "table", "code", "list"]
Language = Literal["zh", "en", "mixed"]


class TokenCounter(Protocol):
    """Counts as the embedder will: prefix and special tokens of a document included."""

    @property
    def max_tokens(self) -> int: ...

    def count_tokens_batch(self, texts: Sequence[str]) -> list[int]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionDraft:
    """A parent. Elements are counted from 0, both ends included; `token_count` is the sum over its pieces."""

    order: int
    heading_path: tuple[str, ...]
    text: str
    token_count: int
    first_element: int
    last_element: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkDraft:
    """A child of the section whose order is `section`.

    `text` is the body, `embedding_text` has title and heading path before it, `token_count` is the embedder's count of
    that. `page` is the first page, `boxes` are those of the elements `first_element` to `last_element`. The first
    `own_from` characters of `text` are said before it too: header rows, lead-in, overlap. `correction`: see pins.
    """

    order: int
    section: int
    heading_path: tuple[str, ...]
    text: str
    embedding_text: str
    token_count: int
    first_element: int
    last_element: int
    page: int | None
    boxes: tuple[PageBox, ...]
    kind: ChunkKind
    language: Language
    own_from: int = 0
    correction: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkedDocument:
    """`lost`: the corrections whose place was not found."""

    sections: tuple[SectionDraft, ...]
    chunks: tuple[ChunkDraft, ...]
    lost: tuple[int, ...] = ()


class Shape(StrEnum):
    """What kind of text a profile is made for: what it keeps together, and where it prefers to cut."""

    GENERAL = "general"
    MANUAL = "manual"
    CONTRACT = "contract"
    TABLE = "table"
    QA = "qa"
    SLIDES = "slides"
    CODE = "code"
    SEMANTIC = "semantic"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkProfile:
    """Sizes in tokens. A chunk's sizes count all that is embedded; `overlap_ratio` is a share of the target."""

    shape: Shape = Shape.GENERAL
    target_tokens: int = 384
    max_tokens: int = 480
    overlap_ratio: float = 0.2
    section_tokens: int = 1200
    section_max_tokens: int = 1500

    def __post_init__(self) -> None:
        if not 32 <= self.target_tokens <= self.max_tokens:
            raise ValueError("target_tokens must be at least 32 and at most max_tokens")
        if not self.max_tokens <= self.section_tokens <= self.section_max_tokens:
            raise ValueError(
                "a section must hold at least one chunk, and section_tokens at most section_max_tokens"
            )
        if not 0 <= self.overlap_ratio <= 0.5:
            raise ValueError("overlap_ratio must lie between 0 and 0.5")


GENERAL = ChunkProfile()
