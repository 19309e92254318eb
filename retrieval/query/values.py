"""What is understood of a question, as closed values: rules give them, and whatever else may give them is checked alike.

Frozen values, no ORM.
"""

from collections.abc import Mapping
from dataclasses import dataclass
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
    stated: the condition in JSON, as `parse_filters` reads it (collections among them). shown: the value as people write
    it, "" for a period or bounds. label: of an own field.
    """

    name: str
    words: str
    start: int
    end: int
    stated: Mapping[str, Any]
    shown: str = ""
    label: str = ""

    @property
    def key(self) -> str:
        """How the condition is named where it is taken back: the same for the same words of any question."""
        return f"{self.name}:{' '.join(self.words.casefold().split())}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """An earlier question of a conversation, alone, with what its answer cited; only what its reader may see now.

    items: the entries of the answer, if it was a list. sources: (document uid, title) of what it cited. carried: uids of
    documents that `question` has words of.
    """

    question: str
    items: tuple[str, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    carried: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewriting:
    """A question that stands alone, made of one that does not. sources: uids of documents whose words it uses."""

    text: str
    sources: tuple[str, ...] = ()


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
    parts: the questions it consists of, each standing alone; empty for a single one. sources: uids of documents that
    `text` has words of; whoever may not see one of them must not see the text.
    """

    asked: str
    text: str
    search_text: str
    route: Route = Route.PASSAGES
    conditions: tuple[Condition, ...] = ()
    removed: tuple[Condition, ...] = ()
    parts: tuple[str, ...] = ()
    catalogue: CatalogueAsk | None = None
    sources: tuple[str, ...] = ()

    @property
    def is_rewritten(self) -> bool:
        return self.text != self.asked

    def as_json(self) -> dict[str, Any]:
        """What messages and traces keep of it, without what goes without saying."""
        said = {
            "text": self.text if self.is_rewritten else "",
            "sources": list(self.sources),
            "search_text": self.search_text if self.search_text != self.text else "",
            "route": self.route.value if self.route is not Route.PASSAGES else "",
            "conditions": [condition_json(condition) for condition in self.conditions],
            "removed": [condition_json(condition) for condition in self.removed],
            "parts": list(self.parts),
        }
        return {name: value for name, value in said.items() if value}


def without_documents_words(understood: Understanding) -> dict[str, Any]:
    """What a trace keeps: of a question that has words of documents, only which documents and which way."""
    kept = understood.as_json()
    return {name: kept[name] for name in ("sources", "route") if name in kept} if understood.sources else kept


def condition_json(condition: Condition) -> dict[str, Any]:
    """What a page or a client needs to show a condition and to take it back."""
    return {
        "name": condition.name,
        "key": condition.key,
        "words": condition.words,
        "stated": dict(condition.stated),
        "shown": condition.shown,
        "label": condition.label,
    }
