"""What is understood of a question, as closed values: rules give them, and whatever else may give them is checked alike.

Frozen values, no ORM.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Route(StrEnum):
    """By which way a question is answered. Table questions and frequent questions decide for themselves later."""

    PASSAGES = "passages"
    CATALOGUE = "catalogue"
    TABLE = "table"
    FAQ = "faq"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition on documents that a question states in `words`, which stand at `start` to `end` of it.

    name: what it narrows: a filter's name, "collections", "metadata.<key>", or "modified" for both ends of a period.
    stated: the condition in JSON, as `parse_filters` reads it (collections among them).
    """

    name: str
    words: str
    start: int
    end: int
    stated: Mapping[str, Any]

    @property
    def key(self) -> str:
        """How the condition is named where it is taken back: the same for the same words of any question."""
        return f"{self.name}:{' '.join(self.words.casefold().split())}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """An earlier question of a conversation, alone, with what its answer cited; only what its reader may see now.

    items: the entries of the answer, if it was a list. sources: (document id, title) of what it cited.
    """

    question: str
    items: tuple[str, ...] = ()
    sources: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewriting:
    """A question that stands alone, made of one that does not. sources: ids of documents whose words it uses."""

    text: str
    sources: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueAsk:
    """A question about the documents themselves.

    wants: "count", "list" or "newest". topic: what they are to be about; "" for any.
    """

    wants: str
    topic: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Understanding:
    """asked: the question as typed. text: the same, standing alone. search_text: without words that became conditions.

    conditions: those that apply. removed: those that were found and that the reader does not want.
    parts: the questions it consists of, each standing alone; empty for a single one.
    """

    asked: str
    text: str
    search_text: str
    route: Route = Route.PASSAGES
    conditions: tuple[Condition, ...] = ()
    removed: tuple[Condition, ...] = ()
    parts: tuple[str, ...] = ()
    catalogue: CatalogueAsk | None = None
    sources: tuple[int, ...] = field(default=())

    @property
    def is_rewritten(self) -> bool:
        return self.text != self.asked
