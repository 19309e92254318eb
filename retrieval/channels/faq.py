"""The FAQ channel: stored questions that are worded as the reader's, and the answer that may be given as it stands.

Candidates are the passages of pairs with a wording near the question. An answer is given only where a wording is the
question itself, or is near and nothing tells the two apart (`ingestion.faq.sameness`); never between two that disagree.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion.faq.folding import fold
from ingestion.faq.sameness import asks_the_same
from ingestion.faq.vectors import embedder_key
from ingestion.indexing.tables import vector_text
from ingestion.models import Chunk, FaqPair, FaqQuestion, IndexGeneration
from retrieval.channels.index import IndexSnapshot
from retrieval.channels.protocol import ChannelQuery, ChannelResult
from retrieval.filters import Filters
from retrieval.hydration import PageRequest, hydrate
from retrieval.reach import Reach
from retrieval.snapshot import read_snapshot
from retrieval.values import Candidate, ChannelHit, DirectAnswer, Hit, Key

FAQ = "faq"
# Question against question, measured with the bundled embedder on 244 paraphrases of FAQ questions: those of one question
# lie at .63 (median), its nearest other question at .54. Against passages both lie .09 to .13 lower.
FLOOR = 0.6
ABOVE_PASSAGES = 0.1
MOST = 20
_MARKER = re.compile(r"\[(\d{1,3})\]")
# `{reach}` is the condition on access and filters. A wording counts only while its pair has a passage in force.
_OPEN = """
from ingestion_faqquestion q
join ingestion_faqpair p on p.id = q.pair_id
join ingestion_document d on d.id = p.document_id and d.archived_at is null and d.active_version_id is not null
where {reach}
"""
_PASSAGE = """
cross join lateral (
    select c.id from ingestion_chunk c
    where c.version_id = found.version and c.generation_id = %s order by c."order" limit 1
) c
"""
_EQUAL = (
    "with found as (select distinct d.active_version_id as version" + _OPEN + "and q.folded = %s limit %s) "
    "select c.id from found" + _PASSAGE + "order by c.id"
)
_NEAR = (
    "with visible as materialized (select d.active_version_id as version, q.embedding"
    + _OPEN
    + "and q.embedder = %s), found as (select version, min(embedding <#> %s::halfvec) as distance from visible "
    "group by version order by distance, version limit %s) "
    "select c.id, found.distance from found" + _PASSAGE + "order by found.distance, c.id"
)


@dataclass(frozen=True, slots=True)
class FaqChannel:
    """Passages of pairs, by their nearest wording; 1 for one that is the question. Only those without a vector."""

    snapshot: IndexSnapshot
    name = FAQ

    def search(
        self, query: ChannelQuery, *, principal: Principal, filters: Filters, limit: int
    ) -> ChannelResult:
        reach = self.snapshot.reach(principal, filters)
        if reach.is_empty:
            return ChannelResult()
        scores = dict.fromkeys(self.equal(query.text, reach), 1.0)
        equal = len(scores)
        for key, score in self._near(query, reach, min(limit, MOST)):
            if score >= FLOOR:
                scores.setdefault(key, score)
        best_first = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        hits = tuple(Hit(chunk_id=key, score=score) for key, score in best_first[:limit])
        return ChannelResult(hits=hits, explanation={"equal": equal, "floor": FLOOR})

    def equal(self, text: str, reach: Reach) -> list[int]:
        """Passages of the pairs with a wording that is this text."""
        if not (folded := fold(text)):
            return []
        condition, parameters = _condition(reach)
        self.snapshot.cursor.execute(
            _EQUAL.format(reach=condition), [*parameters, folded, MOST, self.snapshot.generation.pk]
        )
        return [key for (key,) in self.snapshot.cursor.fetchall()]

    def _near(self, query: ChannelQuery, reach: Reach, most: int) -> list[tuple[int, float]]:
        if query.vector is None:
            return []
        condition, parameters = _condition(reach)
        generation, vector = self.snapshot.generation, vector_text(query.vector.vector)
        self.snapshot.cursor.execute(
            _NEAR.format(reach=condition),
            [*parameters, embedder_key(generation.embedder), vector, most, generation.pk],
        )
        return [(key, -float(distance)) for key, distance in self.snapshot.cursor.fetchall()]


def equal_hits(question: str, *, principal: Principal, filters: Filters, generation: int) -> list[Hit]:
    """The passages of the pairs that ask the question word for word, as of now."""
    with read_snapshot() as cursor:
        row = IndexGeneration.objects.get(number=generation)
        snapshot = IndexSnapshot(cursor=cursor, generation=row)
        reach = snapshot.reach(principal, filters)
        keys = [] if reach.is_empty else FaqChannel(snapshot).equal(question, reach)
    return [Hit(chunk_id=key, score=1.0) for key in keys]


def _condition(reach: Reach) -> tuple[str, list[list[int]]]:
    if reach.document_ids is None:
        return "d.scope_id = any(%s::int[]) ", [list(reach.scopes)]
    return (
        "d.scope_id = any(%s::int[]) and d.id = any(%s::bigint[]) ",
        [list(reach.scopes), list(reach.document_ids)],
    )


def cosine_of(passage: float | None, wording: float) -> float:
    """How near a pair is to the question, on the scale of passages: by its passage or by its wording."""
    return max(passage if passage is not None else -1.0, wording - ABOVE_PASSAGES)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Match:
    """A pair that is asked for, by which of its wordings, and how near that is to the question."""

    pair: FaqPair
    wording: str
    is_equal: bool
    hit: Hit


def known_answer(
    question: str, hits: Sequence[Hit], *, principal: Principal, generation: int, least: float | None
) -> DirectAnswer | None:
    """The stored answer to the question, read anew with its rights; None where none is, or stored ones disagree.

    hits: of this channel. least: nearness from which another wording counts; None asks for the question word for word.
    """
    if not hits:
        return None
    with read_snapshot():
        matches = _matches(question, hits, principal, least)
    asked = [match for match in matches if match.is_equal] or matches
    if not asked or len({_words(match.pair) for match in asked}) > 1:
        return None
    return _answer(max(asked, key=lambda match: match.pair.changed_at), principal, generation)


def _matches(question: str, hits: Sequence[Hit], principal: Principal, least: float | None) -> list[_Match]:
    folded, by_key = fold(question), {hit.chunk_id: hit for hit in reversed(hits)}
    return [
        match
        for key, pair in _pairs(list(by_key), principal).items()
        if (match := _match(question, folded, pair, by_key[key], least))
    ]


def _match(question: str, folded: str, pair: FaqPair, hit: Hit, least: float | None) -> _Match | None:
    wordings: list[FaqQuestion] = list(pair.questions.all())
    for row in wordings:
        if row.folded == folded:
            return _Match(pair=pair, wording=row.text, is_equal=True, hit=hit)
    if least is None or hit.score < least:
        return None
    same = next((row.text for row in wordings if asks_the_same(question, row.text)), None)
    return _Match(pair=pair, wording=same, is_equal=False, hit=hit) if same else None


def _pairs(keys: list[Key], principal: Principal) -> dict[Key, FaqPair]:
    """By chunk, the pairs whose passage in force was made of their present words, as far as the principal sees them."""
    documents = dict(Chunk.objects.filter(pk__in=keys).values_list("pk", "document"))
    pairs = FaqPair.objects.filter(
        document__in=documents.values(),
        document__scope_id__in=visible_scopes(principal),
        document__archived_at=None,
        document__active_version__blob=F("blob"),
    )
    read = pairs.select_related("document__owner").prefetch_related("questions")
    by_document = {pair.document_id: pair for pair in read.defer("document__metadata")}
    return {key: by_document[document] for key, document in documents.items() if document in by_document}


def _words(pair: FaqPair) -> str:
    return "".join(pair.answer.split()).casefold()


def _answer(match: _Match, principal: Principal, generation: int) -> DirectAnswer | None:
    channels: Mapping[str, ChannelHit] = {FAQ: ChannelHit(rank=1, score=match.hit.score)}
    candidate = Candidate(chunk_id=match.hit.chunk_id, score=match.hit.score, channels=channels)
    asked = PageRequest(offset=0, limit=1, terms={})
    page = hydrate([candidate], asked, principal=principal, generation=generation)
    if not page.passages:
        return None
    pair, owner = match.pair, match.pair.document.owner
    detail: dict[str, Any] = {
        "answer": pair.answer,
        "pair": str(pair.uid),
        "question": match.wording,
        "match": "equal" if match.is_equal else "near",
        "similarity": round(float(match.hit.score), 4),
        "owner": str(owner) if owner else "",
        "changed_at": pair.changed_at.isoformat(),
    }
    answer = _MARKER.sub("［\\1］", pair.answer)  # the answer's own are no markers of ours
    source = _source(page.passages[0].collection_name, pair)
    text = "\n".join(map(_cited, [*answer.split("\n"), "", source]))
    return DirectAnswer(kind=FAQ, text=text, passages=page.passages, detail=detail)


def _cited(line: str) -> str:
    """The line with its marker; what says nothing, or leads to what follows, needs none."""
    says_something = any(map(str.isalnum, line)) and not line.endswith((":", "："))
    return f"{line} [1]" if says_something else line


def _day(moment: datetime) -> str:
    is_chinese = (get_language() or "").startswith("zh")
    return date_format(timezone.localtime(moment), "Y-m-d" if is_chinese else "j M Y")


def _source(collection: str, pair: FaqPair) -> str:
    """Where the answer comes from, who answers for it, and since when it stands so, in the reader's language."""
    told = {
        "collection": collection,
        "owner": pair.document.owner or _("nobody"),
        "day": _day(pair.changed_at),
    }
    return _("From the FAQ of %(collection)s · Owner: %(owner)s · As of %(day)s") % told
