import numpy as np
import pytest

from ingestion.chunking.sentences import split_sentences
from ingestion.embedding.cache import cached_sentences, cached_vectors, embed_texts, text_hash
from ingestion.testing import HashingEmbedder

pytestmark = pytest.mark.django_db
TEXT = "The nightly cap is 145 euros. Breakfast is paid by everyone."
KEY = text_hash(TEXT)


class PoolingEmbedder(HashingEmbedder):
    """The vector of a piece is that of its text alone."""

    def embed_by_pieces(self, documents):
        whole = self.embed_documents(["".join(pieces) for pieces in documents])
        return whole, [self.embed_documents(pieces) for pieces in documents]


def test_sentences_are_kept_beside_their_text():
    embedder = PoolingEmbedder()
    embed_texts(embedder, {KEY: TEXT})
    kept = cached_sentences(embedder, [KEY, text_hash("another")])
    assert list(kept) == [KEY]
    assert np.sum(kept[KEY] * embedder.embed_documents(split_sentences(TEXT)), axis=1) == pytest.approx(
        1, abs=1e-3
    )
    assert cached_vectors(embedder, [KEY])[KEY] == pytest.approx(embedder.embed_query(TEXT), abs=1e-3)


def test_an_embedder_without_pieces_keeps_the_text_alone():
    embedder = HashingEmbedder()
    embed_texts(embedder, {KEY: TEXT})
    assert list(cached_vectors(embedder, [KEY])) == [KEY]
    assert cached_sentences(embedder, [KEY]) == {}


def test_a_text_kept_before_sentences_were_is_read_once_more():
    embed_texts(HashingEmbedder(), {KEY: TEXT})
    embedder = PoolingEmbedder()  # of the same fingerprint
    assert cached_vectors(embedder, [KEY]) == {}
    embed_texts(embedder, {KEY: TEXT})
    assert list(cached_vectors(embedder, [KEY])) == [KEY]
    assert list(cached_sentences(embedder, [KEY])) == [KEY]
