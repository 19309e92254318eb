"""Search results as the page shows them: passages grouped under their documents, with the reasons for each."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.values import Principal
from ingestion import selectors
from retrieval.snippets import Segment, snippet
from retrieval.values import Passage

CHANNELS = {"lexical": gettext_lazy("Keywords"), "dense": gettext_lazy("Meaning")}
MOST_TERMS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPassage:
    passage: Passage
    segments: tuple[Segment, ...]
    reasons: tuple[str, ...]
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentGroup:
    """A document with its passages, best first."""

    uid: str
    title: str
    collection_name: str
    file_name: str
    passages: tuple[ShownPassage, ...]


def grouped(principal: Principal, passages: Iterable[Passage]) -> list[DocumentGroup]:
    """Documents in the order of their best passage."""
    by_document: dict[str, list[Passage]] = {}
    for passage in passages:
        by_document.setdefault(passage.document_uid, []).append(passage)
    names = file_names(principal, by_document)
    return [
        DocumentGroup(
            uid=uid,
            title=found[0].title,
            collection_name=found[0].collection_name,
            file_name=names.get(uid, ""),
            passages=tuple(_shown(passage) for passage in found),
        )
        for uid, found in by_document.items()
    ]


def file_names(principal: Principal, document_uids: Iterable[str]) -> dict[str, str]:
    """The file name of each document that is open to the principal, by uid."""
    rows = selectors.documents_for(principal).filter(uid__in=list(document_uids)).order_by()
    return {str(uid): name or "" for uid, name in rows.values_list("uid", "active_version__file_name")}


def _shown(passage: Passage) -> ShownPassage:
    return ShownPassage(
        passage=passage,
        segments=snippet(passage.text, passage.terms),
        reasons=tuple(_reasons(passage)),
        terms=passage.terms[:MOST_TERMS],
    )


def _reasons(passage: Passage) -> Iterable[str]:
    for channel, label in CHANNELS.items():
        if hit := passage.channels.get(channel):
            yield _("%(channel)s: rank %(rank)d, score %(score).2f") % {
                "channel": label,
                "rank": hit.rank,
                "score": hit.score,
            }
        elif channel == "lexical":
            yield _("No word in common")
    yield _("Combined score %(score).2f") % {"score": passage.score}
