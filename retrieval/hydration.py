"""The second lock: ids become text only for chunks that the reader may see now.

Everything is read in one new snapshot, later than the recall's: scopes, the documents' scope and state, the texts.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.backends.utils import CursorWrapper

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion.models import IN_FORCE
from retrieval.folding import Folder
from retrieval.snapshot import read_snapshot
from retrieval.sources.selectors import open_source_uids
from retrieval.values import Candidate, Key, Passage

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
_EMBEDDING_TEXT = 9  # its column


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """Which part of the readable ranking is wanted. terms: the question's tokens in each candidate.

    fold: whether a passage that says what one above it says goes under that one. brought: passages of candidates that are
    not chunks of the index.
    """

    offset: int
    limit: int
    terms: Mapping[Key, tuple[str, ...]]
    fold: bool = False
    brought: Mapping[Key, Passage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HydratedPage:
    """passages: the page asked for. judged: the first passages of the ranking.

    readable_count: how many candidates the reader may read. hidden_count: how many are no longer theirs to read.
    folded: what went under which passage. is_stale: a candidate's document was published anew or removed after the
    recall, so that a new recall would find other chunks.
    """

    passages: tuple[Passage, ...]
    judged: tuple[Passage, ...]
    readable_count: int
    hidden_count: int
    folded: Mapping[Key, Key]
    is_stale: bool


def hydrate(
    ranking: Sequence[Candidate], page: PageRequest, *, principal: Principal, generation: int
) -> HydratedPage:
    """Text for the page. Candidates that are not readable (any more) are dropped, and those behind them move up.

    Folding looks only at what stands above, so that the top 5 are the head of the top 10.
    """
    with read_snapshot() as cursor:
        scopes = visible_scopes(principal)
        states = _readable(cursor, _chunk_ids(ranking), scopes, generation)
        readable = states.readable | _open_brought(page.brought, principal)
        ranked = [candidate for candidate in ranking if candidate.chunk_id in readable]
        shown = _shown(cursor, ranked, page, scopes)
    passages = [_with_folded(shown, key) for key in shown.kept]
    return HydratedPage(
        passages=tuple(passages[page.offset : page.offset + page.limit]),
        judged=tuple(passages[:JUDGED]),
        readable_count=len(ranked),
        hidden_count=states.hidden_count,
        folded=shown.folded,
        is_stale=states.is_outdated,
    )


def read_texts(keys: Sequence[Key], *, principal: Principal) -> dict[Key, str]:
    """The embedding texts (title, headings, text) of those chunks that the reader may read now."""
    chunk_ids = [key for key in keys if isinstance(key, int)]
    with read_snapshot() as cursor:
        rows = _read_rows(cursor, chunk_ids, visible_scopes(principal))
    return {key: row[_EMBEDDING_TEXT] for key, row in rows.items()}


@dataclass(slots=True, kw_only=True)
class _Shown:
    """Passages by key; the keys of those that stand by themselves, best first; and the others, under which."""

    passages: dict[Key, Passage]
    kept: list[Key]
    folded: dict[Key, Key]


def _shown(
    cursor: CursorWrapper, ranked: Sequence[Candidate], page: PageRequest, scopes: Sequence[int]
) -> _Shown:
    """Reads on in the ranking until the page, and what is judged, is full."""
    shown, folder = _Shown(passages={}, kept=[], folded={}), Folder()
    wanted, at = max(JUDGED, page.offset + page.limit), 0
    while at < len(ranked) and len(shown.kept) < wanted:
        block = ranked[at : at + wanted - len(shown.kept)]
        at += len(block)
        rows = _read_rows(cursor, _chunk_ids(block), scopes)
        for candidate in block:
            key = candidate.chunk_id
            if key in page.brought:
                passage = replace(page.brought[key], score=candidate.score, channels=candidate.channels)
            elif key in rows:
                passage = _passage(rows[key], candidate, page.terms.get(key, ()))
            else:
                continue
            shown.passages[key] = passage
            if page.fold and (same := folder.same_as(key, passage.text)) is not None:
                shown.folded[key] = same
            else:
                shown.kept.append(key)
    return shown


def _chunk_ids(candidates: Sequence[Candidate]) -> list[int]:
    return [one.chunk_id for one in candidates if isinstance(one.chunk_id, int)]


def _open_brought(brought: Mapping[Key, Passage], principal: Principal) -> frozenset[Key]:
    """Those whose source the reader may use now."""
    sources = {key: passage.external.source_uid for key, passage in brought.items() if passage.external}
    still_open = open_source_uids(principal, sources.values())
    return frozenset(key for key, uid in sources.items() if uid in still_open)


def _with_folded(shown: _Shown, key: Key) -> Passage:
    beneath = tuple(shown.passages[other] for other, above in shown.folded.items() if above == key)
    return replace(shown.passages[key], also_in=beneath) if beneath else shown.passages[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class _States:
    """hidden_count: of those that may not be read. is_outdated: any is gone or outdated for another reason."""

    readable: frozenset[Key]
    hidden_count: int
    is_outdated: bool


def _readable(
    cursor: CursorWrapper, chunk_ids: Sequence[int], scopes: Sequence[int], generation: int
) -> _States:
    cursor.execute(_STATES, [list(scopes), list(chunk_ids), generation])
    states = cursor.fetchall()
    is_outdated = any(is_open and not is_current for _chunk_id, is_open, is_current in states)
    return _States(
        readable=frozenset(chunk_id for chunk_id, is_open, is_current in states if is_open and is_current),
        hidden_count=sum(not is_open for _chunk_id, is_open, _is_current in states),
        is_outdated=is_outdated or len(states) < len(chunk_ids),
    )


def _read_rows(
    cursor: CursorWrapper, chunk_ids: Sequence[int], scopes: Sequence[int]
) -> dict[Key, tuple[Any, ...]]:
    cursor.execute(_ROWS, [list(chunk_ids), list(scopes), [state.value for state in IN_FORCE]])
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
