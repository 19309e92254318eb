"""What is kept of a long passage."""

from retrieval.compression import compress

ENGLISH = (
    "The cafeteria opens at eight. Breakfast is free for all. The nightly hotel cap in Lisbon is 145 euros. "
    "It rises to 160 euros in June. Parking is behind the building. Badges are blue."
)
CHINESE = (
    "食堂八点开门。早餐免费。里斯本的酒店每晚上限为145欧元。六月提高到160欧元。停车场在楼后。工牌是蓝色的。"
)


def test_a_short_text_stays_as_it_is():
    assert compress("Short.", {"short": 1.0}, limit=100) == "Short."


def test_the_sentence_of_the_question_stays_with_its_neighbour_and_the_rest_is_marked_as_left_out():
    kept = compress(ENGLISH, {"hotel": 2.0, "cap": 2.0, "lisbon": 3.0}, limit=90)
    assert kept == "… The nightly hotel cap in Lisbon is 145 euros. It rises to 160 euros in June. …"


def test_chinese_is_cut_at_its_own_full_stops():
    kept = compress(CHINESE, {"酒店": 2.0, "里斯本": 3.0}, limit=40)
    assert "145欧元。" in kept
    assert "工牌" not in kept


def test_without_a_word_in_common_the_beginning_stays():
    assert compress(ENGLISH, {}, limit=60).startswith("The cafeteria opens at eight. Breakfast")


def test_one_endless_sentence_is_kept_whole():
    text = "word " * 200
    assert compress(text, {"word": 1.0}, limit=50) == text.strip()
