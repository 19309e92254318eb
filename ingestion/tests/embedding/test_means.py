import numpy as np
import pytest

from ingestion.embedding.centring import LanguageCentring
from ingestion.embedding.errors import EmbedderUnavailable
from ingestion.embedding.means import measure_means
from ingestion.parsing import outline, text
from ingestion.parsing.formats import Source
from ingestion.trial import TrialDocument
from kb_platform.errors import InvalidInput


class ByLanguage:
    """Vectors that tell language and side, and nothing else."""

    def embed_documents(self, texts):
        return np.array([[1, 0, "的" in one, 0] for one in texts], dtype=np.float32)

    def embed_query(self, text):
        return np.array([0, 1, "的" in text, 0], dtype=np.float32)

    def count_tokens(self, text):
        return len(text)

    def count_tokens_batch(self, texts):
        return [len(one) for one in texts]

    max_tokens = 512


def document(title, body):
    return TrialDocument(
        key=title, title=title, parsed=outline.finish(text.parse(Source(data=body.encode())))
    )


ENGLISH, CHINESE = document("Leave", "Ten days of leave."), document("我的假期", "员工的年假是十天。")


def test_means_are_measured_by_side_and_language(tmp_path):
    centring = measure_means(ByLanguage(), [[ENGLISH, CHINESE], [ENGLISH]])
    assert centring.document.tolist() == [[1, 0, 0, 0], [1, 0, 1, 0]]
    assert centring.query.tolist() == [[0, 1, 0, 0], [0, 1, 1, 0]]
    centring.write(tmp_path / "means.npz")
    assert LanguageCentring.read(tmp_path / "means.npz").digest == centring.digest


def test_one_language_alone_is_not_enough():
    with pytest.raises(InvalidInput, match="Chinese"):
        measure_means(ByLanguage(), [[ENGLISH]])


def test_a_file_that_holds_no_means_is_refused(tmp_path):
    (tmp_path / "means.npz").write_text("nothing")
    with pytest.raises(EmbedderUnavailable, match="means"):
        LanguageCentring.read(tmp_path / "means.npz")


def test_no_means_leave_vectors_alone():
    raw = np.array([[0.6, 0.8]], dtype=np.float32)
    assert LanguageCentring.none(2).centre(raw, ["text"], "document") == pytest.approx(raw)
