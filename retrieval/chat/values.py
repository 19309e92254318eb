"""Answers and stored messages as one reader may see them. Plain values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from retrieval.values import External


class Progress(StrEnum):
    """How far an answer is. Without an answer are all but the complete ones."""

    ANSWERING = "answering"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCitation:
    """A numbered source of an answer, open to whoever gets this value. `quote` stands in the source as it is here.

    `is_corrected`: in the words of people who corrected the passage, which the file says otherwise. `external`: of one from
    another system, which has no document here.
    """

    n: int
    document_uid: str
    title: str
    version_number: int | None
    page: int | None
    heading_path: tuple[str, ...]
    quote: str
    first_element: int
    last_element: int
    is_corrected: bool = False
    external: External | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownUnderstanding:
    """What was looked for. text: the question standing alone, "" if it was looked for as typed, or if it has words of
    documents that are no longer open. conditions, removed: as `query.values.condition_json` gives them. url: where all
    documents of a list can be looked through.
    """

    text: str = ""
    conditions: tuple[Mapping[str, Any], ...] = ()
    removed: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMessage:
    """A question with its answer. A withdrawn one cites something no longer open: neither answer nor sources are left.

    One that is still being answered, or was interrupted, has neither yet.
    """

    uid: str
    conversation_uid: str
    question: str
    answer: str
    refused: bool
    grounded: bool
    withdrawn: bool
    citations: tuple[ShownCitation, ...]
    degraded: tuple[str, ...]
    trace_id: str
    created_at: datetime
    vote: str = ""
    reason: str = ""
    progress: Progress = Progress.COMPLETE
    understood: ShownUnderstanding = ShownUnderstanding()
