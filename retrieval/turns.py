"""Answers as the page shows them: paragraphs with citation chips, source cards per document, what was degraded."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.values import Principal
from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import DENSE_CHANNEL, LEXICAL_CHANNEL
from retrieval.chat.values import ShownCitation, ShownMessage
from retrieval.evidence import is_chinese
from retrieval.examples import further_questions
from retrieval.links import source_url
from retrieval.query.shown import ConditionChip, condition_chips, note_sentences
from retrieval.readings import Reading, ReadPassage, readings_of
from retrieval.results import file_names

REASONS = {
    "wrong": gettext_lazy("It is wrong"),
    "outdated": gettext_lazy("It is outdated"),
    "missing": gettext_lazy("Something is missing"),
    "exposed": gettext_lazy("It should not be visible"),
}
CLOSEST = 3
DEGRADED = {
    "dense": gettext_lazy("Meaning-based search is unavailable; differently worded passages may be missed."),
    "lexical": gettext_lazy("Keyword search is unavailable; exact names and numbers may be missed."),
    "faq": gettext_lazy("The questions of the FAQ could not be compared."),
    "rerank": gettext_lazy("The reranker gave no order; passages stand in that of the first ranking."),
}
SWITCHES = {"dense": DENSE_CHANNEL, "lexical": LEXICAL_CHANNEL}
SWITCHED_OFF = {
    "dense": gettext_lazy("Search by meaning is switched off; differently worded passages may be missed."),
    "lexical": gettext_lazy("Search by words is switched off; exact names and numbers may be missed."),
}
_MARKERS = re.compile(
    r"(?P<before>[^\s\u3400-\u9fff]{0,24}|[\u3400-\u9fff][。，；：！？”」』）]*)\s*(?P<markers>(?:\[\d{1,3}\]\s*)+)"
)
_MARKER = re.compile(r"\[(\d{1,3})\]")
_SENTENCE = re.compile(r".+?(?:(?:\s*\[\d{1,3}\])+\s*|\Z)", re.DOTALL)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BULLET = re.compile(r"^\s*(?:[-•*]|\d{1,3}[.)、])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCard:
    """One cited document with the numbers of its passages; it opens at the first. is_external: a record elsewhere."""

    title: str
    file_name: str
    url: str
    numbers: tuple[int, ...]
    place: str
    is_corrected: bool = False
    is_external: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBlock:
    """A paragraph, or the items of a list; each line is escaped text with chips. uncovered: lines that end without."""

    is_list: bool
    lines: tuple[SafeString, ...]
    uncovered: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """uncovered: statements without a source. reading: what was read, or None. further: questions to go on with.

    conditions: chips of what the question said of documents. notes: what else to know of the search.
    """

    message: ShownMessage
    blocks: tuple[AnswerBlock, ...]
    sources: tuple[SourceCard, ...]
    degraded: tuple[str, ...]
    reading: Reading | None = None
    further: tuple[str, ...] = ()
    conditions: tuple[ConditionChip, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def uncovered(self) -> int:
        return sum(block.uncovered for block in self.blocks)

    @property
    def closest(self) -> tuple[ReadPassage, ...]:
        return self.reading.passages[:CLOSEST] if self.reading else ()


def turns_of(principal: Principal, messages: Sequence[ShownMessage]) -> list[Turn]:
    """The messages as the page shows them. The last one comes with questions to go on with, if it was answered."""
    names = file_names(principal, {c.document_uid for message in messages for c in message.citations})
    readings = readings_of(principal, {message.trace_id for message in messages if not message.withdrawn})
    return [
        Turn(
            message=message,
            blocks=tuple(answer_blocks(message)),
            sources=tuple(_sources(message, names)),
            degraded=degraded_sentences(message.degraded),
            reading=None if message.withdrawn else readings.get(message.trace_id),
            further=tuple(_further(principal, messages)) if message is messages[-1] else (),
            conditions=tuple(condition_chips(message.understood.conditions, message.understood.removed)),
            notes=tuple(note_sentences(message.understood.notes)),
        )
        for message in messages
    ]


def _further(principal: Principal, messages: Sequence[ShownMessage]) -> list[str]:
    last = messages[-1]
    if not last.citations:
        return []
    return further_questions(
        principal,
        {citation.document_uid for citation in last.citations if citation.external is None},
        asked={message.question for message in messages},
        language="zh" if is_chinese(last.question) else "en",
    )


def degraded_sentences(channels: Iterable[str]) -> tuple[str, ...]:
    return tuple(_degraded_sentence(channel) for channel in channels)


def _degraded_sentence(channel: str) -> str:
    kind, _colon, name = channel.partition(":")
    if kind == "source":
        return _("The source “%(name)s” did not answer; what it knows is missing here.") % {"name": name}
    switch = SWITCHES.get(channel)
    return str(
        DEGRADED.get(channel, channel) if switch is None or store.get(switch) else SWITCHED_OFF[channel]
    )


def citation_url(message_uid: str, citation: ShownCitation) -> str:
    """The viewer at the cited passage, in the version it was read from; of another system its link, or ""."""
    if citation.external:
        return citation.external.url
    address, _hash, anchor = source_url(citation).partition("#")
    return f"{address}&cite={message_uid}#{anchor}"


def answer_blocks(message: ShownMessage) -> Iterable[AnswerBlock]:
    """The answer's text by paragraphs and lists. Markers without a source are dropped."""
    for part in paragraphs(message.answer):
        if part.strip():
            yield block_of(part, message)


