"""Answers that are known rather than composed: which of them a question gets, if any."""

from accounts.values import Principal
from retrieval.filters import Filters
from retrieval.query.conditions import narrowed
from retrieval.query.listing import answer_catalogue
from retrieval.query.values import Understanding
from retrieval.values import DirectAnswer


def find_direct(
    understood: Understanding, filters: Filters, *, principal: Principal, generation: int
) -> DirectAnswer | None:
    """filters: what the reader has set; the conditions of the question come on top."""
    if understood.catalogue is None:
        return None
    return answer_catalogue(
        understood.catalogue,
        narrowed(filters, understood.conditions),
        principal=principal,
        generation=generation,
    )
