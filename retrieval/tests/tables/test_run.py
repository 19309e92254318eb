"""Queries over tables in the confined child: what comes back, and what nothing gets out of it."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from retrieval.tables import run
from retrieval.tables.plan import (
    Aggregate,
    Compare,
    Condition,
    InvalidQuery,
    Measure,
    Order,
    TableQuery,
    query_from_json,
)
from retrieval.tables.run import Line, TablesUnavailable, run_query
from retrieval.tables.statements import Job, Statement

pytestmark = pytest.mark.integration
LINES = (
    "Name|Region|Sales|Day",
    "a|East|0.1|2023-01-01",
    "b|West|0.2|2023-02-01",
    "'; drop table t; --|East|0.2|2024-03-01",
    'nul\x00 and "quotes"|North||2024-04-01',
)


@pytest.fixture
def sales(table):
    return table(*LINES)


def test_sums_are_exact_groups_ordered_and_ties_all_come(sales):
    summed = TableQuery(
        measure=Measure(aggregate=Aggregate.SUM, column=2),
        group_by=1,
        order=Order(column=None, descending=True),
        limit=1,
    )
    assert run_query(summed, sales).lines == (Line(key="East", value=Decimal("0.3")),)
    first = TableQuery(select=(0,), order=Order(column=2, descending=True), limit=1)
    assert run_query(first, sales).rows == (1, 2)
    latest = TableQuery(measure=Measure(aggregate=Aggregate.MAX, column=3))
    assert run_query(latest, sales).lines == (Line(key=None, value=date(2024, 4, 1)),)


@pytest.mark.parametrize("name", [LINES[3].split("|")[0], LINES[4].split("|")[0]])
def test_a_cell_is_found_by_what_it_says_whatever_that_is(sales, name):
    query = TableQuery(select=(1,), where=(Condition(column=0, compare=Compare.IN, values=(name,)),))
    assert len(run_query(query, sales).rows) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "select content from read_text('/etc/passwd')",
        "copy t to '/tmp/out.csv'",
        "install httpfs",
        "attach '/tmp/other.db'",
        "set enable_external_access = true",
        "select 1; select count(*) from range(100000000000) a, range(1000) b",
    ],
)
def test_not_even_foreign_sql_would_get_out(sales, monkeypatch, statement):
    job = Job(columns=(), rows=Statement(text=statement, parameters=()), result=None)
    monkeypatch.setattr(run, "job_of", lambda query, table: job)
    monkeypatch.setattr(run, "LIMITS", replace(run.LIMITS, cpu_s=1, wall_s=3.0))
    with pytest.raises(TablesUnavailable):
        run_query(TableQuery(select=(0,)), sales)


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"select": ["Nme"]},
        {"select": "Name"},
        {"select": ["Name"], "where": [{"column": "Region", "compare": "in", "values": ["South"]}]},
        {"select": ["Name"], "where": [{"column": "Region", "compare": "greater", "values": ["East"]}]},
        {"select": ["Name"], "where": [{"column": "Sales", "compare": "greater", "values": ["1 or 1=1"]}]},
        {"select": ["Name"], "where": [{"column": "Sales", "compare": "greater", "values": ["NaN"]}]},
        {"measure": {"aggregate": "sum", "column": "Region"}},
        {"measure": {"aggregate": "median", "column": "Sales"}},
        {"select": ["Name"], "limit": 5},
        {"select": ["Name"], "order": {"column": "Sales", "descending": "yes"}},
    ],
)
def test_what_a_model_writes_is_refused_unless_it_is_in_the_table(sales, written):
    with pytest.raises(InvalidQuery):
        query_from_json(written, sales)


def test_what_a_model_writes_runs_like_any_other(sales):
    query = query_from_json(
        {
            "measure": {"aggregate": "count"},
            "where": [{"column": "Sales", "compare": "at_least", "values": ["0.2"]}],
        },
        sales,
    )
    assert run_query(query, sales).lines == (Line(key=None, value=Decimal(2)),)
