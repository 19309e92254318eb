"""Answers that are known rather than composed: which of them a question gets, if any.

A stored question comes first: somebody wrote its answer for just that. What tables say comes last, when it is certain.
"""

from collections.abc import Sequence

from accounts.values import Principal
from retrieval.channels.faq import FAQ, equal_hits, known_answer
from retrieval.filters import Filters
from retrieval.query.conditions import narrowed
from retrieval.query.listing import answer_catalogue
from retrieval.query.values import Understanding
from retrieval.recall import Recall
from retrieval.search_settings import SearchSettings
from retrieval.tables.answering import answer_from_tables
from retrieval.values import DirectAnswer, Passage


def find_direct(
    understood: Understanding,
    filters: Filters,
    *,
    principal: Principal,
    recalled: Recall,
    settings: SearchSettings,
    passages: Sequence[Passage] = (),
) -> DirectAnswer | None:
    """filters: what the reader has set; the conditions of the question come on top. passages: the first ones found."""
    if FAQ in recalled.hits and (
        known := _of_faq(understood, filters, principal=principal, recalled=recalled, settings=settings)
    ):
        return known
    if understood.catalogue is None:
        return answer_from_tables(understood.text, passages, principal=principal) if settings.tables else None
    return answer_catalogue(
        understood.catalogue,
        narrowed(filters, understood.conditions),
        principal=principal,
        generation=recalled.generation,
    )


def _of_faq(
    understood: Understanding,
    filters: Filters,
    *,
    principal: Principal,
    recalled: Recall,
    settings: SearchSettings,
) -> DirectAnswer | None:
    """Words that are read as a condition may be words of a stored question, which is then meant as it stands."""
    hits = list(recalled.hits[FAQ])
    if understood.conditions or understood.search_text != understood.text:
        text, generation = understood.text, recalled.generation
        hits += equal_hits(text, principal=principal, filters=filters, generation=generation)
    return known_answer(
        understood.text,
        hits,
        principal=principal,
        generation=recalled.generation,
        least=settings.faq_similarity,
    )
