"""Whether a text is Chinese, English or both, by the share of Chinese characters among characters and words."""

import re

from ingestion.chunking.drafts import Language

_CHINESE = re.compile("[\u3400-\u9fff]")
_WORD = re.compile("[A-Za-z]+")
_CHINESE_FROM, _MIXED_FROM = 0.3, 0.05


def language_of(text: str) -> Language:
    characters = len(_CHINESE.findall(text))
    share = characters / max(1, characters + len(_WORD.findall(text)))
    if share >= _CHINESE_FROM:
        return "zh"
    return "mixed" if share >= _MIXED_FROM else "en"
