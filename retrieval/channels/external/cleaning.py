"""Texts from elsewhere, made safe to show and to weigh: plain, bounded, with links that lead to the web or nowhere."""

import html
import re
import unicodedata
from typing import Any
from urllib.parse import urlsplit

MOST_TEXT, MOST_TITLE, MOST_URL, MOST_ID = 2_000, 300, 2_000, 2_000
_READ = 20_000  # characters of a text that are looked at at all
_MARKUP = re.compile(
    r"<(?:script|style)\b.*?(?:</(?:script|style)\s*>|\Z)|<!--.*?(?:-->|\Z)|</?[a-zA-Z][^<>]{0,1000}>",
    re.S | re.I,
)
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_BLANKS = re.compile(r"[ \t\u00a0\u3000]+")
_LINES = re.compile(r"\s*\n\s*")


def clean_text(value: Any, most: int = MOST_TEXT) -> str:
    """Plain text of at most `most` characters, cut at a sentence or word where one ends near; "" for anything but text."""
    if isinstance(value, list):
        value = "\n".join(part for part in value[:20] if isinstance(part, str))
    if not isinstance(value, str):
        return ""
    text = html.unescape(_MARKUP.sub(" ", value[:_READ]))
    text = _CONTROLS.sub("", unicodedata.normalize("NFC", text))
    text = _LINES.sub("\n", _BLANKS.sub(" ", text)).strip()
    return text if len(text) <= most else _cut(text, most)


def _cut(text: str, most: int) -> str:
    head = text[: most - 1]
    ends = [head.rfind(mark) for mark in ("。", "！", "？", ". ", "\n", " ")]
    best = next((end + 1 for end in ends if end > most * 0.7), len(head))
    return head[:best].rstrip() + "…"


def clean_title(value: Any) -> str:
    return clean_text(value, MOST_TITLE).replace("\n", " ")


def clean_url(value: Any) -> str:
    """A link to the web, or "" for whatever else it is."""
    if not isinstance(value, str) or len(value) > MOST_URL or not value.isprintable():
        return ""
    try:
        parts = urlsplit(value.strip())
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return ""
    return value.strip() if is_web else ""


def clean_id(value: Any) -> str:
    """A remote id as text; "" when there is none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value)[:MOST_ID]
