"""The second lock: ids become text only for chunks that the reader may see now.

Everything is read in one new snapshot, later than the recall's: scopes, the documents' scope and state, the texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import F
from numpy.typing import NDArray

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion.models import IN_FORCE, Chunk
from retrieval.channels.dense import read_vectors
from retrieval.snapshot import read_snapshot
from retrieval.values import Candidate, Passage

JUDGED = 5  # passages that the evidence verdict looks at, whatever page was asked for

_FIELDS = {
    "uid": F("document__uid"),
    "number": F("version__number"),
    "title": F("document__title"),
    "collection_uid": F("document__collection__uid"),
    "collection_name": F("document__collection__name"),
    "document_language": F("document__language"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """Which part of the readable ranking is wanted. terms: the question's tokens in each candidate."""

    offset: int
    limit: int
    terms: Mapping[int, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HydratedPage:
    """passages: the page asked for. judged: the first passages of the ranking, with their vectors where stored.

    readable_count: how many candidates the reader may read. is_stale: a candidate's document was published anew or
    removed after the recall, so that a new recall would find other chunks.
    """

    passages: tuple[Passage, ...]
    judged: tuple[tuple[Passage, NDArray[np.float32] | None], ...]
    readable_count: int
    is_stale: bool


def hydrate(
    ranking: Sequence[Candidate], page: PageRequest, *, principal: Principal, generation: int
) -> HydratedPage:
    """Text for the page. Candidates that are not readable (any more) are dropped, and those behind them move up."""
    with read_snapshot() as cursor:
        scopes = visible_scopes(principal)
        readable, is_stale = _readable([candidate.chunk_id for candidate in ranking], scopes, generation)
        ranked = [candidate for candidate in ranking if candidate.chunk_id in readable]
        wanted = ranked[page.offset : page.offset + page.limit]
        chosen = {candidate.chunk_id: candidate for candidate in (*ranked[:JUDGED], *wanted)}
        rows = _read_rows(list(chosen), scopes, generation)
        vectors = read_vectors(cursor, generation, [candidate.chunk_id for candidate in ranked[:JUDGED]])
    passages = {
        chunk_id: _passage(row, chosen[chunk_id], page.terms.get(chunk_id, ()))
        for chunk_id, row in rows.items()
    }
    return HydratedPage(
        passages=tuple(passages[candidate.chunk_id] for candidate in wanted),
        judged=tuple(
            (passages[candidate.chunk_id], vectors.get(candidate.chunk_id)) for candidate in ranked[:JUDGED]
        ),
        readable_count=len(ranked),
        is_stale=is_stale,
    )


def _readable(chunk_ids: list[int], scopes: Sequence[int], generation: int) -> tuple[set[int], bool]:
    """Ids that may be read, and whether any is gone or outdated for another reason than access."""
    visible = set(scopes)
    rows = Chunk.objects.filter(id__in=chunk_ids, generation__number=generation).values_list(
        "id", "document__scope_id", "version_id", "document__active_version_id", "document__archived_at"
    )
    found: set[int] = set()
    readable: set[int] = set()
    is_outdated = False
    for chunk_id, scope_id, version_id, active_version_id, archived_at in rows:
        found.add(chunk_id)
        if scope_id not in visible:
            continue
        if version_id == active_version_id and archived_at is None:
            readable.add(chunk_id)
        else:
            is_outdated = True
    return readable, is_outdated or len(found) < len(chunk_ids)


def _read_rows(chunk_ids: list[int], scopes: Sequence[int], generation: int) -> dict[int, dict[str, Any]]:
    rows = Chunk.objects.filter(
        id__in=chunk_ids,
        generation__number=generation,
        document__scope_id__in=scopes,
        document__archived_at=None,
        version_id=F("document__active_version_id"),
        version__state__in=IN_FORCE,
    ).values(
        "id", "document_id", "version_id", "text", "embedding_text", "kind", "language", "heading_path", "page",
        "boxes", "first_element", "last_element", **_FIELDS,
    )  # fmt: skip
    return {row["id"]: dict(row) for row in rows}


def _passage(row: dict[str, Any], candidate: Candidate, terms: tuple[str, ...]) -> Passage:
    return Passage(
        chunk_id=row["id"],
        document_id=row["document_id"],
        document_uid=str(row["uid"]),
        version_id=row["version_id"],
        version_number=row["number"],
        title=row["title"],
        collection_uid=str(row["collection_uid"]),
        collection_name=row["collection_name"],
        text=row["text"],
        embedding_text=row["embedding_text"],
        kind=row["kind"],
        language=row["language"] or row["document_language"],
        heading_path=tuple(row["heading_path"]),
        page=row["page"],
        boxes=tuple(row["boxes"]),
        first_element=row["first_element"],
        last_element=row["last_element"],
        score=candidate.score,
        channels=candidate.channels,
        terms=terms,
    )
