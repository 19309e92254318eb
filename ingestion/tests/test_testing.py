import numpy as np
import pytest

from ingestion.embedding.registry import get_embedder
from ingestion.testing import use_hashing_embedder


def test_shared_terms_bring_texts_near_in_both_languages():
    with use_hashing_embedder() as embedder:
        assert get_embedder() is embedder
        vectors = embedder.embed_documents(
            ["Check the pump weekly", "carry over leave", "每周检查水泵", "年假结转"]
        )
    english, chinese = embedder.embed_query("pump check"), embedder.embed_query("检查水泵")
    assert np.argmax(vectors @ english) == 0
    assert np.argmax(vectors @ chinese) == 2


@pytest.mark.parametrize("text", ["", "\ud800\x00", "!!!", "𠀀🙂"])
def test_any_text_gives_a_unit_vector(text):
    with use_hashing_embedder() as embedder:
        assert np.linalg.norm(embedder.embed_query(text)) == pytest.approx(1)
