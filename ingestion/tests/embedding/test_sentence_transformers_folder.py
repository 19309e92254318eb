import json
from pathlib import Path

import numpy as np
import pytest

from ingestion.embedding.errors import EmbedderUnavailable
from ingestion.embedding.registry import get_embedder

pytestmark = pytest.mark.integration  # loads torch

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "pump", "valve", "check", "weekly", "document", ":", "设", "备"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A sentence-transformers folder with a tiny random BERT."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizer

    torch.manual_seed(5)
    bert, target = tmp_path_factory.mktemp("bert"), tmp_path_factory.mktemp("operator") / "tiny"
    (bert / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    BertTokenizer(str(bert / "vocab.txt"), model_max_length=32).save_pretrained(bert)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    BertModel(BertConfig(vocab_size=len(WORDS), max_position_embeddings=32, **shape)).half().save_pretrained(
        bert
    )
    transformer = Transformer(str(bert), max_seq_length=32)
    model = SentenceTransformer(modules=[transformer, Pooling(32, pooling_mode="mean")], device="cpu")
    model.prompts = {"query": "", "document": "document: "}
    model.save(str(target))
    return target


@pytest.fixture
def embedder(folder, settings, no_embedder_yet):
    settings.EMBEDDER = str(folder)
    return get_embedder()


def test_it_embeds_documents_and_queries(embedder):
    vectors = embedder.embed_documents(["pump check", "设备", "", "valve \ud800 \x00"])
    assert vectors.shape == (4, 32)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert np.linalg.norm(embedder.embed_query("pump")) == pytest.approx(1, abs=1e-5)
    assert embedder.embed_documents([]).shape == (0, 32)


def test_it_counts_with_the_document_prompt_and_special_tokens(embedder):
    assert embedder.max_tokens == 32
    assert embedder.count_tokens("") == 4
    assert embedder.count_tokens_batch(["pump valve", "pump " * 100]) == [6, 104]


def test_raw_cosines_are_plain_ones(embedder):
    asked, vectors = embedder.embed_query("pump"), embedder.embed_documents(["pump", "valve"])
    assert embedder.raw_cosines("pump", asked, ["pump", "valve"], vectors) == pytest.approx(vectors @ asked)


def test_the_fingerprint_follows_the_files_but_not_the_notes(folder):
    from ingestion.embedding.sentence_transformers_folder import folder_digest

    before = folder_digest(folder)
    (folder / "README.md").write_text("other notes")
    assert folder_digest(folder) == before
    config = folder / "sentence_bert_config.json"
    kept = config.read_bytes()
    config.write_text(json.dumps({"max_seq_length": 16}))
    assert folder_digest(folder) != before
    config.write_bytes(kept)


def test_another_folder_is_refused(tmp_path, settings, no_embedder_yet):
    settings.EMBEDDER = str(tmp_path)
    with pytest.raises(EmbedderUnavailable, match=r"modules\.json"):
        get_embedder()
    (tmp_path / "modules.json").write_text("[]{")
    with pytest.raises(EmbedderUnavailable, match="cannot be loaded"):
        get_embedder()
