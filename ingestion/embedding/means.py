"""Measuring the means of the languages anew, over corpora of one's own, for `centring`.

Each source counts alike, however long it is: a mean over one kind of text leaves that kind in the vectors of all others.
"""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from ingestion.chunking.structure import chunk_document
from ingestion.embedding.centring import LanguageCentring, cjk_share
from ingestion.embedding.protocol import Embedder, Vectors
from ingestion.trial import TrialDocument
from kb_platform.errors import InvalidInput

PASSAGES = 300  # of each source; a mean is stable long before
CHINESE_FROM, ENGLISH_BELOW = 0.3, 0.02  # shares of CJK characters of what counts as purely one language


def measure_means(uncentred: Embedder, sources: Sequence[Iterable[TrialDocument]]) -> LanguageCentring:
    """Means of passages and of questions (their innermost headings, or titles) in both languages.

    uncentred: gives the model's own vectors. Raises InvalidInput when the sources lack one of the languages.
    """
    means: dict[tuple[str, bool], list[Vectors]] = {}
    for source in sources:
        passages, questions = _texts(uncentred, source)
        for side, texts in (("document", passages), ("query", questions)):
            for is_chinese in (False, True):
                if own := [text for text in texts if _is_pure(text, is_chinese=is_chinese)]:
                    means.setdefault((side, is_chinese), []).append(_mean(uncentred, side, own))
    if len(means) < 4:
        raise InvalidInput("the corpora need passages with headings in English and in Chinese")
    rows = {key: np.mean(found, axis=0) for key, found in means.items()}
    return LanguageCentring(
        query=np.array([rows["query", False], rows["query", True]], dtype=np.float32),
        document=np.array([rows["document", False], rows["document", True]], dtype=np.float32),
    )


def _texts(counter: Embedder, source: Iterable[TrialDocument]) -> tuple[list[str], list[str]]:
    chunks = (
        (draft.embedding_text, (draft.heading_path or (document.title,))[-1])
        for document in source
        for draft in chunk_document(document.parsed, title=document.title, counter=counter).chunks
    )
    drawn = list(itertools.islice(chunks, PASSAGES))
    return [text for text, _ in drawn], list(dict.fromkeys(heading for _, heading in drawn if heading))


def _is_pure(text: str, *, is_chinese: bool) -> bool:
    share = cjk_share(text)
    return share >= CHINESE_FROM if is_chinese else share < ENGLISH_BELOW


def _mean(embedder: Embedder, side: str, texts: Sequence[str]) -> Vectors:
    if side == "document":
        vectors = embedder.embed_documents(texts)
    else:
        vectors = np.array([embedder.embed_query(text) for text in texts])
    return np.asarray(vectors.mean(axis=0), dtype=np.float32)
