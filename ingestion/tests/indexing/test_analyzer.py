"""What the analyzer promises: the same tokens for a question and the text that answers it."""

import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.indexing.analyzer import (
    TERM_DIMENSION,
    analyze,
    distinct_query_terms,
    locate,
    lone_character,
    term_id,
)
from ingestion.indexing.numerals import read_numeral


def matches(question: str, text: str) -> set[str]:
    return set(distinct_query_terms(question)) & set(analyze(text))


def test_question_words_do_not_count():
    assert distinct_query_terms("请问什么是 maxkb") == ["maxkb"]
    assert distinct_query_terms("What is the travel policy?") == ["travel", "polici"]


@pytest.mark.parametrize("question", ["是什么", "what is it", "to be or not to be"])
def test_function_words_stay_when_there_is_nothing_else(question):
    assert distinct_query_terms(question)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("XK-200A型号", {"xk-200a", "xk", "200a", "xk200a", "型号"}),
        ("a1.b2", {"a1.b2", "a1", "b2"}),
        ("exec_threads", {"exec_threads", "exec", "thread"}),
        ("input/output", {"input/output", "input", "output"}),
        ("GB/T 5972", {"gb/t", "5972", "gb/t5972"}),
        ("v2.3.1", {"v2.3.1", "2.3.1", "v2"}),
        ("hr@corp.com", {"hr@corp.com", "corp.com", "hr", "corp"}),
        ("3.14", {"3.14", "14"}),
        ("88-1204", {"88-1204", "88", "1204"}),
        ("2024-05-01", {"2024-05-01", "2024"}),
        ("node.js与C++", {"node.js", "node", "c++"}),
    ],
)
def test_codes_come_whole_and_in_parts(text, expected):
    assert expected <= set(analyze(text))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("xk200a", "XK-200A"),
        ("GB/T5972-2016", "GB/T 5972 钢丝绳"),
        ("gbt 5972", "GB/T 5972-2016"),
        ("ＸＫ－２００Ａ", "XK-200A"),
        ("15天", "十五天年假"),
        ("第3条", "第三条"),
        ("20%", "百分之二十"),
        ("37℃", "37 °C"),
        ("50000元", "5万元"),
        ("2024年5月1日", "2024-05-01"),
        ("5 kg", "5kg"),
        ("員工請假", "员工请假规定"),
        ("员工请假", "員工請假規定"),
        ("email", "e-mail"),
        ("leaves", "annual leave"),
        ("resume", "résumé"),
        ("健康", "这是一份亚健康状态说明"),
        ("information", "infor\u00admation"),
        ("IT 部门", "the IT department"),
        ("A股", "a股开户"),
    ],
)
def test_spellings_of_one_thing_meet(question, text):
    assert any(len(token) > 1 for token in matches(question, text))


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("某市三级医院床位数", "三级医院床位数", "全市二三级医院床位数"),
        ("年假五天", "年假5天", "年假十五天"),
        ("超长产品名称手册问题一", "超长产品名称手册问题1", "超长产品名称手册问题二"),
        ("方案A", "方案A", "方案B"),
        ("Appendix A", "see Appendix A", "see Appendix B"),
    ],
)
def test_numbers_and_letters_tell_texts_apart(question, right, wrong):
    assert len(matches(question, right)) > len(matches(question, wrong))


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("Hastings", "haste"),
        ("Manning", "man"),
        ("Harding", "hard"),
        ("Boeing", "bore"),
        ("Siemens", "semen"),
    ],
)
def test_stemming_makes_no_ordinary_word_of_a_name(name, word):
    assert matches(name.lower(), f"the {name} site")
    assert matches(name, f"{name.upper()} 2024")
    assert not matches(name, f"{word} {word}s")


def test_it_in_capitals_is_a_name():
    assert "it" in analyze("Ask the IT department")
    assert "it" not in analyze("Ask it again")


@pytest.mark.parametrize("text", ["", " \n", "😀🎉", "！？……", "\x00", "\ud800", "-" * 50])
def test_text_without_words_has_no_tokens(text):
    assert analyze(text) == []
    assert locate(text, {"x"}) == []


def test_one_character_question_is_told():
    assert lone_character("税？") == "税"
    assert lone_character("税务") is None
    assert lone_character("a") is None
    assert matches("税", "个税")


@pytest.mark.parametrize(
    ("numeral", "digits"),
    [
        ("十五", "15"),
        ("二〇二四", "2024"),
        ("三万五千", "35000"),
        ("一百零二", "102"),
        ("二三", "23"),
        ("两亿", "200000000"),
    ],
)
def test_numerals_are_read(numeral, digits):
    assert read_numeral(numeral) == digits


def test_width_case_and_script_make_no_difference():
    assert analyze("ＡＢＣ　員工ﬁ") == analyze("abc 员工fi")


def marked(text: str, question: str) -> list[str]:
    return [text[found.start : found.end] for found in locate(text, distinct_query_terms(question))]


@pytest.mark.parametrize(
    ("text", "question", "expected"),
    [
        ("You may leave early; leaves fall.", "leaves", ["leave", "leaves"]),
        ("《員工請假規定》第２條", "员工请假", ["員工", "請假"]),
        ("型号ＸＫ－２００Ａ。", "xk-200a", ["ＸＫ－２００Ａ"]),
        ("ﬁles and ﬁle", "file", ["ﬁles", "ﬁle"]),
        ("cafe\u0301 au lait", "café", ["cafe\u0301"]),
        ("infor\u00admation desk", "information", ["infor\u00admation"]),
        ("年假十五天", "15天", ["十五天"]),
        ("北京大学", "北京大学", ["北京大学"]),
        ("𠮷野家 menu", "menu", ["menu"]),
    ],
)
def test_places_are_found_in_the_original_text(text, question, expected):
    assert marked(text, question) == expected


@given(st.text(max_size=200), st.text(max_size=30))
def test_any_text_gives_storable_tokens_and_places_in_order(text, question):
    for token in analyze(text):
        assert token
        assert "\x00" not in token
        assert len(token.encode()) < 2_046
        assert 1 <= term_id(token) <= TERM_DIMENSION
    end = 0
    for found in locate(text, set(analyze(text)) | set(distinct_query_terms(question))):
        assert end <= found.start < found.end <= len(text)
        end = found.end


@given(st.text(alphabet="员工請假三五十万年天abXK-_./ 12％Ａ\u3000", max_size=60))
def test_every_token_of_a_text_can_be_located_in_it(text):
    if tokens := set(analyze(text)):
        assert locate(text, tokens)


def test_a_long_word_is_capped_alike_on_both_sides():
    assert matches("x" * 5_000, "the " + "x" * 5_000)
    assert max(len(token.encode()) for token in analyze("龘" * 5_000 + "é" * 5_000)) < 2_046


def test_only_the_dotted_capital_i_grows_in_lower_case():
    growing = {chr(code) for code in range(sys.maxunicode + 1) if len(chr(code).lower()) != 1}
    assert growing == {"İ"}


@pytest.mark.parametrize(
    "text",
    [
        "a." * 100_000,
        "-" * 200_000,
        ("a" + "-" * 99) * 2_000,
        "一" * 70_000,
        "1 百" * 40_000,
        "e" + "\u0301" * 100_000,
        "a1" * 100_000,
    ],
)
def test_adversarial_text_takes_linear_time(text):
    started = time.process_time()
    analyze(text)
    assert time.process_time() - started < 2


def test_term_ids_are_stable():
    assert term_id("年假") == term_id("年假")
    assert term_id("年假") != term_id("病假")
