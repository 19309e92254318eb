"""White space, line joins and language of running text, for Chinese and Latin scripts alike."""

import re
from collections.abc import Iterable

# Scripts written without spaces between words, with their punctuation and full-width forms.
CJK = "\u2e80-\u303f\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003134f"
_IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_LETTER = re.compile(r"[^\W\d_]")
_BREAK_BETWEEN_CJK = re.compile(f"(?<=[{CJK}])[ \\t]*\\n[ \\t]*(?=[{CJK}])")
_SPACES = re.compile(r"[ \t\n\r\f\v\u00a0\u2002-\u200a\u202f]+")
_ENDS_CJK = re.compile(f"[{CJK}]$")
_STARTS_CJK = re.compile(f"^[{CJK}]")
# A word broken at a line end by a hyphen: letters on both sides, the rest in lower case.
_BROKEN_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]{2,}[-\u00ad\u2010]$")
_HYPHENS, _WORD = "-\u00ad\u2010", 40
_LOWER = re.compile(r"^[a-z\u00df-\u00ff]{2,}")
_SAMPLE = 200_000


def collapse(text: str) -> str:
    """One space for any run of white space; a line break between two CJK characters leaves nothing."""
    return _SPACES.sub(" ", _BREAK_BETWEEN_CJK.sub("", text)).strip()


def collapse_lines(text: str) -> str:
    """Like `collapse`, but keeps line breaks; blank lines go."""
    return "\n".join(line for line in (_SPACES.sub(" ", part).strip() for part in text.split("\n")) if line)


def join_lines(lines: Iterable[str]) -> str:
    """Undo line wrapping: broken words mended, Latin lines joined by a space, CJK lines by nothing."""
    text = ""
    for raw in lines:
        line = raw.strip()
        if not line:
            continue
        if not text:
            text = line
        elif text[-1] in _HYPHENS and _BROKEN_WORD.search(text[-_WORD:]) and _LOWER.match(line):
            text = text[:-1] + line
        elif _STARTS_CJK.match(line) and _ENDS_CJK.match(text[-1]):
            text += line
        else:
            text += " " + line
    return text


def cjk_share(text: str) -> float:
    """Share of ideographs among letters, 0 to 1, judged on the first 200,000 characters."""
    sample = text[:_SAMPLE]
    letters = len(_LETTER.findall(sample))
    return len(_IDEOGRAPH.findall(sample)) / letters if letters else 0.0


def language_of(text: str) -> str:
    """`zh`, `en` or `mixed`; "" without letters. An ideograph says about as much as three Latin letters."""
    share = cjk_share(text)
    if not _LETTER.search(text[:_SAMPLE]):
        return ""
    if share > 0.3:
        return "zh"
    return "mixed" if share > 0.05 else "en"
