"""How answers, citations and places in documents read on a page. Formatting only."""

from urllib.parse import urlencode

from django.template import Library
from django.urls import reverse

from retrieval.models import Citation
from retrieval.viewer import Viewed

register = Library()


@register.simple_tag
def citation_url(citation: Citation) -> str:
    """The viewer at the cited passage, in the version it was read from."""
    place = {
        "from": citation.first_element,
        "to": citation.last_element,
        "version": citation.version.number if citation.version else "",
        "cite": citation.message.uid,
    }
    return f"{reverse('source', args=[citation.document.uid])}?{urlencode(place)}#passage"  # type: ignore[union-attr]


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
