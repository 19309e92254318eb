from ingestion.embedding.strings import CHARACTERS_PER_TOKEN, tokenizable


def test_ordinary_text_is_left_alone():
    assert tokenizable("值班 report 🙂 №5\n") == "值班 report 🙂 №5\n"


def test_lone_surrogates_and_nul_are_replaced():
    assert tokenizable("a\ud800b\x00c\udfff") == "a\ufffdb c\ufffd"


def test_text_is_cut_only_where_a_limit_is_given():
    text = "x" * 1000
    assert tokenizable(text, max_tokens=2) == "x" * (2 * CHARACTERS_PER_TOKEN)
    assert tokenizable(text) == text
