"""Search results as the page shows them: passages grouped under their documents, with the reasons for each.

The page lists what is worth reading: passages far below the best one are left out. The API has no such floor; its
callers cut by `score` themselves.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.values import Principal
from ingestion import selectors
from ingestion.dictionary.questions import Expansion, through
from ingestion.indexing.analyzer import locate
from ingestion.models import Document
from ingestion.selectors import changed_at
from retrieval.evidence import is_chinese
from retrieval.snippets import Segment, snippet
from retrieval.values import ChannelHit, External, Passage

CHANNELS = {"lexical": gettext_lazy("Keywords"), "dense": gettext_lazy("Meaning")}
REASONS = CHANNELS | {"faq": gettext_lazy("FAQ")}
EXTERNAL = "external"
MOST_TERMS = 8
# Measured on questions over two handbooks: less than half of the 100 best remain, and no relevant document goes.
NEARNESS_FLOOR = (
    0.12  # below the nearest, in cosine, for what shares no word: language must not count against it
)
SCORE_FLOOR = 5.0  # below the best, in the units of the evidence score, for what shares a word


class Ranked(Protocol):
    @property
    def score(self) -> float: ...
    @property
    def channels(self) -> Mapping[str, ChannelHit]: ...


Found = TypeVar("Found", bound=Ranked)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPassage:
    """path: the headings above it, without the title that the page shows already."""

    passage: Passage
    path: tuple[str, ...]
    segments: tuple[Segment, ...]
    reasons: tuple[str, ...]
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentGroup:
    """A document with its passages, best first. changed_at: None when it has gone since it was found.

    external: of a record of another system, which stands for itself and has neither file nor version.
    """

    uid: str
    title: str
    collection_name: str
    file_name: str
    language: str
    version: int
    changed_at: datetime | None
    passages: tuple[ShownPassage, ...]
    external: External | None = None


def above_floor(best_first: Sequence[Found]) -> tuple[Found, ...]:
    """Without what lies far below the best: in nearness where no word was matched, else in score.

    Scores of a fusion by rank all lie within far less than SCORE_FLOOR, so that a lexical search keeps everything.
    """
    if not best_first:
        return ()
    least = best_first[0].score - SCORE_FLOOR
    nearest = max((_nearness(found) for found in best_first), default=0.0)
    return tuple(
        found
        for found in best_first
        if (
            found.score >= least
            if found.channels.keys() & {"lexical", EXTERNAL}
            else _nearness(found) >= nearest - NEARNESS_FLOOR
        )
    )


def _nearness(found: Ranked) -> float:
    hit = found.channels.get("dense")
    return hit.score if hit else 0.0


def grouped(
    principal: Principal,
    passages: Iterable[Passage],
    *,
    question: str = "",
    newest_first: bool = False,
    expansions: Sequence[Expansion] = (),
) -> list[DocumentGroup]:
    """Documents in the order of their best passage, or the last changed first."""
    by_document: dict[str, list[Passage]] = {}
    for passage in passages:
        key = passage.document_uid or str(passage.chunk_id)
        by_document.setdefault(key, []).append(passage)
    documents = _documents(principal, {passage.document_uid for (passage, *_) in by_document.values()} - {""})
    is_zh = is_chinese(question)
    groups = [
        DocumentGroup(
            uid=uid,
            title=found[0].title,
            collection_name=found[0].collection_name,
            file_name=_file_name(documents.get(uid)),
            language=documents[uid].language if uid in documents else "",
            version=found[0].version_number,
            changed_at=getattr(documents.get(uid), "changed_at", None),
            passages=tuple(_shown(passage, is_zh, expansions) for passage in found),
            external=found[0].external,
        )
        for uid, found in by_document.items()
    ]
    if newest_first:
        groups.sort(key=lambda group: -group.changed_at.timestamp() if group.changed_at else 0.0)
    return groups


def file_names(principal: Principal, document_uids: Iterable[str]) -> dict[str, str]:
    """The file name of each document that is open to the principal, by uid."""
    wanted = [uid for uid in document_uids if uid]
    rows = selectors.documents_for(principal).filter(uid__in=wanted).order_by()
    return {str(uid): name or "" for uid, name in rows.values_list("uid", "active_version__file_name")}


def _documents(principal: Principal, document_uids: Iterable[str]) -> dict[str, Document]:
    rows = selectors.documents_for(principal).filter(uid__in=list(document_uids)).order_by()
    return {str(document.uid): document for document in rows.annotate(changed_at=changed_at())}


def _file_name(document: Document | None) -> str:
    return document.active_version.file_name if document and document.active_version else ""


def _shown(passage: Passage, question_is_chinese: bool, expansions: Sequence[Expansion]) -> ShownPassage:
    return ShownPassage(
        passage=passage,
        path=tuple(part for part in passage.heading_path if part != passage.title),
        segments=snippet(passage.text, passage.terms),
        reasons=tuple(_reasons(passage, question_is_chinese, expansions)),
        terms=passage.terms[:MOST_TERMS],
    )


def _reasons(passage: Passage, question_is_chinese: bool, expansions: Sequence[Expansion]) -> Iterable[str]:
    """Ranks by channel in words, then what else speaks for the passage."""
    for channel, label in REASONS.items():
        if hit := passage.channels.get(channel):
            yield _("%(channel)s: rank %(rank)d") % {"channel": label, "rank": hit.rank}
    for one in through(expansions, passage.terms):
        yield _("Through the synonym: %(said)s → %(means)s") % {"said": one.said, "means": one.means}
    if hit := passage.channels.get(EXTERNAL):
        yield _("External sources: rank %(rank)d, score %(score).2f") % {"rank": hit.rank, "score": hit.score}
    if hit := passage.channels.get("rerank"):
        yield _("Reranked: score %(score).2f") % {"score": hit.score}
    if not passage.terms:
        yield _("No word in common")
    other = "en" if question_is_chinese else "zh"
    if passage.language == other:
        yield _("In the other language")
    if passage.terms and (places := locate(passage.title, passage.terms)):
        words = dict.fromkeys(passage.title[place.start : place.end] for place in places)
        yield _("In the title: %(words)s") % {"words": ", ".join(words)}
