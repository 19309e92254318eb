"""A question that a table answers: start reading here. Which tables search found, which of them the question fits, the result.

Nothing is said unless one table fits, or all that fit say the same. Costs microseconds when the question asks for nothing
that tables know, and no query when no table is among the first passages.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils import translation

from accounts.values import Principal
from ingestion.indexing.generations import active_generation
from ingestion.models import Chunk
from retrieval.evidence import is_chinese
from retrieval.hydration import PageRequest, hydrate
from retrieval.tables.labels import cues_in
from retrieval.tables.lexicon import Cue
from retrieval.tables.plan import TableQuery
from retrieval.tables.reader import read_question
from retrieval.tables.run import Outcome, TablesUnavailable, run_query
from retrieval.tables.shown import Computed, conditions_text, describe
from retrieval.tables.stored import StoredTable, tables_behind
from retrieval.tables.typed import Row
from retrieval.values import Candidate, DirectAnswer, Passage

log = logging.getLogger(__name__)
FIRST_PASSAGES = 10  # where a table must be found for its question
MAX_CITED, MAX_TABLE_ANSWERS = 5, 3
_ASKS = frozenset(Cue) - {Cue.STOP, Cue.OR, Cue.BY, Cue.DOES, Cue.BETWEEN, Cue.EACH, Cue.DISTINCT}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    stored: StoredTable
    query: TableQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    reading: _Reading
    outcome: Outcome
    computed: Computed


def asks_of_tables(question: str) -> bool:
    """Whether the question asks for anything that can be looked up or computed: cheap, before any table is read."""
    return bool(cues_in(question) & _ASKS)


def answer_from_tables(
    question: str, passages: Sequence[Passage], *, principal: Principal
) -> DirectAnswer | None:
    """The answer with the rows it rests on cited, or None whenever it is not certain.

    passages: what search found for the principal, best first. Reads in transactions of its own.
    """
    first = [passage for passage in passages[:FIRST_PASSAGES] if passage.kind == "table"]
    if not first or not asks_of_tables(question):
        return None
    readings = [
        _Reading(stored=stored, query=query)
        for stored in tables_behind(first, principal=principal)
        if (query := read_question(question, stored.table, context=(stored.passage.title,)))
    ]
    if not 1 <= len(readings) <= MAX_TABLE_ANSWERS:
        return None
    with translation.override("zh-hans" if is_chinese(question) else "en"):
        answers = _answers(readings)
        if not answers or len({_told(answer) for answer in answers}) > 1:
            return None  # two tables that say different things: which is meant is for the reader to say
        return _direct(answers[0], principal)


def _answers(readings: Sequence[_Reading]) -> list[_Answer]:
    try:
        answers = []
        for reading in readings:
            outcome = run_query(reading.query, reading.stored.table)
            computed = describe(reading.query, outcome, reading.stored.table)
            answers.append(_Answer(reading=reading, outcome=outcome, computed=computed))
    except TablesUnavailable:
        return []
    return answers


def _told(answer: _Answer) -> tuple[object, ...]:
    return answer.computed.sentence, answer.computed.rows if answer.reading.query.measure else ()


def _direct(answer: _Answer, principal: Principal) -> DirectAnswer | None:
    stored, query = answer.reading.stored, answer.reading.query
    used = [stored.table.rows[number] for number in answer.outcome.rows]
    cited = _cited(stored, used, principal)
    if not cited:
        return None  # gone, or closed to the reader, since it was found
    markers = "".join(f"[{n}]" for n in range(1, len(cited) + 1))
    text = f"{answer.computed.sentence} {markers}\n\n{answer.computed.how} [1]"
    return DirectAnswer(
        kind="table",
        text=text,
        passages=tuple(cited),
        detail={
            "table": stored.table.title,
            "document": stored.passage.document_uid,
            "how": answer.computed.how,
            "conditions": conditions_text(query.where, stored.table),
            "head": list(answer.computed.head),
            "rows": [list(row) for row in answer.computed.rows],
            "rows_used": len(used),
            "rows_cited": sum(_stands_in(row, cited) for row in used),
        },
    )


# --- citing rows --------------------------------------------------------------------------------------------


def _cited(stored: StoredTable, used: Sequence[Row], principal: Principal) -> list[Passage]:
    """The passages that hold the first of the rows used, as the reader may read them now; each with its own rows."""
    generation = active_generation()
    chunks = list(
        Chunk.objects.filter(
            generation=generation,
            version_id=stored.passage.version_id,
            first_element__lte=stored.last_element,
            last_element__gte=stored.first_element,
        )
        .order_by("order")
        .values_list("id", "first_element", "last_element", "text")
    )
    held: dict[int, list[Row]] = {}
    for row in used:
        holder = _holder(row, chunks)
        if holder is not None and (holder in held or len(held) < MAX_CITED):
            held.setdefault(holder, []).append(row)
    ranking = [Candidate(chunk_id=chunk_id, score=0.0, channels={}) for chunk_id in held]
    page = hydrate(
        ranking,
        PageRequest(offset=0, limit=MAX_CITED, terms={}, fold=False),
        principal=principal,
        generation=generation.number,
    )
    return [
        _narrowed(passage, held[passage.chunk_id], stored)
        for passage in page.passages
        if isinstance(passage.chunk_id, int)
    ]


def _narrowed(passage: Passage, rows: Sequence[Row], stored: StoredTable) -> Passage:
    """The passage as far as it says these rows: its lines of the head and of them."""
    elements = [row.source.element for row in rows]
    names = {column.full_name for column in stored.table.columns if column.full_name}
    lines = passage.text.split("\n")
    kept = [line for line in lines if _says(line, names) or any(_says(line, _cells(row)) for row in rows)]
    text = "\n".join(kept) if any(_says(line, _cells(rows[0])) for line in kept) else passage.text
    return replace(passage, first_element=min(elements), last_element=max(elements), text=text)


def _cells(row: Row) -> set[str]:
    return {" ".join(text.split()) for text in row.texts if text.strip()}


def _says(line: str, texts: set[str]) -> bool:
    return all(text in line for text in texts)


def _holder(row: Row, chunks: Sequence[tuple[int, int, int, str]]) -> int | None:
    """The chunk that says the row: of those over its element, the one with its cells in one line."""
    over = [chunk for chunk in chunks if chunk[1] <= row.source.element <= chunk[2]]
    if len(over) < 2:
        return over[0][0] if over else None
    said = _cells(row)
    for chunk in over:
        if any(_says(line, said) for line in chunk[3].split("\n")):
            return chunk[0]
    return over[0][0]


def _stands_in(row: Row, cited: Sequence[Passage]) -> bool:
    return any(passage.first_element <= row.source.element <= passage.last_element for passage in cited)
