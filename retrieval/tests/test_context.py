"""What of the passages goes to a model."""

from retrieval.context import Budget, Window, fit_windows, merge_windows


def count(text):
    return len(text.split())


def window(key, words, score=1.0, **more):
    text = " ".join(f"Word {key}{number} stands here." for number in range(words // 4))
    return Window(key=key, text=text, score=score, **more)


def budget(room):
    return Budget(window=int(room / 0.8) + 300, prompt=100, history=100, answer=100)


def test_the_room_is_what_is_left_filled_to_four_fifths():
    assert Budget(window=8192, prompt=500, history=300, answer=1200).room == int(6192 * 0.8)
    assert Budget(window=1000, prompt=900, history=300, answer=100).room == 0


def test_a_section_comes_once_with_its_best_passages_score():
    merged = merge_windows(
        [
            Window(key="a", text="A", score=1.0, passages=(1,)),
            Window(key="b", text="B", score=2.0, passages=(2,)),
            Window(key="a", text="A", score=3.0, passages=(3,)),
        ]
    )
    assert [(one.key, one.score, one.passages) for one in merged] == [("a", 3.0, (1, 3)), ("b", 2.0, (2,))]


def test_what_fits_stays_as_it_is():
    windows = [window("a", 100), window("b", 100)]
    context = fit_windows(windows, budget(300), idf={}, count=count)
    assert context.windows == tuple(windows)
    assert (context.tokens, context.left_out) == (200, ())


def test_a_little_too_much_is_cut_from_the_least_relevant_and_its_densest_sentences_stay():
    last = Window(key="b", text=window("b", 100).text + " The cap is 145 euros.", score=0.5)
    context = fit_windows([window("a", 100), last], budget(180), idf={"cap": 3.0, "euro": 2.0}, count=count)
    first, second = context.windows
    assert first == window("a", 100)
    assert second.is_shortened
    assert "The cap is 145 euros." in second.text
    assert context.tokens <= context.room


def test_far_too_much_is_compressed_so_that_more_windows_have_a_place():
    windows = [window(str(number), 200) for number in range(10)]
    context = fit_windows(windows, budget(800), idf={}, count=count)
    assert len(context.windows) >= 8
    assert all(one.is_shortened for one in context.windows)
    assert context.tokens <= context.room


def test_without_room_nothing_goes():
    context = fit_windows([window("a", 100)], budget(0), idf={}, count=count)
    assert (context.windows, context.left_out) == ((), ("a",))
