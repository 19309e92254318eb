"""Questions that lean on others stand alone; all others are left untouched."""

import pytest

from retrieval.query.followups import ROUNDS, stand_alone
from retrieval.query.values import Round


def alone(text, *before, **options):
    rewriting = stand_alone(text, [Round(question=question) for question in before], **options)
    return rewriting.text if rewriting else None


@pytest.mark.parametrize(
    ("before", "text", "expected"),
    [
        ("How many vacation days do employees get?", "What about interns?", "How many vacation days do employees get? (interns)"),
        ("How many vacation days do employees get?", "And sick days?", "How many sick days do employees get?"),
        ("年假有多少天？", "那病假呢？", "病假有多少天？"),
        ("远程办公要提前几天申请？", "实习生呢？", "远程办公要提前几天申请？（实习生）"),
        ("AUTO_RANDOM 的分片位默认值是多少？", "它的取值范围是多少？", "AUTO_RANDOM的取值范围是多少？"),
        ("How do I set up XK-200A?", "What about XK-300B?", "How do I set up XK-300B?"),
        ("What is the per diem rate in Tokyo?", "Who approves it?", "Who approves it? (per diem rate Tokyo)"),
        ("What is the per diem rate in Tokyo?", "Why?", "Why? (per diem rate Tokyo)"),
        ("年假和病假有什么区别？", "第二个需要证明吗？", "病假需要证明吗？"),
        ("What is the difference between credit hours and award leave?", "When does the latter expire?", "When does the award leave expire?"),
        ("怎么申请VPN", "要多久", "要多久（申请 VPN）"),
        ("What is the notice period in Germany?", "In France?", "What is the notice period in Germany? (In France)"),
    ],
)  # fmt: skip
def test_a_follow_up_takes_along_what_it_leans_on(before, text, expected):
    assert alone(text, before) == expected


@pytest.mark.parametrize(
    "text",
    [
        "What is the travel policy?",
        "If I leave the company, does it pay me out?",
        "How long does it take to get a badge?",
        "After a colleague is let go, how fast must their logins be gone?",
        "And who approves sick leave?",
        "对教师的攻击导致了什么？",
        "那曲市的海拔是多少？",
        "宇航员遇到的第一个问题是什么？",
        "其他假期怎么申请",
    ],
)
def test_a_question_that_stands_alone_is_left_untouched(text):
    assert alone(text, "How do I request remote work?") is None


def test_nothing_is_carried_over_where_there_is_nothing():
    assert alone("Why?") is None
    assert alone("Why?", "Thanks!") is None


def test_only_the_last_rounds_count_and_a_budget_holds():
    assert alone("Why?", "Explain the parking rules", *["ok"] * ROUNDS) is None
    assert alone("Why?", "Explain parking " + "and mooring " * 50, budget=5).count("mooring") <= 4


def test_the_second_one_is_that_of_the_answers_list():
    last = Round(
        question="Which leaves are there?", items=("Annual leave", "Sick leave"), sources=(("u7", "Leave"),)
    )
    rewriting = stand_alone("Explain the second one", [last])
    assert (rewriting.text, rewriting.sources) == ("Which leaves are there? (Sick leave)", ("u7",))


def test_titles_that_were_cited_help_where_the_questions_say_too_little():
    rewriting = stand_alone("Who approves it?", [Round(question="Which?", sources=(("u7", "Leave policy"),))])
    assert (rewriting.text, rewriting.sources) == ("Who approves it? (Leave policy)", ("u7",))
