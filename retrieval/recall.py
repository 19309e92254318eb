"""Recall: what the channels find in one generation, and what is known of each find. One snapshot of the database.

Access and filters are part of each channel's query. A channel that fails is left out and named; the others go on.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import DEFAULT_DB_ALIAS, DatabaseError
from django.db.backends.utils import CursorWrapper
from django.utils.translation import gettext as _

from accounts.values import Principal
from ingestion.dictionary.questions import QuestionTerms, question_terms
from ingestion.dictionary.revisions import search_dictionary
from ingestion.indexing.analyzer import lone_character
from ingestion.indexing.generations import active_generation
from ingestion.models import IndexGeneration
from kb_platform import replica
from kb_platform.errors import Unavailable
from kb_platform.outages import OUTAGES
from retrieval.channels.dense import read_cosines
from retrieval.channels.faq import FAQ, FaqChannel, cosine_of
from retrieval.channels.index import DENSE, LEXICAL, DenseChannel, IndexSnapshot, LexicalChannel
from retrieval.channels.lexical import (
    Traits,
    read_collections,
    read_phrase_shares,
    read_terms_with,
    read_traits,
)
from retrieval.channels.protocol import Channel, ChannelQuery
from retrieval.evidence import coverages, is_chinese, quoted_phrases
from retrieval.fusion import Signal
from retrieval.question_vector import PendingVector, QuestionVector
from retrieval.reach import Reach
from retrieval.recall_cache import count_changes, keep_ranking, ranking_key, read_ranking
from retrieval.search_settings import SearchSettings
from retrieval.snapshot import read_snapshot
from retrieval.tracing import Timings
from retrieval.values import Hit, Key, Mode, Passage, SearchRequest

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What the channels found, best first. `idf`: the weight of each distinct question term.

    signals: what is known of every chunk found. terms: the tokens in it that were looked for, those of synonyms too.
    question: which those are, and what they count.
    vector: None when the question was not embedded. degraded: channels that were asked for and did not work.
    explanations: how each channel went about it. is_cached: whether an earlier search of the same index found it.
    database: which one was asked, the main one or a replica. passages: those of the hits that are not chunks of the index.
    """

    generation: int
    hits: Mapping[str, tuple[Hit, ...]] = field(default_factory=dict)
    signals: Mapping[Key, Signal] = field(default_factory=dict)
    terms: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)
    question: QuestionTerms = field(default_factory=QuestionTerms)
    idf: Mapping[str, float] = field(default_factory=dict)
    vector: QuestionVector | None = None
    degraded: tuple[str, ...] = ()
    explanations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    is_cached: bool = False
    passages: Mapping[Key, Passage] = field(default_factory=dict)
    database: str = DEFAULT_DB_ALIAS

    def says(self, key: Key) -> frozenset[str]:
        """The question's own tokens that a find holds, or says by a synonym."""
        return frozenset(self.question.fulfilled(self.terms.get(key, ())))


def recall(
    request: SearchRequest,
    *,
    principal: Principal,
    settings: SearchSettings,
    generation: IndexGeneration | None = None,
    timings: Timings | None = None,
    may_lag: bool = True,
) -> Recall:
    """Candidates of every channel that mode and settings allow. Raises Unavailable when they allow none.

    may_lag: whether a read replica may be asked.
    """
    asked = {name for name in (DENSE, LEXICAL) if request.mode.uses(name)}
    allowed = {name for name in asked if getattr(settings, name)}
    if request.mode is Mode.HYBRID and settings.faq:
        asked, allowed = asked | {FAQ}, allowed | {FAQ}
    if allowed <= {FAQ}:
        raise Unavailable(
            _("What this search needs is switched off in the settings. Ask an administrator."),
            code="search_switched_off",
        )
    is_embedded = DENSE in allowed and request.has_words
    ask = _Ask(
        request=request,
        principal=principal,
        settings=settings,
        generation=generation,
        asked=frozenset(asked),
        allowed=frozenset(allowed),
        character=lone_character(request.text) if request.has_words else None,
        pending=PendingVector(request.text) if is_embedded else None,
        timings=timings or Timings(),
    )
    failed: frozenset[str] = frozenset()
    while True:
        database = replica.choose() if may_lag else DEFAULT_DB_ALIAS
        try:
            return _recall(ask, failed=failed, database=database)
        except (_ChannelFailed, *OUTAGES) as failure:
            if database != DEFAULT_DB_ALIAS:
                log.warning("the replica failed", extra={"cause": repr(failure.__cause__ or failure)})
                replica.leave_alone()
            elif isinstance(failure, _ChannelFailed):  # its transaction is lost; a new one goes on without it
                log.warning(
                    "a channel failed", extra={"channel": failure.channel, "cause": str(failure.__cause__)}
                )
                failed |= {failure.channel}
            else:
                raise


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """asked: channels of the mode; allowed: those that are switched on, too.

    character: the one the question consists of, which stands for all terms that contain it.
    """

    request: SearchRequest
    principal: Principal
    settings: SearchSettings
    generation: IndexGeneration | None
    asked: frozenset[str]
    allowed: frozenset[str]
    character: str | None
    pending: PendingVector | None
    timings: Timings


