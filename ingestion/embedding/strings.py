"""Strings that no document should hold but some do, made safe for tokenizers written in C++ and Rust."""

import re

_SURROGATE = re.compile(r"[\ud800-\udfff]")
CHARACTERS_PER_TOKEN = 64  # far above the longest piece of any vocabulary in use


def tokenizable(text: str, max_tokens: int | None = None) -> str:
    """`text` without lone surrogates (U+FFFD instead) and NUL (a space instead).

    With max_tokens, cut to what could at most matter for so many tokens: a 10 MB line costs no more than a page.
    """
    if max_tokens is not None:
        text = text[: max_tokens * CHARACTERS_PER_TOKEN]
    return _SURROGATE.sub("\ufffd", text).replace("\x00", " ")
