"""No statement of a search goes without its index, whatever share of the chunks a reader may see."""

import json

import numpy as np
import pytest
from django.db import connection, transaction

from ingestion.indexing import tables
from retrieval.channels.dense import choose_plan, search_dense
from retrieval.channels.lexical import TermStatistics, search_lexical
from retrieval.reach import Reach

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.integration, pytest.mark.timeout(600)]
NUMBER, DIMENSION, CHUNKS, DOCUMENT = 9, 8, 12_000, 10
# Scope n of 1..4 holds this share; a reader of the last ones alone sees little.
SCOPES = {1: 0.5, 2: 0.45, 3: 0.045, 4: 0.005}
READERS = {"all": (1, 2, 3, 4), "half": (2, 3, 4), "5 %": (3, 4), "0.5 %": (4,)}


@pytest.fixture(autouse=True)
def few_are_fewer(settings):
    """The bounds between the plans, in proportion to this index."""
    settings.DENSE_EXACT_ROWS = 100


@pytest.fixture(scope="module")
def index(django_db_setup, django_db_blocker):
    """Random rows; each has a rare word (1 of 3,000), a middling one (1 of 50) and one that half of them have."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        tables.drop_tables(NUMBER)
        tables.create_tables(NUMBER, DIMENSION)
        cursor.execute(
            f"insert into dense_g{NUMBER} select n, n / {DOCUMENT}, {_scope()}, "
            f"(select array_agg(random() - .5 + 0 * (n + d)) from generate_series(1, {DIMENSION}) as d)::vector::halfvec "
            f"from generate_series(1, {CHUNKS}) as n"
        )
        cursor.execute(
            f"insert into lexical_g{NUMBER} select n, n / {DOCUMENT}, {_scope()}, "
            "array_to_tsvector(array['rare' || n % 3000, 'mid' || n % 50, 'often' || n % 2]), '{1:1}/1000000000' "
            f"from generate_series(1, {CHUNKS}) as n"
        )
        tables.build_indexes(NUMBER)
        cursor.execute(f"vacuum analyze dense_g{NUMBER}, lexical_g{NUMBER}")
        yield
        tables.drop_tables(NUMBER)


def _scope():
    """By number: the first half of each thousand lies in scope 1, and so on."""
    bounds, total = [], 0.0
    for scope, share in SCOPES.items():
        total += share
        bounds.append(f"when n % 1000 < {round(total * 1000)} then {scope}")
    return f"case {' '.join(bounds)} end"


class Explaining:
    """A cursor that keeps the plan of every statement over the index."""

    def __init__(self, cursor):
        self.cursor, self.nodes = cursor, []

    def execute(self, sql, parameters=None):
        if f"_g{NUMBER}" in sql:
            self.cursor.execute(f"explain (format json) {sql}", parameters)
            found = self.cursor.fetchone()[0]
            self._walk((json.loads(found) if isinstance(found, str) else found)[0]["Plan"])
        self.cursor.execute(sql, parameters)

    def fetchall(self):
        return self.cursor.fetchall()

    def _walk(self, node):
        self.nodes.append((node["Node Type"], node.get("Index Name", "")))
        for child in node.get("Plans", ()):
            self._walk(child)

    @property
    def indexes(self):
        return {name for _, name in self.nodes if name}

    @property
    def scans_everything(self):
        return any(kind.startswith(("Seq Scan", "Parallel Seq Scan")) for kind, _ in self.nodes)


def visible(scopes):
    return round(CHUNKS * sum(SCOPES[scope] for scope in scopes))


@pytest.mark.parametrize("scopes", READERS.values(), ids=list(READERS))
def test_nearest_vectors_come_by_an_index_and_none_is_missing(index, scopes):
    vector = np.ones(DIMENSION, dtype=np.float32)
    plan = choose_plan(reachable=visible(scopes), everything=CHUNKS)
    with transaction.atomic(), connection.cursor() as cursor:
        explaining = Explaining(cursor)
        hits = search_dense(explaining, NUMBER, vector, Reach(scopes=scopes), plan=plan, limit=100)
    assert not explaining.scans_everything, explaining.nodes
    expected = "embedding" if visible(scopes) > CHUNKS // 10 else "scope_id"
    assert any(expected in name for name in explaining.indexes), explaining.nodes
    assert len(hits) == min(100, visible(scopes))


def test_conditions_on_documents_come_by_an_index(index):
    reach = Reach(scopes=(1, 2, 3, 4), document_ids=tuple(range(5, 25)), filtered_chunks=200)
    plan = choose_plan(reachable=200, everything=CHUNKS)
    with transaction.atomic(), connection.cursor() as cursor:
        explaining = Explaining(cursor)
        search_dense(explaining, NUMBER, np.ones(DIMENSION, dtype=np.float32), reach, plan=plan, limit=100)
    assert not explaining.scans_everything, explaining.nodes
    assert any("document_id" in name for name in explaining.indexes)


@pytest.mark.parametrize("scopes", READERS.values(), ids=list(READERS))
@pytest.mark.parametrize("terms", [("rare7",), ("rare7", "mid3"), ("rare7", "mid3", "often1")])
def test_words_come_by_an_index(index, scopes, terms):
    share = visible(scopes) / CHUNKS
    counts = {"rare7": 4, "mid3": CHUNKS // 50, "often1": CHUNKS // 2}
    known = TermStatistics(
        chunk_count=visible(scopes),
        all_chunks=CHUNKS,
        frequencies={term: max(1, round(counts[term] * share)) for term in terms},
    )
    with transaction.atomic(), connection.cursor() as cursor:
        explaining = Explaining(cursor)
        search_lexical(explaining, NUMBER, known, Reach(scopes=scopes), 5)
    assert not explaining.scans_everything, explaining.nodes
    assert any("terms" in name or "scope_id" in name for name in explaining.indexes), explaining.nodes
