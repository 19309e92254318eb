"""How answers, citations and places in documents read on a page. Formatting only."""

from collections.abc import Iterable
from urllib.parse import urlencode

from django.template import Context, Library
from django.urls import reverse
from django.utils.translation import gettext as _
from django_stubs_ext import StrOrPromise

from kb_platform.templatetags.shell import trail
from retrieval import turns
from retrieval.chat.values import ShownCitation, ShownMessage
from retrieval.links import place_url
from retrieval.models import CasePassage
from retrieval.results import CHANNELS
from retrieval.values import Passage
from retrieval.viewer import Viewed

register = Library()


@register.simple_tag
def citation_url(message_uid: str, citation: ShownCitation) -> str:
    return turns.citation_url(message_uid, citation)


@register.simple_tag
def passage_url(passage: Passage) -> str:
    """Where a found passage opens; "" for one of another system that gave no link."""
    return place_url(passage)


@register.simple_tag
def case_url(passage: CasePassage) -> str:
    """The viewer at a passage of a test case, in the version it was marked in."""
    span = {"version": passage.version.number, "from": passage.first_element, "to": passage.last_element}
    return f"{reverse('source', args=[passage.document.uid])}?{urlencode(span)}#passage"


@register.simple_tag
def reading_channels(degraded: Iterable[str]) -> tuple[str, ...]:
    """The ways of searching that worked."""
    return tuple(str(label) for name, label in CHANNELS.items() if name not in set(degraded))


@register.simple_tag
def reasons() -> list[tuple[str, StrOrPromise]]:
    """Why an answer may not have helped, as (code, words)."""
    return list(turns.REASONS.items())


@register.simple_tag(takes_context=True)
def copy_text(context: Context, message: ShownMessage) -> str:
    """The answer as plain text, its numbered sources with whole addresses below."""
    lines = [message.answer]
    for citation in message.citations:
        page = _("p. %(pages)s") % {"pages": citation.page} if citation.page else ""
        url = turns.citation_url(message.uid, citation)
        address = context["request"].build_absolute_uri(url) if url else ""
        parts = (f"[{citation.n}] {citation.title}", page or trail(citation.heading_path[-1:]), address)
        lines.append(" · ".join(part for part in parts if part))
    return "\n".join([lines[0], "", *lines[1:]])


@register.simple_tag
def degraded_sentences(channels: Iterable[str]) -> tuple[str, ...]:
    return turns.degraded_sentences(channels)


@register.simple_tag
def part_url(viewed: Viewed, number: int) -> str:
    """Another page or part, with the passage kept in the address."""
    uid = viewed.document.uid
    place = viewed.place
    kept = {"from": place.first, "to": place.last, "version": place.version, "cite": place.cite or None}
    query = urlencode({name: value for name, value in kept.items() if value is not None})
    if viewed.is_paged:
        return f"{reverse('source_page', args=[uid, number])}?{query}"
    return f"{reverse('source', args=[uid])}?{query}&page={number}"