class _ChannelFailed(Exception):
    def __init__(self, channel: str) -> None:
        super().__init__(channel)
        self.channel = channel


def _recall(ask: _Ask, *, failed: frozenset[str], database: str) -> Recall:
    with read_snapshot(database) as cursor:
        index = ask.generation or active_generation()
        snapshot = IndexSnapshot(cursor=cursor, generation=index)
        with ask.timings.measure("scope"):
            reach = snapshot.reach(ask.principal, ask.request.filters)
        if reach.is_empty or not ask.request.has_words:
            return Recall(generation=index.number)
        usable = ask.allowed - failed
        dictionary = search_dictionary(reach.scopes, reach.document_ids)
        question = question_terms(ask.request.text, dictionary)
        if not ask.settings.cache_seconds:
            return replace(_look(ask, snapshot, reach, usable, question), database=database)
        key = ranking_key(
            ask.request, reach, settings=ask.settings, usable=sorted(usable), index=index,
            changes=(count_changes(cursor, index.number, reach.scopes), dictionary.revision),
        )  # fmt: skip
        with ask.timings.measure("cache"):
            known = read_ranking(key)
        if isinstance(known, Recall):
            return replace(known, is_cached=True)
        found = replace(_look(ask, snapshot, reach, usable, question), database=database)
    if found.hits.keys() == ask.allowed:
        keep_ranking(key, found, seconds=ask.settings.cache_seconds)
    return found


