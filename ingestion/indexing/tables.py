"""The two physical tables of an index generation: made, filled, moved and dropped here and nowhere else.

`dense_g<N>` holds one halfvec a chunk (L2 norm 1, so the inner product `<#>` is the cosine), `lexical_g<N>` the terms
for matching and their BM25 weights for scoring. Both are narrow, so that exact scans stay cheap, and carry the access
scope of their document. Everything here runs inside the caller's transaction.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from numpy.typing import NDArray

from ingestion.indexing.bm25 import TERM_DIMENSION, sparse_text

WRITERS = (
    0x6B62_6C65_7869  # the lock that writers of index rows share, and that an exchange of terms has alone
)
SEPARATOR = "\x1f"  # the analyzer's tokens never hold a control character


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """One chunk on its way into the index. `weights`: term -> saturated term frequency, see `bm25.weights`."""

    chunk_id: int
    vector: NDArray[np.float32]
    weights: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRow:
    """A row with the document it belongs to and that document's access scope."""

    document_id: int
    scope_id: int
    row: IndexRow


def create_tables(number: int, dimension: int) -> None:
    """The tables of generation `number`, empty, without the vector index (see `build_indexes`)."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            create table dense_g{number:d} (
                chunk_id bigint primary key, document_id bigint not null, scope_id int not null,
                embedding halfvec({dimension:d}) not null);
            alter table dense_g{number:d} alter column embedding set storage plain;
            create index on dense_g{number:d} (scope_id);
            create index on dense_g{number:d} (document_id);
            create table lexical_g{number:d} (
                chunk_id bigint primary key, document_id bigint not null, scope_id int not null,
                terms tsvector not null, bm25 sparsevec({TERM_DIMENSION:d}) not null);
            create index on lexical_g{number:d} (scope_id);
            create index on lexical_g{number:d} (document_id)
            """
        )


def build_indexes(number: int) -> None:
    """HNSW and GIN. After a bulk load this is many times faster than keeping them up row by row."""
    with _taking_long() as cursor:
        cursor.execute(
            f"create index on dense_g{number:d} using hnsw (embedding halfvec_ip_ops) with (m = 16, ef_construction = 128)"
        )
        cursor.execute(f"create index on lexical_g{number:d} using gin (terms)")
        cursor.execute(f"analyze dense_g{number:d}, lexical_g{number:d}")


def drop_tables(number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"drop table if exists dense_g{number:d}, lexical_g{number:d}")
        cursor.execute("delete from ingestion_termstatistic where generation = %s", [number])
        cursor.execute("delete from ingestion_scopestatistic where generation = %s", [number])


def enter_as_writer() -> None:
    """Until the transaction ends no exchange of terms begins. Taken before anything is written, and often: it is cheap."""
    with connection.cursor() as cursor:
        _enter(cursor)


def exclude_writers() -> None:
    """Wait for the writers under way, and keep others waiting until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(%s)", [WRITERS])


def exchange_terms(number: int) -> None:
    """Rows that wait in `ingestion_recutrow` take the place of those in the index, and are counted. Writers are excluded."""
    parameters: dict[str, int | str] = {"number": number, "separator": SEPARATOR}
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into ingestion_termstatistic as t (generation, scope_id, term, chunk_count) "
            "select %(number)s, scope_id, term, sum(change) from ("
            "  select l.scope_id, unnest(tsvector_to_array(l.terms)) as term, -1 as change"
            f"  from lexical_g{number:d} l join ingestion_recutrow r using (chunk_id) where r.generation = %(number)s"
            "  union all"
            "  select l.scope_id, unnest(array_remove(string_to_array(r.terms, %(separator)s), '')), 1"
            f"  from lexical_g{number:d} l join ingestion_recutrow r using (chunk_id) where r.generation = %(number)s"
            ") as changes group by scope_id, term having sum(change) <> 0 order by scope_id, term "
            "on conflict (generation, scope_id, term) do update set chunk_count = t.chunk_count + excluded.chunk_count",
            parameters,
        )
        cursor.execute(
            "update ingestion_scopestatistic set changes = changes + 1 where generation = %(number)s and scope_id in "
            f"(select l.scope_id from lexical_g{number:d} l join ingestion_recutrow r using (chunk_id) "
            "where r.generation = %(number)s)",
            parameters,
        )
        cursor.execute(
            f"update lexical_g{number:d} l set bm25 = r.bm25::sparsevec, "
            "terms = array_to_tsvector(array_remove(string_to_array(r.terms, %(separator)s), '')) "
            "from ingestion_recutrow r where r.generation = %(number)s and r.chunk_id = l.chunk_id",
            parameters,
        )


def _enter(cursor: CursorWrapper) -> None:
    cursor.execute("select pg_advisory_xact_lock_shared(%s)", [WRITERS])


def insert_rows(number: int, *, document_id: int, scope_id: int, rows: Sequence[IndexRow]) -> None:
    """Add a document's rows and count its terms. The document must have no rows in this generation."""
    load_rows(number, [PlacedRow(document_id=document_id, scope_id=scope_id, row=row) for row in rows])
    with connection.cursor() as cursor:
        _count(cursor, number, document_id, sign=1)


