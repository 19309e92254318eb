"""One spelling for questions that are the same but for how they are written. Pure; nothing is known of meaning.

Width, case, traditional or simplified characters, punctuation, spaces and polite words do not tell questions apart.
"""

import re
import unicodedata
from functools import cache

import opencc

_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00ad\u200b-\u200f\u2060\ufeff\ud800-\udfff]")
_CJK = "\u3400-\u9fff"
# Signs are part of a word where they stand in or at one: v2.3.1, C++, C#, 20%, XK-200A.
_SIGN = re.compile(r"(?<=[a-z0-9])[.\-/:_'&](?=[a-z0-9])|(?<=[a-z0-9+#])[+#%]|(?<![\w])[-−](?=\d)")
_SPACE = re.compile(rf"\s+(?=[{_CJK}])|(?<=[{_CJK}])\s+")
_OPENERS = re.compile(
    r"^(?:"
    r"(?:您好|你好|大家好|哈喽)(?:啊|呀)?"
    r"|(?:我|咱)?(?:想)?(?:请问|请教)(?:一下|下)?(?:大家|各位)?"
    r"|(?:麻烦|打扰)(?:您|你)?(?:问)?(?:一下|下)?"
    r"|(?:我)?想(?:问|知道|了解|咨询)(?:一下|下)?"
    r"|(?:咨询|求问)(?:一下|下)?"
    r"|(?:请)?(?:您|你)?(?:帮我)?(?:告诉|说明)(?:我|一下)"
    r"|(?:hi|hello|hey|dear all|excuse me|sorry)\b"
    r"|please(?: tell me| let me know)?\b"
    r"|(?:could|can|would|will) (?:you|anyone|someone|somebody) (?:please )?(?:tell|let) me(?: know)?\b"
    r"|i(?: would|'d)? (?:like|want|wish) to know\b"
    r"|(?:do you know|may i ask|can i ask|quick question)\b"
    r")\s*"
)
_CLOSERS = re.compile(
    r"\s*(?:(?:谢谢|多谢|感谢)(?:您|你|大家|了|啦)*|[呢啊呀哦哈]|\bplease|\b(?:many )?thanks(?: a lot)?|\bthank you)$"
)


@cache
def _converter() -> opencc.OpenCC:
    return opencc.OpenCC("t2s")


def plain(text: str) -> str:
    """One width, small letters, simplified characters, spaces collapsed; every sign kept."""
    text = unicodedata.normalize("NFKC", _UNSAFE.sub("", text)).casefold()
    text = text.replace("\u2019", "'")
    return " ".join((text if text.isascii() else str(_converter().convert(text))).split())


def fold(text: str) -> str:
    """What equal questions have in common; "" for a text without letters and digits."""
    kept = _without_signs(plain(text))
    while (shorter := _CLOSERS.sub("", _OPENERS.sub("", kept))) not in (kept, ""):
        kept = shorter
    return kept


def _without_signs(text: str) -> str:
    signs = {match.start() for match in _SIGN.finditer(text)}
    marked = "".join(
        character if character.isalnum() or place in signs or _is_mark(character) else " "
        for place, character in enumerate(text)
    )
    return _SPACE.sub("", " ".join(marked.split()))


def _is_mark(character: str) -> bool:
    """A vowel sign or an accent that could not be joined with its letter."""
    return unicodedata.category(character) in {"Mn", "Mc"}
