import numpy as np
import pytest

from ingestion.embedding.centring import LanguageCentring, cjk_share


def units(*rows: list[float]) -> np.ndarray:
    array = np.array(rows, dtype=np.float32)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


@pytest.fixture
def centring() -> LanguageCentring:
    means = np.array([[0.5, 0, 0], [0, 0.5, 0]], dtype=np.float32)
    return LanguageCentring(query=means, document=means * np.float32(0.8), factor=1.0)


@pytest.mark.parametrize(
    ("text", "share"),
    [("", 0), ("🙂 123 !", 0), ("two words", 0), ("检修", 1), ("检修 the valve", 0.5), ("naïve 修", 0.5)],
)
def test_cjk_share_counts_characters_against_latin_words(text, share):
    assert cjk_share(text) == share


def test_english_text_loses_the_english_mean(centring):
    centred = centring.centre(units([1, 1, 1]), ["plain words"], "query")
    expected = units([1, 1, 1])[0] - [0.5, 0, 0]
    assert centred[0] == pytest.approx(expected / np.linalg.norm(expected))


def test_chinese_text_loses_the_chinese_mean_from_a_share_of_three_tenths(centring):
    pure, mixed = centring.centre(units([1, 1, 1], [1, 1, 1]), ["检修", "检 a b"], "query")
    assert pure == pytest.approx(mixed)
    assert pure[1] < pure[0]


def test_below_that_share_the_means_are_mixed(centring):
    one_in_ten = "检 " + "word " * 9
    centred = centring.centre(units([1, 1, 1]), [one_in_ten], "query")
    expected = units([1, 1, 1])[0] - [0.5 * 2 / 3, 0.5 / 3, 0]
    assert centred[0] == pytest.approx(expected / np.linalg.norm(expected))


def test_questions_and_documents_have_means_of_their_own(centring):
    raw = units([1, 1, 1])
    assert not np.allclose(centring.centre(raw, ["a"], "query"), centring.centre(raw, ["a"], "document"))


def test_restoring_undoes_centring():
    bundled = LanguageCentring.bundled()
    rng = np.random.default_rng(3)
    raw = bundled.document[[0, 1, 1]] + 0.05 * rng.standard_normal((3, 384)).astype(np.float32)
    raw /= np.linalg.norm(raw, axis=1, keepdims=True)
    texts = ["some words", "一些文字", "AB 混合 text with several words"]
    centred = bundled.centre(raw, texts, "document")
    assert np.linalg.norm(centred, axis=1) == pytest.approx(1)
    assert bundled.restore(centred, texts, "document") == pytest.approx(raw, abs=1e-6)


def test_the_digest_names_the_means(centring):
    other = LanguageCentring(query=centring.query, document=centring.document * 2)
    assert centring.digest != other.digest


def test_means_of_unequal_shape_are_refused():
    with pytest.raises(ValueError, match="equal shape"):
        LanguageCentring(query=np.zeros((2, 3), np.float32), document=np.zeros((2, 4), np.float32))


def test_no_texts_give_no_vectors(centring):
    assert centring.centre(np.empty((0, 3), np.float32), [], "document").shape == (0, 3)