def load_rows(number: int, rows: Sequence[PlacedRow]) -> None:
    """Add rows of any documents without counting them: for bulk loads, which call `count_all` at their end."""
    with connection.cursor() as cursor:
        _enter(cursor)
        _copy(
            cursor,
            f"copy dense_g{number:d} (chunk_id, document_id, scope_id, embedding) from stdin",
            ((p.row.chunk_id, p.document_id, p.scope_id, vector_text(p.row.vector)) for p in rows),
        )
        _copy(
            cursor,
            f"copy lexical_g{number:d} (chunk_id, document_id, scope_id, terms, bm25) from stdin",
            (
                (
                    p.row.chunk_id,
                    p.document_id,
                    p.scope_id,
                    lexemes_text(p.row.weights),
                    sparse_text(p.row.weights),
                )
                for p in rows
            ),
        )


def count_all(number: int) -> None:
    """Count every row of a generation anew: chunks by scope, and by scope and term."""
    with _taking_long() as cursor:
        cursor.execute("delete from ingestion_termstatistic where generation = %s", [number])
        cursor.execute(
            "insert into ingestion_scopestatistic as s (generation, scope_id, chunk_count, changes) "
            f"select %s, scope_id, count(*), 1 from lexical_g{number:d} group by scope_id "
            "on conflict (generation, scope_id) do update "
            "set chunk_count = excluded.chunk_count, changes = s.changes + 1",
            [number],
        )
        cursor.execute(
            "insert into ingestion_termstatistic (generation, scope_id, term, chunk_count) "
            f"select %s, scope_id, lexeme, count(*) from lexical_g{number:d}, unnest(terms) group by scope_id, lexeme",
            [number],
        )


def delete_rows(number: int, document_id: int) -> None:
    """Take a document out of the index, and out of the statistics. One that is not in it, as most are, costs one look."""
    with connection.cursor() as cursor:
        _enter(cursor)
        cursor.execute(
            f"select exists (select from dense_g{number:d} where document_id = %(document)s) "
            f"or exists (select from lexical_g{number:d} where document_id = %(document)s)",
            {"document": document_id},
        )
        if cursor.fetchone() == (False,):
            return
        _count(cursor, number, document_id, sign=-1)
        cursor.execute(f"delete from dense_g{number:d} where document_id = %s", [document_id])
        cursor.execute(f"delete from lexical_g{number:d} where document_id = %s", [document_id])


def delete_chunks(number: int, document_id: int, chunk_ids: Sequence[int]) -> None:
    """Take some of a document's chunks out of the index, and out of the statistics."""
    with connection.cursor() as cursor:
        _enter(cursor)
        _count(cursor, number, document_id, sign=-1)
        for table in (f"dense_g{number:d}", f"lexical_g{number:d}"):
            cursor.execute(
                f"delete from {table} where document_id = %s and chunk_id = any(%s)",
                [document_id, list(chunk_ids)],
            )
        _count(cursor, number, document_id, sign=1)


def move_rows(number: int, document_id: int, scope_id: int) -> None:
    """Let a document's rows and statistics follow it into another access scope."""
    with connection.cursor() as cursor:
        _enter(cursor)
        _count(cursor, number, document_id, sign=-1)
        for table in (f"dense_g{number:d}", f"lexical_g{number:d}"):
            cursor.execute(
                f"update {table} set scope_id = %s where document_id = %s and scope_id <> %s",
                [scope_id, document_id, scope_id],
            )
        _count(cursor, number, document_id, sign=1)


def _count(cursor: CursorWrapper, number: int, document_id: int, *, sign: int) -> None:
    """Add or take away the document's chunks per scope and term, in sorted order so that writers never deadlock."""
    cursor.execute(
        "insert into ingestion_scopestatistic as s (generation, scope_id, chunk_count, changes) "
        f"select %s, scope_id, %s * count(*), 1 from lexical_g{number:d} where document_id = %s group by scope_id order by scope_id "
        "on conflict (generation, scope_id) do update "
        "set chunk_count = s.chunk_count + excluded.chunk_count, changes = s.changes + 1",
        [number, sign, document_id],
    )
    cursor.execute(
        "insert into ingestion_termstatistic as t (generation, scope_id, term, chunk_count) "
        f"select %s, scope_id, lexeme, %s * count(*) from lexical_g{number:d}, unnest(terms) "
        "where document_id = %s group by scope_id, lexeme order by scope_id, lexeme "
        "on conflict (generation, scope_id, term) do update set chunk_count = t.chunk_count + excluded.chunk_count",
        [number, sign, document_id],
    )


@contextmanager
def _taking_long() -> Iterator[CursorWrapper]:
    """A cursor for what takes minutes on a large index, beyond what one statement may usually take."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("set local statement_timeout = 0")
        yield cursor


def _copy(cursor: CursorWrapper, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
    with cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def lexemes_text(terms: Iterable[str]) -> str:
    """The text form of a tsvector without positions. Terms are the analyzer's: any characters but NUL."""
    return " ".join(map(quoted, filter(None, terms)))


def quoted(term: str) -> str:
    """One token as a lexeme of a tsvector or a tsquery."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


def count_change(number: int, scope_ids: Sequence[int]) -> None:
    """Tell that a search over these scopes may find something else, though no index row was changed."""
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into ingestion_scopestatistic as s (generation, scope_id, chunk_count, changes) "
            "select %s, scope, 0, 1 from unnest(%s::int[]) as scope order by scope "
            "on conflict (generation, scope_id) do update set changes = s.changes + 1",
            [number, sorted(set(scope_ids))],
        )


def vector_text(vector: NDArray[np.float32]) -> str:
    """pgvector's text form; five digits are more than a halfvec keeps."""
    return "[" + ",".join(f"{value:.5g}" for value in vector.tolist()) + "]"
