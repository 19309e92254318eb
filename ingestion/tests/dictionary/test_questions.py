"""A question under a dictionary: own terms, stop words, synonyms, and several dictionaries together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.dictionary.questions import (
    Dictionary,
    SearchDictionary,
    Synonym,
    Synonyms,
    question_terms,
    through,
)
from ingestion.indexing.analyzer import analyze, fold_phrase
from ingestion.indexing.lexicon import Phrases


def phrases(*texts):
    return (Phrases(map(fold_phrase, texts)),) if texts else ()


def synonym(*texts, one_way=False, weight=0.8):
    keys = tuple(map(fold_phrase, texts))
    return Synonym(phrases=texts, keys=keys, one_way=one_way, weight=weight)


def asked(text, *dictionaries):
    return question_terms(text, SearchDictionary(revision=1, dictionaries=dictionaries))


def dictionary(terms=(), synonyms=(), stop_words=()):
    return Dictionary(
        terms=phrases(*terms),
        synonyms=(Synonyms(synonyms),) if synonyms else (),
        stop_words=phrases(*stop_words),
    )


def test_without_a_dictionary_the_analyzer_decides():
    assert list(question_terms("请问什么是 maxkb", SearchDictionary()).weights) == ["maxkb"]


def test_stop_words_leave_tokens_out_unless_nothing_else_is_left():
    own = dictionary(stop_words=["制度", "超长产品名称手册"])
    assert asked("报销制度", own).own == ("报销",)
    assert asked("制度", own).own == ("制度",)
    assert "问题" in asked("超长产品名称手册问题一", own).own
    assert "手册" not in asked("超长产品名称手册问题一", own).own


def test_a_stop_word_inside_a_longer_word_leaves_that_alone():
    assert "公司债" in asked("公司债怎么买", dictionary(terms=["公司债"], stop_words=["公司"])).own


def test_a_stop_word_of_one_of_several_dictionaries_is_kept():
    assert "制度" in asked("报销制度", Dictionary(), dictionary(stop_words=["制度"])).own


def test_synonyms_count_less_and_both_ways():
    own = dictionary(synonyms=[synonym("差旅", "business trip", weight=0.6)])
    there, back = asked("差旅标准", own), asked("Rules for business trips", own)
    assert there.weights["差旅"] == 1.0
    assert there.weights["trip"] == 0.6
    assert back.weights["差旅"] == 0.6


def test_one_way_only_the_first_finds_the_others():
    own = dictionary(synonyms=[synonym("P1", "一级事故", one_way=True)])
    assert "事故" in asked("P1 怎么报", own).weights
    assert "p1" not in asked("一级事故怎么报", own).weights


def test_circles_of_synonyms_end_after_one_step():
    own = dictionary(synonyms=[synonym("甲方", "委托人"), synonym("委托人", "业主")])
    assert "业主" not in asked("甲方", own).weights
    assert {"甲方", "业主"} <= asked("委托人", own).weights.keys()


@pytest.mark.parametrize("text", ["中和平台", "preplanned", "XK-2000"])
def test_synonyms_begin_and_end_where_words_do(text):
    own = dictionary(synonyms=[synonym("和平", "安宁"), synonym("plan", "scheme"), synonym("XK-200", "老款")])
    assert not asked(text, own).expansions


def test_a_text_that_says_it_otherwise_fulfils_the_question_by_the_weight():
    question = asked("差旅标准", dictionary(synonyms=[synonym("差旅", "business trip", weight=0.6)]))
    assert question.fulfilled({"差旅", "标准"}) == {"差旅": 1.0, "标准": 1.0}
    assert question.fulfilled({"busi", "trip"}) == {"差旅": 0.6}
    assert question.fulfilled({"trip"}) == {}
    found = through(question.expansions, {"busi", "trip"})
    assert [(one.said, one.means) for one in found] == [("差旅", "business trip")]
    assert through(question.expansions, {"差旅"}) == []


def test_a_collections_own_synonyms_are_looked_for_in_its_documents_alone():
    own = Dictionary(synonyms=(Synonyms([synonym("差旅", "business trip")], collection=7),))
    question = asked("差旅标准", own)
    assert question.own_collections == {7}
    assert question.looked_for_in(7, ("差旅", "trip")) == ("差旅", "trip")
    assert question.looked_for_in(8, ("差旅", "trip")) == ("差旅",)


def test_own_names_are_found_unstemmed():
    own = dictionary(terms=["Hastings"])
    assert asked("where is Hastings", own).own == ("hastings",)
    assert "hastings" in analyze("Hastings, not haste", own.terms)
    assert "hastings" not in analyze("haste", own.terms)


def test_several_dictionaries_are_asked_together():
    own = dictionary(terms=["流程图谱系"])
    together = set(asked("流程图谱系", Dictionary(), own).own)
    assert together >= set(asked("流程图谱系", own).own) | set(analyze("流程图谱系"))


WORDS = st.text(alphabet="经营性租赁三十五天级MES报警 abs-1Ａ請", min_size=1, max_size=12)


@given(WORDS, st.lists(WORDS, max_size=4))
def test_every_own_token_of_a_question_is_one_of_the_same_text(text, terms):
    own = dictionary(terms=[term for term in terms if fold_phrase(term)])
    assert set(asked(text, own).own) <= set(analyze(text, own.terms))
