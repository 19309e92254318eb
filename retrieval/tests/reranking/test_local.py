import time
from pathlib import Path

import pytest

from kb_platform.net.errors import Late
from retrieval.reranking import local
from retrieval.reranking.local import LocalReranker, ModelUnusable

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "pump", "valve", "check", "weekly", "设", "备"]


def make_folder(at: Path, outputs: int = 1) -> Path:
    """A CrossEncoder folder with a tiny random BERT."""
    import torch
    from sentence_transformers import CrossEncoder
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    torch.manual_seed(5)
    bert, target = at / "bert", at / "model"
    bert.mkdir()
    (bert / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    BertTokenizer(str(bert / "vocab.txt"), model_max_length=32).save_pretrained(bert)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    settings = BertConfig(vocab_size=len(WORDS), max_position_embeddings=32, num_labels=outputs, **shape)
    BertForSequenceClassification(settings).half().save_pretrained(bert)
    CrossEncoder(str(bert), device="cpu", num_labels=outputs).save_pretrained(str(target))
    return target


@pytest.mark.integration
def test_a_folder_is_loaded_once_and_scores_between_0_and_1(tmp_path):
    model = LocalReranker(folder=make_folder(tmp_path), time_cap_s=30)
    scores = model.scores("pump check", ["weekly pump", "设备", "", "valve \ud800"])
    assert len(scores) == 4
    assert all(0 < score < 1 for score in scores)
    assert len(set(scores)) > 1
    begun = time.perf_counter()
    assert model.scores("pump check", ["weekly pump"]) == pytest.approx(scores[:1], abs=1e-3)
    assert time.perf_counter() - begun < 1


@pytest.mark.integration
def test_a_model_with_several_outputs_is_refused(tmp_path):
    with pytest.raises(ModelUnusable):
        LocalReranker(folder=make_folder(tmp_path, outputs=3), time_cap_s=30).scores("q", ["a"])


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(ModelUnusable):
        LocalReranker(folder=tmp_path, time_cap_s=2).scores("q", ["a"])


def test_a_slow_model_is_late_and_nobody_waits_longer(tmp_path, monkeypatch):
    monkeypatch.setattr(local, "_score", lambda *_: time.sleep(0.3) or [0.5])
    model = LocalReranker(folder=tmp_path, time_cap_s=0.05)
    begun = time.perf_counter()
    with pytest.raises(Late):
        model.scores("q", ["a"])
    assert time.perf_counter() - begun < 0.25
    time.sleep(0.3)
    assert LocalReranker(folder=tmp_path, time_cap_s=1).scores("q", ["a"]) == [0.5]
