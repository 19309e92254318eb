"""The tokenizer of multilingual-e5-small in the file format of the library `tokenizers`."""

import hashlib
import io
from pathlib import Path

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from ingestion.embedding.errors import EmbedderUnavailable
from ingestion.embedding.weights import Vocabulary

_RULES = "nmt_nfkc"
_RULES_SHA256 = "1e2c7b43d3ee9755ceaa2ac335e253d8703604e0249ee1e81156c92b46423844"


def write_tokenizer(vocabulary: Vocabulary, path: Path) -> None:
    """Write tokenizer.json: normalised text -> unigram pieces between <s> and </s>."""
    pieces = list(zip(vocabulary.pieces, vocabulary.scores, strict=True))
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=vocabulary.unknown, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(_normalisation_rules()),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", "always")
    begin, end = vocabulary.pieces[vocabulary.bos], vocabulary.pieces[vocabulary.eos]
    special = (begin, vocabulary.pieces[vocabulary.pad], end, vocabulary.pieces[vocabulary.unknown], "<mask>")
    tokenizer.add_special_tokens([AddedToken(piece, special=True) for piece in special])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}", special_tokens=[(begin, vocabulary.bos), (end, vocabulary.eos)]
    )
    tokenizer.save(str(path), pretty=False)


def _normalisation_rules() -> bytes:
    """The compiled rules that sentencepiece puts into every model with this normaliser.

    Raises EmbedderUnavailable if the installed sentencepiece has other rules: the tokens would differ.
    """
    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["hello world this is text", "some other line of text", "abc def ghi"] * 50),
        model_writer=buffer,
        vocab_size=30,
        hard_vocab_limit=False,
        normalization_rule_name=_RULES,
        minloglevel=2,
    )
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(buffer.getvalue())
    rules = bytes(model.normalizer_spec.precompiled_charsmap)
    if hashlib.sha256(rules).hexdigest() != _RULES_SHA256:
        raise EmbedderUnavailable(
            f"sentencepiece {sentencepiece.__version__} normalises differently; "
            "install the version that requirements.txt names"
        )
    return rules
