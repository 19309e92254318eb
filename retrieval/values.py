"""What travels through a search: the request, candidates, passages, the result. Frozen values, no ORM.

Texts are cleaned and limits are checked when a value is made, so that every door (API, page, command) behaves alike.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from ingestion.dictionary.questions import Expansion, through
from kb_platform.errors import InvalidInput
from retrieval.filters import Filters
from retrieval.query.values import Round, Understanding
from retrieval.search_settings import SearchSettings

MAX_QUERY_CHARACTERS = 2_000
MAX_TOP_K = 100
MAX_OFFSET = 1_000
_UNSTORABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


Key = int | str
"""Names a candidate: the id of a chunk, or `ext:…` for a passage that a channel brought along from elsewhere."""


class Mode(StrEnum):
    """Which channels a search may use."""

    HYBRID = "hybrid"
    DENSE = "dense"
    LEXICAL = "lexical"

    def uses(self, channel: str) -> bool:
        return self is Mode.HYBRID or self.value == channel


def clean_question(text: str, *, field_name: str = "query") -> str:
    """The text without characters that no database keeps (NUL, controls, lone surrogates), stripped.

    Raises InvalidInput, naming `field_name`, if nothing is left or more than MAX_QUERY_CHARACTERS are.
    """
    cleaned = _UNSTORABLE.sub("", text).strip()
    if not cleaned:
        raise InvalidInput(
            fields={field_name: _("Type a question, or some words to search for.")}, code="empty_query"
        )
    if len(cleaned) > MAX_QUERY_CHARACTERS:
        sentence = _("A question may have up to %(limit)d characters; this one has %(length)d.") % {
            "limit": MAX_QUERY_CHARACTERS,
            "length": len(cleaned),
        }
        raise InvalidInput(sentence, fields={field_name: sentence}, code="query_too_long")
    return cleaned


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """One question to the index. `top_k` and `offset` cut a page out of a pool that does not depend on them.

    settings: None for those of the settings pages. history: earlier rounds of the conversation, as the reader may see them
    now. without: keys of conditions in the text that the reader has taken back.
    """

    text: str
    filters: Filters = field(default_factory=Filters)
    mode: Mode = Mode.HYBRID
    top_k: int = 10
    offset: int = 0
    settings: SearchSettings | None = None
    history: tuple[Round, ...] = ()
    without: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", clean_question(self.text))
        for name, low, high in (("top_k", 1, MAX_TOP_K), ("offset", 0, MAX_OFFSET)):
            if not low <= getattr(self, name) <= high:
                raise InvalidInput(
                    fields={
                        name: _("Give a whole number from %(low)d to %(high)d.") % {"low": low, "high": high}
                    }
                )

    @property
    def has_words(self) -> bool:
        """Whether there is anything to look for: a question of emoji or punctuation has no answer."""
        return any(character.isalnum() for character in self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A chunk found by one channel. The score's scale is the channel's own (BM25, cosine); higher is better."""

    chunk_id: Key
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelHit:
    """Where a channel ranked a chunk, from 1, and by what score."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A chunk after fusion: ids and numbers only. `channels` holds a hit for each channel that found it."""

    chunk_id: Key
    score: float
    channels: Mapping[str, ChannelHit]


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    """Where a passage from another system stands there. url: a link to the web, or "" if there is none.

    allowed: the values of a record's field that its reader was limited to when it was found, None for no limit.
    """

    source_uid: str
    source_name: str
    url: str
    allowed: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk that the reader may read, with all that showing, citing and answering from it need.

    `terms` are the question's tokens found in it; `boxes` are `PageBox` values as JSON objects. What
    `is_corrected` says something else than the file does, as people corrected it. `also_in`: passages further down that
    say the same, folded into this one. `external`: of a passage from another system, which has no document here.
    """

    chunk_id: Key
    document_id: int
    document_uid: str
    version_id: int
    version_number: int
    title: str
    collection_uid: str
    collection_name: str
    text: str
    embedding_text: str
    kind: str
    language: str
    heading_path: tuple[str, ...]
    page: int | None
    boxes: tuple[Mapping[str, Any], ...]
    first_element: int
    last_element: int
    score: float
    channels: Mapping[str, ChannelHit]
    terms: tuple[str, ...] = ()
    is_corrected: bool = False
    also_in: tuple["Passage", ...] = ()
    external: External | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectAnswer:
    """An answer that is known rather than composed: a kept answer, rows of a table, a list of documents.

    kind: "faq", "table" or "catalogue". text: plain, with markers [1]… for the `passages` in their order. detail: how it
    came about, as JSON values.
    """

    kind: str
    text: str
    passages: tuple[Passage, ...]
    detail: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


class EvidenceLevel(StrEnum):
    """How far the best passages support an answer at all."""

    ENOUGH = "enough"
    WEAK = "weak"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The verdict with its two measures: the best cosine among the first passages (None when meaning was not
    compared), and the largest share of the question's idf mass that one of the first passages holds, 0..1."""

    level: EvidenceLevel
    cosine: float | None
    coverage: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SearchResult:
    """One page of passages, best first. `degraded` names the channels that were asked for and did not work.

    direct: an answer that is known already, else None. notes: codes of what else the reader should know.
    understanding: what was looked for; None where nothing was understood.
    total_estimate: candidates that the reader may read. idf: the weight of each distinct term of the question.
    expansions: the synonyms that were looked for as well.
    query_vector: float32 (dimension,), None when the question was not embedded.
    """

    passages: tuple[Passage, ...]
    evidence: Evidence
    degraded: tuple[str, ...] = ()
    direct: DirectAnswer | None = None
    notes: tuple[str, ...] = ()
    understanding: Understanding | None = None
    total_estimate: int = 0
    trace_id: str = ""
    timings_ms: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    idf: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    expansions: tuple[Expansion, ...] = ()
    query_vector: NDArray[np.float32] | None = None

    def asked(self, typed: str) -> str:
        """The question that the passages answer, standing alone."""
        return self.understanding.text if self.understanding else typed

    def synonyms_in(self, passage: Passage) -> list[Expansion]:
        """Those by which a passage says something of the question."""
        return through(self.expansions, passage.terms)
