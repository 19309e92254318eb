"""A question as the dictionary understands it: which tokens to look for, and what each of them counts. Pure.

Own terms decide the cut, stop words leave tokens out, synonyms add some. Stop words and synonyms act here alone: a
document's tokens are the same with and without them, so that both hold from the next question on.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from ingestion.indexing.analyzer import Cut, Token, cut_question
from ingestion.indexing.lexicon import Phrases, Place, find, leftmost_longest


@dataclass(frozen=True, slots=True, kw_only=True)
class Synonym:
    """keys: folded, in the order of `phrases`, which are as people typed them. weight: in (0, 1]."""

    phrases: tuple[str, ...]
    keys: tuple[str, ...]
    one_way: bool
    weight: float

    def others(self, key: str) -> list[str]:
        """The phrases that one of them stands for: one way, only the first stands for anything."""
        if self.one_way and key != self.keys[0]:
            return []
        return [phrase for phrase, other in zip(self.phrases, self.keys, strict=True) if other != key]


class Synonyms:
    """Groups of phrases, made once and read by many threads. One phrase may be in several groups."""

    __slots__ = ("groups", "phrases")

    def __init__(self, synonyms: Sequence[Synonym] = ()) -> None:
        self.groups: dict[str, list[Synonym]] = {}
        for synonym in synonyms:
            for key in synonym.keys[:1] if synonym.one_way else synonym.keys:
                self.groups.setdefault(key, []).append(synonym)
        self.phrases = Phrases(self.groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dictionary:
    """What holds in one collection: each part first for everything, then the collection's own."""

    terms: tuple[Phrases, ...] = ()
    synonyms: tuple[Synonyms, ...] = ()
    stop_words: tuple[Phrases, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchDictionary:
    """The dictionaries of all that a search may touch, at one revision. Without any, the analyzer alone decides."""

    revision: int = 0
    dictionaries: tuple[Dictionary, ...] = (Dictionary(),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """A synonym that was applied: `said` in the question, `means` as the dictionary writes it.

    replaces: the question's tokens it stands for. tokens: all of which a text must hold to say the same.
    """

    said: str
    means: str
    replaces: tuple[str, ...]
    tokens: tuple[str, ...]
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTerms:
    """weights: 1 for each of the question's own tokens, in their order; less for those that synonyms add."""

    weights: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    own: tuple[str, ...] = ()
    expansions: tuple[Expansion, ...] = ()

    def fulfilled(self, found: Collection[str]) -> dict[str, float]:
        """How far a text with these tokens says each of the question's own: 1, a synonym's weight, or absent for 0."""
        held = frozenset(found)
        shares = {token: 1.0 for token in self.own if token in held}
        for expansion in self.expansions:
            if held.issuperset(expansion.tokens):
                for token in expansion.replaces:
                    shares[token] = max(shares.get(token, 0.0), expansion.weight)
        return shares

    def through(self, found: Collection[str]) -> list[Expansion]:
        """The synonyms by which a text with these tokens was found, each pair of phrases once."""
        held = frozenset(found)
        applied = {(one.said, one.means): one for one in self.expansions if held.issuperset(one.tokens)}
        return list(applied.values())


def question_terms(text: str, dictionary: SearchDictionary) -> QuestionTerms:
    """The union of what the question is in each of the dictionaries: nothing is lost where they differ.

    A token is left out as a stop word only if every dictionary leaves it out.
    """
    readings = [_read(text, one) for one in dictionary.dictionaries]
    own = tuple(dict.fromkeys(token for reading in readings for token in reading.own))
    expansions = tuple(dict.fromkeys(one for reading in readings for one in reading.expansions))
    weights = dict.fromkeys(own, 1.0)
    for expansion in expansions:
        for token in expansion.tokens:
            weights[token] = max(weights.get(token, 0.0), expansion.weight)
    return QuestionTerms(weights=MappingProxyType(weights), own=own, expansions=expansions)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    own: tuple[str, ...]
    expansions: tuple[Expansion, ...]


def _read(text: str, dictionary: Dictionary) -> _Reading:
    cut = cut_question(text, dictionary.terms)
    ignored = ignored_places(cut, dictionary)
    kept = [token for token in cut.tokens if not _is_inside(token, ignored)] or list(cut.tokens)
    expansions = [
        expansion
        for synonyms in dictionary.synonyms
        for place in _aligned(cut, synonyms.phrases)
        for synonym in synonyms.groups[place[0]]
        for expansion in _expand(cut, place, synonym, dictionary)
    ]
    return _Reading(own=tuple(dict.fromkeys(token for token, _, _ in kept)), expansions=tuple(expansions))


def ignored_places(cut: Cut, dictionary: Dictionary) -> list[Place]:
    """Where stop words of the dictionary stand in a question."""
    return find(dictionary.stop_words, cut.text) if dictionary.stop_words else []


def _is_inside(token: Token, places: Sequence[Place]) -> bool:
    return any(start <= token[1] and token[2] <= end for _phrase, start, end in places)


def _aligned(cut: Cut, phrases: Phrases) -> list[Place]:
    """Phrases in the question that begin and end where words do: 「和平」 is not in 「中和平台」."""
    places = phrases.places(cut.text.lower())
    return leftmost_longest(
        place for place in places if _is_word_end(cut, place[1]) and _is_word_end(cut, place[2])
    )


def _is_word_end(cut: Cut, at: int) -> bool:
    ends = {offset for _token, start, end in cut.tokens for offset in (start, end)}
    return at in ends or not any(start < at < end for _token, start, end in cut.tokens)


def _expand(cut: Cut, place: Place, synonym: Synonym, dictionary: Dictionary) -> list[Expansion]:
    key, start, end = place
    inside = (token for token, first, last in cut.tokens if start <= first and last <= end)
    names = tuple(dict.fromkeys(inside))
    expansions = []
    for phrase in synonym.others(key):
        tokens = tuple(dict.fromkeys(token for token, _, _ in cut_question(phrase, dictionary.terms).tokens))
        if tokens and names:
            said = cut.text[start:end]
            expansions.append(
                Expansion(said=said, means=phrase, replaces=names, tokens=tokens, weight=synonym.weight)
            )
    return expansions
