"""Conditions in questions become filters only where they are sure."""

from datetime import date

import pytest

from retrieval.filters import Filters, parse_filters
from retrieval.query.conditions import checked, find_conditions, narrowed, without_words
from retrieval.query.values import Condition
from retrieval.query.vocabulary import Term, Vocabulary

TODAY = date(2026, 11, 30)
VALUES = {
    "doc_type": ["policy", "contract", "制度", "合同"],
    "department": ["HR", "IT", "Legal", "人事部", "人事部一组"],
    "security_level": ["confidential", "机密"],
    "language": ["zh", "en", "mixed"],
    "tags": ["travel", "差旅"],
}
TERMS = [Term(name=name, word=word, value=word) for name, words in VALUES.items() for word in words]
TERMS += [
    Term(name="collections", word="Employee handbook", value="uid-1"),
    Term(name="collections", word="Leave", value="uid-2"),
    Term(name="metadata.region", word="EU", value="EU", label="Region"),
]
VOCABULARY = Vocabulary(
    terms=tuple(TERMS),
    measures={"Amount": ("amount", "number"), "金额": ("sum", "number"), "Valid until": ("until", "date")},
)


def find(text):
    return find_conditions(text, VOCABULARY, today=TODAY)


def stated(text):
    return {name: value for condition in find(text) for name, value in condition.stated.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How many vacation days in HR policies?", {"department": ["HR"], "doc_type": ["policy"]}),
        ("in documents of the Legal department, who signs?", {"department": ["Legal"]}),
        ("在人事部的制度里，请假要提前几天？", {"department": ["人事部"], "doc_type": ["制度"]}),
        ("在人事部一组的文件里查加班", {"department": ["人事部一组"]}),
        ("合同类文件里有没有违约金？", {"doc_type": ["合同"]}),
        ("in our contracts what is the penalty", {"doc_type": ["contract"]}),
        ("机密资料中提到的供应商", {"security_level": ["机密"]}),
        ("在英文文档里找年假", {"language": ["en", "mixed"]}),
        ("documents tagged travel about per diem", {"tags": ["travel"]}),
        ("标签为差旅的文件中住宿标准", {"tags": ["差旅"]}),
        ("In the employee handbook, what is PTO?", {"collections": ["uid-1"]}),
        ("in the Leave collection what is PTO", {"collections": ["uid-2"]}),
        ("region: EU data retention", {"metadata.region": ["EU"]}),
        ("contracts with amount over 10,000", {"metadata.amount": {"gt": 10000}}),
        ("金额不低于5万的合同有哪些", {"metadata.sum": {"gte": 50000}}),
        ("contracts whose valid until before 2027", {"metadata.until": {"lt": "2027-01-01"}}),
        ("in documents updated since March 2023, what is the cap?", {"modified_after": "2023-03-01"}),
        ("2023年以后发布的制度里年假是几天", {"modified_after": "2023-01-01"}),
        ("去年更新的文件里的报销标准", {"modified_after": "2025-01-01", "modified_before": "2026-01-01"}),
    ],
)  # fmt: skip
def test_what_a_question_says_of_documents_is_a_condition(text, expected):
    assert stated(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "What was revenue in 2024?",
        "What changed in the travel policy since March?",
        "人事部的电话是多少？",
        "Who works in Legal?",
        "Where do I store HR documents?",
        "Which contracts need a review?",
        "except in HR documents, what is leave?",
        "in it documents are kept",
        "合同中国区谁签字",
        "2024年的收入是多少",
        "Which book was published in 2013?",
        "in Finance policies",  # no such value is known
    ],
)
def test_what_may_mean_something_else_narrows_nothing(text):
    assert stated(text) == {}


def test_the_words_of_a_condition_are_not_looked_for_unless_they_are_all_there_is():
    text = "per diem in HR policies"
    assert without_words(text, find(text)) == "per diem"
    only = "in HR documents"
    assert without_words(only, find(only)) == only


def test_what_the_reader_has_set_stays():
    own = parse_filters({"department": ["Legal"]})
    both = narrowed(own, find("leave in HR policies"))
    assert (both.department, both.doc_type) == (("Legal",), ("policy",))
    assert narrowed(Filters(), ()) == Filters()


def test_proposed_conditions_are_checked_whoever_proposes_them():
    def proposed(**said):
        name = next(iter(said))
        return Condition(name=name, words="x", start=0, end=1, stated=said)

    wrong = [
        proposed(department=["Secret"]),
        proposed(owner=["me"]),
        proposed(modified_after="soon"),
        proposed(tags=[7]),
    ]
    right = proposed(doc_type=["policy"])
    assert checked([*wrong, right, proposed(doc_type=["contract"])], VOCABULARY) == (right,)