def paragraphs(answer: str) -> list[str]:
    """The answer cut before each paragraph and before and after each list; joined, they are the answer."""
    parts: list[str] = []
    before = ""
    for line in _LINE.findall(answer):
        is_bullet, was_bullet = (_BULLET.match(text) is not None for text in (line, before))
        begins = line.strip() and (not before.strip() or is_bullet != was_bullet)
        if begins or not parts:
            parts.append(line)
        else:
            parts[-1] += line
        before = line
    return parts


def sentences(part: str) -> list[str]:
    """A paragraph cut behind the markers of each sentence; joined, they are the paragraph."""
    return _SENTENCE.findall(part)


def block_of(part: str, message: ShownMessage) -> AnswerBlock:
    lines = [line for line in part.split("\n") if line.strip()]
    is_list = all(_BULLET.match(line) for line in lines) and (len(lines) > 1 or not lines[0][0].isdigit())
    if is_list:
        lines = [_BULLET.sub("", line, count=1) for line in lines]
    bare = sum(bool(message.citations) and _is_uncovered(_after_markers(line)) for line in lines)
    drawn = tuple(_with_chips(line, message) for line in lines)
    return AnswerBlock(is_list=is_list, lines=drawn, uncovered=bare)


def _after_markers(line: str) -> str:
    *_before, tail = re.split(_MARKER, line)
    return tail


def _is_uncovered(text: str) -> bool:
    """Whether it states something; what only leads to a list does not."""
    return any(map(str.isalnum, text)) and not text.rstrip().endswith((":", "："))


def _with_chips(line: str, message: ShownMessage) -> SafeString:
    """Escaped text; each chip stays on the line of the word it supports, and what has none is underlined."""
    known = {citation.n: citation for citation in message.citations}
    out: list[str] = []
    at = 0
    for match in _MARKERS.finditer(line):
        out.append(conditional_escape(line[at : match.start()]))
        numbers = [int(n) for n in _MARKER.findall(match["markers"])]
        chips = [_chip(message, known[n]) for n in numbers if n in known]
        kept = format_html('<span class="nb">{}{}</span>', match["before"], mark_safe("".join(chips)))  # noqa: S308
        out.append(kept if chips else conditional_escape(match["before"]))
        out.append(" " if match.end() < len(line) else "")
        at = match.end()
    tail = line[at:]
    is_bare = message.citations and _is_uncovered(tail)
    out.append(format_html('<span class="unsrc">{}</span>', tail) if is_bare else conditional_escape(tail))
    return mark_safe("".join(out))  # noqa: S308 every part was escaped above


def _chip(message: ShownMessage, citation: ShownCitation) -> SafeString:
    label = _("Source %(n)d") % {"n": citation.n}
    url = citation_url(message.uid, citation)
    if citation.external:
        return _external_chip(citation, label, url)
    return format_html(
        '<a class="cite" href="{}" aria-label="{}" title="{}">{}</a>', url, label, citation.title, citation.n
    )


def _external_chip(citation: ShownCitation, label: str, url: str) -> SafeString:
    """Its link opens beside; one without a link is only named."""
    if not url:
        return format_html(
            '<span class="cite" role="img" aria-label="{}" title="{}">{}</span>',
            label,
            citation.title,
            citation.n,
        )
    return format_html(
        '<a class="cite" href="{}" target="_blank" rel="noopener noreferrer" aria-label="{}" title="{}">{}</a>',
        url, label, citation.title, citation.n,
    )  # fmt: skip


def _sources(message: ShownMessage, names: dict[str, str]) -> Iterable[SourceCard]:
    by_document: dict[str, list[ShownCitation]] = {}
    for citation in message.citations:
        by_document.setdefault(_card_key(citation), []).append(citation)
    for uid, cited in by_document.items():
        pages = sorted({citation.page for citation in cited if citation.page})
        place = _("p. %(pages)s") % {"pages": ", ".join(map(str, pages))} if pages else ""
        yield SourceCard(
            title=cited[0].title,
            file_name=names.get(uid, ""),
            url=citation_url(message.uid, cited[0]),
            numbers=tuple(citation.n for citation in cited),
            place=place or _place_of(cited[0]),
            is_corrected=any(citation.is_corrected for citation in cited),
            is_external=cited[0].external is not None,
        )


def _card_key(citation: ShownCitation) -> str:
    """Passages of one document share a card, and so do those of one record of another system."""
    external = citation.external
    return f"{external.source_uid}\n{external.url}\n{citation.title}" if external else citation.document_uid


def _place_of(citation: ShownCitation) -> str:
    if citation.external:
        return citation.external.source_name
    return citation.heading_path[-1] if citation.heading_path else ""
