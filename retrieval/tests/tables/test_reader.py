"""Questions as queries: what is understood, and above all what is not."""

from datetime import date
from decimal import Decimal

import pytest

from retrieval.tables.plan import Aggregate, Compare
from retrieval.tables.reader import read_question

SALES = (
    "合同号|地区|产品|日期|销售额（万元）",
    "C1|华东|打印机|2022-03-01|120",
    "C2|华北|打印机|2023-04-01|80",
    "C3|华东|扫描仪|2023-05-01|30",
    "C4|华南|投影仪|2023-06-01|60",
    "合计||||290",
)
PLAYERS = (
    "Rank|Player|Club|Goals|Signed",
    "1|Ann Lee|Rovers|21|2019",
    "2|Bea Moss|United|17|2021",
    "3|Cy Tran|Rovers|17|2020",
    "4|Di Fox|City|9|2021",
)


def where(query):
    return [(condition.column, condition.compare, condition.values) for condition in query.where]


@pytest.mark.parametrize(
    ("question", "aggregate", "column", "group"),
    [
        ("销售额的总和是多少？", Aggregate.SUM, 4, None),
        ("总销售额是多少", Aggregate.SUM, 4, None),
        ("销售总额是多少", Aggregate.SUM, 4, None),
        ("平均销售额是多少", Aggregate.AVERAGE, 4, None),
        ("各地区的销售额合计", Aggregate.SUM, 4, 1),
        ("最高的销售额是多少", Aggregate.MAX, 4, None),
        ("有多少个合同号", Aggregate.DISTINCT, 0, None),
        ("一共有多少条记录", Aggregate.COUNT, None, None),
        ("有几个不同的地区", Aggregate.DISTINCT, 1, None),
    ],
)
def test_what_is_computed_in_chinese(table, question, aggregate, column, group):
    query = read_question(question, table(*SALES))
    assert query is not None
    assert query.measure is not None
    assert (query.measure.aggregate, query.measure.column, query.group_by) == (aggregate, column, group)


def test_conditions_are_cells_dates_and_bounds_in_the_units_of_the_column(table):
    sales = table(*SALES)
    query = read_question("2023年华东地区的销售额总和是多少", sales)
    assert query is not None
    assert where(query) == [
        (3, Compare.AT_LEAST, (date(2023, 1, 1),)),
        (3, Compare.LESS, (date(2024, 1, 1),)),
        (1, Compare.IN, ("华东",)),
    ]
    for question in (
        "销售额超过50的合同号有多少个",
        "销售额超过50万元的合同号有多少个",
        "销售额超过500,000元的合同号有多少个",
    ):
        query = read_question(question, sales)
        assert query is not None, question
        assert where(query) == [(4, Compare.GREATER, (Decimal(500_000),))]


def test_who_is_first_by_single_rows_or_by_sums_only_where_both_agree(table):
    sales = table(*SALES)
    query = read_question("哪个地区的销售额最高", sales)
    assert query is not None
    assert (query.group_by, query.limit) == (1, 1)
    query = read_question("销售额最高的三个合同号", sales)
    assert query is not None
    assert (query.select, query.limit) == ((0, 4), 3)
    torn = table("Shop|Region|Sales", "a|East|50", "b|East|50", "c|West|80", "d|North|1")
    assert read_question("which region has the highest sales?", torn) is None
    assert read_question("which region has the highest total sales?", torn) is not None


@pytest.mark.parametrize(
    ("question", "select", "conditions"),
    [
        ("Who scored the most goals?", (1, 3), []),
        ("how many goals did Ann Lee score?", (3,), [(1, Compare.IN, ("Ann Lee",))]),
        ("What is the club of Bea Moss?", (2,), [(1, Compare.IN, ("Bea Moss",))]),
        ("which player has more goals, Ann Lee or Di Fox?", (1, 3), [(1, Compare.IN, ("Ann Lee", "Di Fox"))]),
        ("which players have at least 17 goals?", (1,), [(3, Compare.AT_LEAST, (Decimal(17),))]),
        ("who is at rank 3?", (1,), [(0, Compare.IN, (Decimal(3),))]),
    ],
)
def test_what_is_looked_up_in_english(table, question, select, conditions):
    query = read_question(question, table(*PLAYERS))
    assert query is not None
    assert (query.select, where(query)) == (select, conditions)


@pytest.mark.parametrize(
    "question",
    [
        "how many players are not from Rovers?",
        "what is the difference in goals between Ann Lee and Di Fox?",
        "how many more goals did Ann Lee score than Di Fox?",
        "who scored the second most goals?",
        "what is the sum of rank?",
        "how many clubs are there in the league?",  # a word that nothing explains
        "how many clubs are there?",  # three or four?
        "what is the club of the player?",
        "除了华东，销售额最高的是哪个地区",
        "华东的销售额比华北高多少",
        "华东",
        "",
        "?" * 1_999,
        "most " * 400,
    ],
)
def test_what_is_not_certain_is_not_read(table, question):
    assert read_question(question, table(*PLAYERS)) is None
    assert read_question(question, table(*SALES)) is None


def test_names_that_two_columns_share_and_cells_that_list_several_are_not_guessed(table):
    twice = table("Team|Points|Points", "a|1|2", "b|3|4")
    assert read_question("which team has the most points?", twice) is None
    listed = table("Film|Director|Year", "x|Ann, Bob|2001", "y|Ann|2002")
    assert read_question("how many films are by Ann?", listed) is None


def test_hostile_names_and_cells_are_words_like_others(table):
    nasty = table('Name|"; drop table t; --|N\x00ul', "' or 1=1|5|1", "b|7|2", "c|9|3")
    query = read_question('what is the "; drop table t; -- of b?', nasty)
    assert query is None or query.select == (1,)
