"""A question as the dictionary understands it: which tokens to look for, and what each of them counts. Pure.

Own terms decide the cut, stop words leave tokens out, synonyms add some. Stop words and synonyms act here alone: a
document's tokens are the same with and without them, so that both hold from the next question on.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

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
    """Groups of phrases, made once and read by many threads. One phrase may be in several groups.

    collection: the one whose documents they hold for, None for all.
    """

    __slots__ = ("collection", "groups", "phrases")

    def __init__(self, synonyms: Sequence[Synonym] = (), *, collection: int | None = None) -> None:
        self.collection = collection
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
    collection: the one whose documents it holds for, None for all.
    """

    said: str
    means: str
    replaces: tuple[str, ...]
    tokens: tuple[str, ...]
    weight: float
    collection: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTerms:
    """weights: 1 for each of the question's own tokens, in their order; less for those that synonyms add."""

    weights: Mapping[str, float] = field(default_factory=dict)
    own: tuple[str, ...] = ()
    expansions: tuple[Expansion, ...] = ()

    @property
    def lesser(self) -> dict[str, float]:
        """The weights below 1."""
        return {token: weight for token, weight in self.weights.items() if weight < 1}

    @property
    def own_collections(self) -> frozenset[int]:
        """The collections that brought synonyms of their own."""
        return frozenset(one.collection for one in self.expansions if one.collection is not None)

    def looked_for_in(self, collection: int | None, found: Sequence[str]) -> tuple[str, ...]:
        """Of the tokens found in a document's text those that are looked for in its collection."""
        here = set(self.own)
        for one in self.expansions:
            if one.collection in (None, collection):
                here.update(one.tokens)
        return tuple(token for token in found if token in here)

    def fulfilled(self, found: Collection[str]) -> dict[str, float]:
        """How far a text with these tokens says each of the question's own: 1, a synonym's weight, or absent for 0."""
        held = frozenset(found)
        shares = {token: 1.0 for token in self.own if token in held}
        for expansion in self.expansions:
            if held.issuperset(expansion.tokens):
                for token in expansion.replaces:
                    shares[token] = max(shares.get(token, 0.0), expansion.weight)
        return shares


def through(expansions: Sequence[Expansion], found: Collection[str]) -> list[Expansion]:
    """The synonyms by which a text with these tokens says something of the question, each pair of phrases once.

    One whose tokens the question has itself tells nothing.
    """
    held = frozenset(found)
    applied = {
        (one.said, one.means): one
        for one in expansions
        if held.issuperset(one.tokens) and not set(one.tokens) <= set(one.replaces)
    }
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
    return QuestionTerms(weights=weights, own=own, expansions=expansions)


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
        for expansion in _expand(cut, place, synonym, dictionary.terms, synonyms.collection)
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


def _expand(
    cut: Cut, place: Place, synonym: Synonym, terms: Sequence[Phrases], collection: int | None
) -> list[Expansion]:
    key, start, end = place
    inside = (token for token, first, last in cut.tokens if start <= first and last <= end)
    replaced = tuple(dict.fromkeys(inside))
    meant = ((phrase, cut_question(phrase, terms).tokens) for phrase in synonym.others(key))
    return [
        Expansion(
            said=cut.text[start:end],
            means=phrase,
            replaces=replaced,
            tokens=tuple(dict.fromkeys(token for token, _, _ in tokens)),
            weight=synonym.weight,
            collection=collection,
        )
        for phrase, tokens in meant
        if tokens and replaced
    ]
