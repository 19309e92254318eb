"""Questions about the documents themselves are told from questions about their content."""

from datetime import date

import pytest

from retrieval.query.catalogue import ask_catalogue
from retrieval.query.conditions import find_conditions
from retrieval.query.vocabulary import Term, Vocabulary

VOCABULARY = Vocabulary(
    terms=tuple(
        Term(name=name, word=word, value=word)
        for name, word in (
            ("doc_type", "policy"), ("doc_type", "contract"), ("doc_type", "制度"), ("department", "HR"),
            ("department", "人事部"), ("language", "en"), ("tags", "travel"),
        )
    )
)  # fmt: skip


def asked(text):
    found = ask_catalogue(text, find_conditions(text, VOCABULARY, today=date(2026, 11, 30)), VOCABULARY)
    return (found.ask.wants, found.ask.topic, found.kind.word if found.kind else "") if found else None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How many files about per diem are there?", ("count", "per diem", "")),
        ("知识库里有多少关于怀化的文件？", ("count", "怀化", "")),
        ("how many documents are in the knowledge base?", ("count", "", "")),
        ("which documents were updated this week?", ("list", "", "")),
        ("一共有多少份文档？", ("count", "", "")),
        ("本周更新了哪些文件", ("list", "", "")),
        ("List all contracts with ACME", ("list", "ACME", "contract")),
        ("列出人事部的制度", ("list", "", "")),
        ("人事部的制度有哪些？", ("list", "", "")),
        ("list documents updated since March 2026 about travel", ("list", "travel", "")),
        ("哪些文档提到了 TiFlash？", ("list", "TiFlash", "")),
        ("how many documents are tagged travel?", ("count", "", "")),
        ("how many English documents are there?", ("count", "", "")),
        ("what is the newest version of the travel policy?", ("newest", "travel policy", "")),
        ("差旅费管理办法的最新版本是哪个？", ("newest", "差旅费管理办法", "")),
        ("when was the travel policy last updated?", ("newest", "travel policy", "")),
    ],
)
def test_a_catalogue_question_is_read(text, expected):
    assert asked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "How many documents do I need for a visa application?",
        "How many files can I upload at once?",
        "What documents are required for leave?",
        "how many contracts did ACME sign",
        "Which policies apply to contractors?",
        "列出所有PDF文件",
        "list all Word documents",
        "我有多少份文件要交",
        "需要提交多少份文件？",
        "合同有哪些条款",
        "报销需要哪些材料",
        "有哪些假期制度需要审批",
        "List the steps to file a complaint",
    ],
)
def test_a_question_about_content_is_none(text):
    assert asked(text) is None
