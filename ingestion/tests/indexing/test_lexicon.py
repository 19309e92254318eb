"""Finding an organisation's own words in a text."""

import pytest

from ingestion.indexing.analyzer import analyze, fold_phrase, locate, term_places
from ingestion.indexing.lexicon import Phrases


def own(*texts):
    return [Phrases(map(fold_phrase, texts))]


@pytest.mark.parametrize(
    ("term", "text"),
    [
        ("经营性租赁", "經營性租賃的設備"),
        ("MES 报警码", "MES报警码一览"),
        ("MES报警码", "看 ＭＥＳ 报警码"),
        ("operating lease", "Operating\nleases end"),
        ("RMA", "send the rma-12 form"),
        ("差旅包干", "按差旅包干报销"),
        ("C++ 规范", "见c++规范"),
    ],
)
def test_spellings_of_a_term_are_found(term, text):
    assert [place[0] for place in term_places(text, own(term))] == [fold_phrase(term)]


@pytest.mark.parametrize(
    ("term", "text"),
    [("三级医院", "全市二三级医院"), ("RMA", "karma"), ("lease", "leases"), ("级医院", "三级医学院")],
)
def test_a_term_never_begins_or_ends_inside_a_word_or_number(term, text):
    assert term_places(text, own(term)) == []


def test_the_longest_term_is_taken_and_keeps_its_parts():
    tokens = analyze("经营性租赁合同", own("经营性租赁", "租赁合同", "经营性租赁合同"))
    assert {"经营性租赁合同", "租赁", "合同"} <= set(tokens)
    assert "租赁合同" not in tokens


def test_no_other_word_crosses_the_end_of_a_term():
    assert "研究生" in analyze("研究生命题")
    assert "研究生" not in analyze("研究生命题", own("生命题"))


def test_terms_of_two_dictionaries_meet_in_one_text():
    assert [place[0] for place in term_places("差旅包干标准", own("差旅") + own("差旅包干"))] == ["差旅包干"]


def test_a_terms_place_is_found_in_the_original_text():
    text = "按《經營性租賃》与 Hastings"
    found = locate(text, ["经营性租赁", "hastings"])
    assert [text[place.start : place.end] for place in found] == ["經營性租賃", "Hastings"]
