import threading

import numpy as np
import pytest

from ingestion.embedding.errors import EmbedderUnavailable
from ingestion.embedding.onnx_e5 import BATCH, OnnxE5, _batches

DOCUMENTS = [
    "Annual leave > Carry-over\nUp to five unused days of annual leave may be carried into the next year.",
    "年假 > 结转\n未休完的年假最多可以结转五天到下一年度。",
    "Pump XK-200A > Inspection\nCheck the pressure of the pump once a week and note it in the log.",
    "水泵 XK-200A > 检查\n每周检查一次水泵压力并记录在日志中。",
]


def test_vectors_have_length_one_and_keep_the_order(e5: OnnxE5):
    texts = [" ".join(["valve"] * count) for count in (40, 1, 90, 3, 200, 7, 2, 60, 5, 11)]
    vectors = e5.embed_documents(texts)
    assert vectors.shape == (10, e5.dimension)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    for text, vector in zip(texts, vectors, strict=True):
        assert e5.embed_documents([text])[0] @ vector > 0.95


def test_batches_hold_texts_of_like_length_and_waste_little_on_padding():
    lengths = [300, 12, 305, 480, 14, 90, 310, 12, 95, 13]
    batches = _batches(lengths)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    assert {frozenset(lengths[index] for index in batch) for batch in batches} == {
        frozenset(group) for group in ((12, 13, 14), (90, 95), (300, 305, 310), (480,))
    }
    assert max(map(len, _batches([7] * 20))) == BATCH
    assert _batches([]) == []


@pytest.mark.parametrize(
    ("question", "same_language", "other_language"),
    [
        ("How many vacation days can I take over into January?", 0, 1),
        ("没休完的假期明年还能用吗？", 1, 0),
        ("How often must the pump be checked?", 2, 3),
        ("水泵多久检查一次？", 3, 2),
    ],
)
def test_a_question_finds_its_passage_in_both_languages(e5, question, same_language, other_language):
    order = np.argsort(-(e5.embed_documents(DOCUMENTS) @ e5.embed_query(question)))
    assert set(order[:2].tolist()) == {same_language, other_language}


def test_vectors_are_centred_and_raw_cosines_bring_back_the_model_scale(e5):
    question = "How often must the pump be checked?"
    asked, vectors = e5.embed_query(question), e5.embed_documents(DOCUMENTS)
    raw = e5.raw_cosines(question, asked, DOCUMENTS, vectors)
    assert raw.shape == (4,)
    assert raw[2] > 0.85  # the compressed scale of e5: anything is above .7
    assert raw.min() > 0.65
    assert (vectors @ asked)[0] < 0.4


def test_counting_includes_prefix_and_special_tokens(e5):
    overhead = e5.count_tokens("")
    assert 3 <= overhead <= 6
    assert e5.count_tokens("你好世界") > overhead
    texts = ["", "one", "one two three", "你好世界" * 10]
    assert e5.count_tokens_batch(texts) == [e5.count_tokens(text) for text in texts]


def test_only_what_is_within_the_limit_is_read(e5):
    within = "valve " * 400
    longer = within + "pump " * 400
    assert e5.count_tokens(longer) > e5.max_tokens
    same_start = longer + "something else " * 300
    vectors = e5.embed_documents([longer, same_start])
    assert vectors[0] @ vectors[1] > 0.999


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t ",
        "\x00",
        "a\x00b",
        "\ud800",
        "x\udfff" * 3,
        "🙂" * 50,
        "ﷺ" * 2000,
        "x" * 5000,
        "中" * 200_000,
        "<s></s><pad>",
    ],
    ids=[
        "empty",
        "blank",
        "nul",
        "nul inside",
        "surrogate",
        "surrogates",
        "emoji",
        "expanding",
        "long word",
        "huge",
        "specials",
    ],
)
def test_odd_text_gives_a_vector(e5, text):
    for vector in (e5.embed_query(text), e5.embed_documents([text])[0]):
        assert np.isfinite(vector).all()
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert e5.count_tokens(text) >= e5.count_tokens("")


def test_no_texts_give_an_empty_array(e5):
    assert e5.embed_documents([]).shape == (0, e5.dimension)
    assert e5.count_tokens_batch([]) == []


def test_threads_share_it(e5):
    expected = e5.embed_query("How often must the pump be checked?")
    found: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: found.append(e5.embed_query("How often must the pump be checked?")))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(np.allclose(vector, expected, atol=1e-5) for vector in found)


def test_the_fingerprint_names_what_makes_the_vectors(e5):
    for part in (
        "multilingual-e5-small",
        "weights=1571fc98",
        "dim=384",
        "query: ",
        "passage: ",
        "centring=0.9*",
    ):
        assert part in e5.fingerprint


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(EmbedderUnavailable, match=str(tmp_path)):
        OnnxE5(tmp_path, threads=1)


def test_pieces_get_vectors_of_their_own_from_one_reading(e5):
    documents = [
        [
            "Hotels\n",
            "The nightly cap in Lisbon is 145 euros. ",
            "Staff of grade P8 may travel first class by train.",
        ],
        ["年假 > 结转\n", "未休完的年假最多可以结转五天。", "水泵每周检查一次压力。"],
        ["one piece"],
    ]
    whole, pieces = e5.embed_by_pieces(documents)
    assert np.array_equal(whole, e5.embed_documents(["".join(document) for document in documents]))
    assert [len(own) for own in pieces] == [3, 3, 1]
    for own in pieces:
        assert np.linalg.norm(own, axis=1) == pytest.approx(1, abs=1e-5)
    assert np.argmax(pieces[0] @ e5.embed_query("坐火车可以坐一等座吗？")) == 2
    assert np.argmax(pieces[1] @ e5.embed_query("How often is the pump checked?")) == 2


def test_a_piece_that_is_not_read_has_no_direction(e5):
    _whole, (pieces,) = e5.embed_by_pieces([["valve " * 600, "", "a pump far behind the limit"]])
    assert np.linalg.norm(pieces, axis=1) == pytest.approx([1, 0, 0], abs=1e-5)
