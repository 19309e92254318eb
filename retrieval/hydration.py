"""The second lock: ids become text only for chunks that the reader may see now.

Everything is read in one new snapshot, later than the recall's: scopes, the documents' scope and state, the texts.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.backends.utils import CursorWrapper

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion.models import IN_FORCE
from retrieval.snapshot import read_snapshot
from retrieval.values import Candidate, Passage

JUDGED = 5  # passages that the evidence verdict looks at, whatever page was asked for

# Written out, because building these two from models takes longer than running them.
_STATES = """
select c.id, d.scope_id = any(%s::int[]), c.version_id = d.active_version_id and d.archived_at is null
from ingestion_chunk c
join ingestion_document d on d.id = c.document_id
join ingestion_indexgeneration g on g.id = c.generation_id
where c.id = any(%s::bigint[]) and g.number = %s
"""
_ROWS = """
select c.id, d.id, d.uid, v.id, v.number, d.title, o.uid, o.name, c.text, c.embedding_text, c.kind,
       coalesce(nullif(c.language, ''), d.language), c.heading_path, c.page, c.boxes, c.first_element, c.last_element,
       c.correction_id is not null
from ingestion_chunk c
join ingestion_document d on d.id = c.document_id and d.active_version_id = c.version_id
join ingestion_documentversion v on v.id = c.version_id
join ingestion_collection o on o.id = d.collection_id
where c.id = any(%s::bigint[]) and d.scope_id = any(%s::int[]) and d.archived_at is null and v.state = any(%s::text[])
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """Which part of the readable ranking is wanted. terms: the question's tokens in each candidate."""

    offset: int
    limit: int
    terms: Mapping[int, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HydratedPage:
    """passages: the page asked for. judged: the first passages of the ranking.

    readable_count: how many candidates the reader may read. is_stale: a candidate's document was published anew or
    removed after the recall, so that a new recall would find other chunks.
    """

    passages: tuple[Passage, ...]
    judged: tuple[Passage, ...]
    readable_count: int
    is_stale: bool


def hydrate(
    ranking: Sequence[Candidate], page: PageRequest, *, principal: Principal, generation: int
) -> HydratedPage:
    """Text for the page. Candidates that are not readable (any more) are dropped, and those behind them move up."""
    with read_snapshot() as cursor:
        scopes = visible_scopes(principal)
        readable, is_stale = _readable(
            cursor, [candidate.chunk_id for candidate in ranking], scopes, generation
        )
        ranked = [candidate for candidate in ranking if candidate.chunk_id in readable]
        wanted = ranked[page.offset : page.offset + page.limit]
        chosen = {candidate.chunk_id: candidate for candidate in (*ranked[:JUDGED], *wanted)}
        rows = _read_rows(cursor, list(chosen), scopes)
    passages = {
        chunk_id: _passage(row, chosen[chunk_id], page.terms.get(chunk_id, ()))
        for chunk_id, row in rows.items()
    }
    return HydratedPage(
        passages=tuple(passages[candidate.chunk_id] for candidate in wanted),
        judged=tuple(passages[candidate.chunk_id] for candidate in ranked[:JUDGED]),
        readable_count=len(ranked),
        is_stale=is_stale,
    )


def _readable(
    cursor: CursorWrapper, chunk_ids: list[int], scopes: Sequence[int], generation: int
) -> tuple[set[int], bool]:
    """Ids that may be read, and whether any is gone or outdated for another reason than access."""
    cursor.execute(_STATES, [list(scopes), chunk_ids, generation])
    states = cursor.fetchall()
    readable = {chunk_id for chunk_id, is_open, is_current in states if is_open and is_current}
    is_outdated = any(is_open and not is_current for _chunk_id, is_open, is_current in states)
    return readable, is_outdated or len(states) < len(chunk_ids)


def _read_rows(
    cursor: CursorWrapper, chunk_ids: list[int], scopes: Sequence[int]
) -> dict[int, tuple[Any, ...]]:
    cursor.execute(_ROWS, [chunk_ids, list(scopes), [state.value for state in IN_FORCE]])
    return {row[0]: row for row in cursor.fetchall()}


def _passage(row: tuple[Any, ...], candidate: Candidate, terms: tuple[str, ...]) -> Passage:
    (chunk_id, document_id, document_uid, version_id, version_number, title, collection_uid, collection_name, text,
     embedding_text, kind, language, heading_path, page, boxes, first_element, last_element, is_corrected) = row  # fmt: skip
    return Passage(
        chunk_id=chunk_id,
        document_id=document_id,
        document_uid=str(document_uid),
        version_id=version_id,
        version_number=version_number,
        title=title,
        collection_uid=str(collection_uid),
        collection_name=collection_name,
        text=text,
        embedding_text=embedding_text,
        kind=kind,
        language=language,
        heading_path=tuple(heading_path),
        page=page,
        boxes=tuple(json.loads(boxes) if isinstance(boxes, str) else boxes),
        first_element=first_element,
        last_element=last_element,
        is_corrected=is_corrected,
        score=candidate.score,
        channels=candidate.channels,
        terms=terms,
    )
