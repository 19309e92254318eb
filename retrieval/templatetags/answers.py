"""How answers, citations and places in documents read on a page. Formatting only."""

from collections.abc import Iterable
from urllib.parse import urlencode

from django.template import Library
from django.urls import reverse

from retrieval import turns
from retrieval.chat.values import ShownCitation
from retrieval.links import source_url
from retrieval.values import Passage
from retrieval.viewer import Viewed

register = Library()


@register.simple_tag
def citation_url(message_uid: str, citation: ShownCitation) -> str:
    return turns.citation_url(message_uid, citation)


@register.simple_tag
def passage_url(passage: Passage) -> str:
    """The viewer at a found passage."""
    return source_url(passage)


@register.simple_tag
def degraded_sentences(channels: Iterable[str]) -> tuple[str, ...]:
    return turns.degraded_sentences(channels)


@register.simple_tag
def part_url(viewed: Viewed, step: int) -> str:
    """The page or part before or after, with the passage kept in the address."""
    uid, number = viewed.document.uid, viewed.part + step
    place = viewed.place
    kept = {"from": place.first, "to": place.last, "version": place.version, "cite": place.cite or None}
    query = urlencode({name: value for name, value in kept.items() if value is not None})
    if viewed.is_paged:
        return f"{reverse('source_page', args=[uid, number])}?{query}"
    return f"{reverse('source', args=[uid])}?{query}&page={number}"
