from retrieval.snippets import Segment, marked_segments, snippet


def texts(segments, *, marked):
    return [segment.text for segment in segments if segment.marked is marked]


def test_marks_inflected_english_words_and_keeps_every_character():
    text = "Hotels in group A: the hotel cap is USD 320."
    segments = marked_segments(text, ["hotel", "cap"])
    assert "".join(segment.text for segment in segments) == text
    assert texts(segments, marked=True) == ["Hotels", "hotel", "cap"]


def test_marks_chinese_words_whatever_their_script():
    segments = marked_segments("住宿費在標準內據實報銷。", ["标准"])
    assert texts(segments, marked=True) == ["標準"]


def test_without_terms_nothing_is_marked():
    assert marked_segments("plain", ()) == (Segment(text="plain"),)


def test_a_short_text_is_shown_whole():
    assert "".join(segment.text for segment in snippet("One two.", ["two"])) == "One two."


def test_a_long_text_is_cut_around_the_densest_place():
    text = "filler words here. " * 60 + "The hotel cap excludes breakfast. " + "more filler. " * 60
    segments = snippet(text, ["hotel", "cap", "breakfast"], width=120)
    shown = "".join(segment.text for segment in segments)
    assert texts(segments, marked=True) == ["hotel", "cap", "breakfast"]
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert len(shown) <= 130


def test_markup_stays_text():
    segments = marked_segments("<script>alert(1)</script>", ["alert"])
    assert "".join(segment.text for segment in segments) == "<script>alert(1)</script>"
