import pytest

from ingestion.faq.folding import fold

SAME = [
    ("How do I reset my VPN password?", "how do i reset my vpn password"),
    ("Ｈow do I reset the VPN？", "How do I reset the VPN?"),
    ("发票丢了怎么办？", "請問發票丟了怎麼辦"),
    ("食堂几点开门", "请问食堂几点开门呢？谢谢！"),
    ("When is payday?", "Hi, please tell me: when is payday? Thanks!"),
    ("重置 VPN 密码", "重置VPN密码"),
    ("年假有几天", "您好，我想问一下，年假有几天啊"),
]
DIFFERENT = [
    ("Is v2.3.1 supported?", "Is v23.1 supported?"),
    ("Does C++ compile?", "Does C compile?"),
    ("是否支持 1.5 倍", "是否支持 15 倍"),
    ("Is XK-200A sealed?", "Is XK 200A sealed?"),
    ("below -5 degrees", "below 5 degrees"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_spelling_and_manners_tell_no_questions_apart(first, second):
    assert fold(first) == fold(second) != ""


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_signs_of_numbers_and_codes_do(first, second):
    assert fold(first) != fold(second)


@pytest.mark.parametrize("text", ["", "？！", "🙂", "\x00\ud800"])
def test_a_text_without_letters_folds_to_nothing(text):
    assert fold(text) == ""


def test_a_question_of_polite_words_alone_stays():
    assert fold("谢谢")