def _look(
    ask: _Ask, snapshot: IndexSnapshot, reach: Reach, usable: frozenset[str], question: QuestionTerms
) -> Recall:
    cursor, index = snapshot.cursor, snapshot.generation
    terms = tuple(question.weights)
    if ask.pending and DENSE in usable:
        ask.pending.start()
    if ask.character:
        terms = tuple(read_terms_with(cursor, index.number, reach.scopes, ask.character)) or terms
    with ask.timings.measure("words"):
        statistics = snapshot.statistics(reach, terms)
    query = ChannelQuery(text=ask.request.text, terms=terms, weights=question.lesser)
    hits: dict[str, tuple[Hit, ...]] = {}
    explanations: dict[str, Mapping[str, Any]] = {}
    vector: QuestionVector | None = None
    for channel in _channels(snapshot, usable):
        if channel.name == DENSE:
            vector = _question_vector(ask, index)
            if vector is None:
                continue
            query = replace(query, vector=vector)
        with _channel(channel, ask.timings):
            found = channel.search(
                query, principal=ask.principal, filters=ask.request.filters, limit=ask.settings.pool
            )
        hits[channel.name], explanations[channel.name] = found.hits, found.explanation
    with ask.timings.measure("signals"):
        keys = list(dict.fromkeys(hit.chunk_id for name in hits for hit in hits[name]))
        traits = _traits(snapshot, keys, question, terms)
        if LEXICAL in hits:
            hits[LEXICAL] = tuple(hit for hit in hits[LEXICAL] if _is_meant(traits.get(hit.chunk_id)))
        cosines = _cosines(cursor, index.number, vector, hits)
        phrases = read_phrase_shares(cursor, keys, quoted_phrases(ask.request.text))
    traits, question = _read_as_one(ask.character, traits, question)
    idf = _weights(ask.character, statistics.idf(), question)
    known = _Known(traits=traits, cosines=cosines, phrases=phrases)
    return Recall(
        generation=index.number,
        hits=hits,
        signals=_signals(ask, known, question, idf),
        terms={chunk_id: chunk.terms for chunk_id, chunk in traits.items()},
        question=question,
        idf=idf,
        vector=vector,
        degraded=tuple(sorted(ask.asked - hits.keys())),
        explanations=explanations,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What was read of every chunk found."""

    traits: Mapping[Key, Traits]
    cosines: Mapping[Key, float]
    phrases: Mapping[Key, float]


def _signals(
    ask: _Ask, known: _Known, question: QuestionTerms, idf: Mapping[str, float]
) -> dict[Key, Signal]:
    other_language = "en" if is_chinese(ask.request.text) else "zh"
    held = {chunk.terms for chunk in known.traits.values()}
    shares = {terms: coverages(question.fulfilled(terms), idf) for terms in held}
    return {
        key: Signal(
            cosine=known.cosines.get(key),
            coverage=shares[chunk.terms].words,
            codes=shares[chunk.terms].codes,
            phrases=known.phrases.get(key, 0.0),
            is_foreign=chunk.language == other_language,
        )
        for key, chunk in known.traits.items()
    }


def _channels(snapshot: IndexSnapshot, usable: frozenset[str]) -> list[Channel]:
    """Lexical first: the database works on it while the question is embedded."""
    channels: tuple[Channel, ...] = (LexicalChannel(snapshot), DenseChannel(snapshot), FaqChannel(snapshot))
    return [channel for channel in channels if channel.name in usable]


def _traits(
    snapshot: IndexSnapshot, keys: list[Key], question: QuestionTerms, terms: tuple[str, ...]
) -> dict[Key, Traits]:
    """What chunks are and hold. A collection's own synonyms say something in its documents alone."""
    traits = read_traits(snapshot.cursor, snapshot.generation.number, keys, terms)
    if not question.own_collections:
        return traits
    homes = read_collections(snapshot.cursor, keys)
    return {
        key: replace(chunk, terms=question.looked_for_in(homes.get(key), chunk.terms))
        for key, chunk in traits.items()
    }


def _is_meant(chunk: Traits | None) -> bool:
    """Not one that only another collection's synonyms found."""
    return chunk is None or bool(chunk.terms)


def _read_as_one(
    character: str | None, traits: dict[Key, Traits], question: QuestionTerms
) -> tuple[dict[Key, Traits], QuestionTerms]:
    """Of the terms that a lone character stands for, any is all that was asked for."""
    if character is None:
        return traits, question
    widened = {key: _as_one(chunk, character) for key, chunk in traits.items()}
    return widened, replace(question, own=(character,))


def _weights(character: str | None, idf: Mapping[str, float], question: QuestionTerms) -> dict[str, float]:
    """Of the question's own terms alone: a synonym is another way to say one of these."""
    if character is not None:
        return {character: max(idf.values())}
    return {term: idf[term] for term in question.own}


def _as_one(chunk: Traits, character: str) -> Traits:
    """A chunk with any of the widened terms holds the character too."""
    return replace(chunk, terms=tuple(dict.fromkeys((*chunk.terms, character)))) if chunk.terms else chunk


def _question_vector(ask: _Ask, index: IndexGeneration) -> QuestionVector | None:
    if ask.pending is None:
        return None
    with ask.timings.measure("wait_for_vector"):
        vector = ask.pending.wait(fingerprint=index.embedder)
    if vector:
        ask.timings.note("embed", vector.seconds)
    return vector


def _cosines(
    cursor: CursorWrapper, generation: int, vector: QuestionVector | None, hits: Mapping[str, tuple[Hit, ...]]
) -> dict[Key, float]:
    """The cosine of every chunk found, exactly, also where the dense channel missed it; empty without a vector.

    A pair of the FAQ is as near as the nearest of its passage and its wordings.
    """
    if vector is None:
        return {}
    cosines = {hit.chunk_id: hit.score for hit in hits.get(DENSE, ())}
    others = [hit.chunk_id for name in hits if name != DENSE for hit in hits[name]]
    missing = [key for key in dict.fromkeys(others) if key not in cosines]
    cosines |= read_cosines(cursor, generation, vector.vector, missing)
    worded = {hit.chunk_id: cosine_of(cosines.get(hit.chunk_id), hit.score) for hit in hits.get(FAQ, ())}
    return cosines | worded


@contextmanager
def _channel(channel: Channel, timings: Timings) -> Iterator[None]:
    """One channel's query. Raises _ChannelFailed if the database refuses it."""
    try:
        with timings.measure(channel.name):
            yield
    except DatabaseError as error:
        raise _ChannelFailed(channel.name) from error
