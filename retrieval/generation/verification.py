"""Whether the passages that a sentence cites say what it says: numbers, codes and names, then words and meaning. Pure.

The check is one of absence: a number that stands in no cited passage was not read there. It cannot tell a sentence that
twists what it cites.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ingestion.chunking.sentences import split_sentences
from ingestion.indexing.analyzer import analyze
from ingestion.indexing.numerals import NUMERALS, read_numeral
from retrieval.evidence import is_chinese

LEAST_SHARED = 0.35  # of a sentence's words, that its passages hold where both are in one language
LEAST_NEAR = 0.3  # centred cosine of the bundled model
_MARKERS = re.compile(r"\s*((?:\[\d{1,3}\]\s*)+)")
_MARKER = re.compile(r"\[(\d{1,3})\]")
_NUMBER = re.compile(r"(?<![A-Za-z0-9_])\d{1,3}(?:[,，]\d{3})+(?:\.\d+)?|(?<![A-Za-z_])\d+(?:\.\d+)?")
_NUMERAL = re.compile("[" + "".join(sorted(NUMERALS)) + "]{1,24}")
_CODE = re.compile(
    r"(?=[A-Za-z0-9._/-]*\d)(?=[A-Za-z0-9._/-]*[A-Za-z])[A-Za-z0-9][A-Za-z0-9._/-]*[A-Za-z0-9]"
)
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][a-z]+(?:\s[A-Z][a-z]+)*")
_QUOTED = re.compile(r"[「『“\"]([^「」『』“”\"]{2,60})[」』”\"]")


class Verdict(StrEnum):
    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    UNCITED = "uncited"  # states something and cites nothing
    SILENT = "silent"  # states nothing: a heading, a lead to a list


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One sentence of an answer. text: without its markers. missing: what stands in none of the passages it cites."""

    text: str
    cited: tuple[int, ...]
    verdict: Verdict
    missing: tuple[str, ...] = ()


Nearness = Callable[[str, Sequence[str]], float]


def check_answer(
    answer: str, passages: Mapping[int, str], *, nearness: Nearness | None = None
) -> tuple[Checked, ...]:
    """Every sentence of an answer against the passages it cites.

    passages: text by number. nearness: (sentence, texts) -> the largest cosine, asked only where words do not decide; None
    when meaning cannot be compared, and then words in the other language count for nothing either way.
    """
    return tuple(_checked(text, cited, passages, nearness) for text, cited in _sentences(answer))


def unsupported_share(checked: Sequence[Checked]) -> float:
    """Of the sentences that state something, those that no cited passage supports, 0..1."""
    stating = [one for one in checked if one.verdict is not Verdict.SILENT]
    bad = sum(one.verdict in (Verdict.UNSUPPORTED, Verdict.UNCITED) for one in stating)
    return bad / len(stating) if stating else 0.0


def _sentences(answer: str) -> list[tuple[str, tuple[int, ...]]]:
    """Sentences without their markers, with the numbers; markers behind a full stop belong to what stands before it."""
    found: list[tuple[str, tuple[int, ...]]] = []
    for line in answer.splitlines():
        moved = re.sub(r"([.!?。！？])\s*((?:\[\d{1,3}\]\s*)+)", r" \2\1 ", line)
        for sentence in split_sentences(moved):
            cited = tuple(dict.fromkeys(int(number) for number in _MARKER.findall(sentence)))
            text = re.sub(r"\s+([.!?。！？])", r"\1", _MARKERS.sub("", sentence)).strip()
            if text:
                found.append((text, cited))
    return found


def _checked(
    text: str, cited: tuple[int, ...], passages: Mapping[int, str], nearness: Nearness | None
) -> Checked:
    texts = [passages[number] for number in cited if number in passages]
    if not _states(text):
        return Checked(text=text, cited=cited, verdict=Verdict.SILENT)
    if not texts:
        return Checked(text=text, cited=cited, verdict=Verdict.UNCITED)
    missing = _missing(text, texts)
    if missing or not _is_near(text, texts, nearness):
        return Checked(text=text, cited=cited, verdict=Verdict.UNSUPPORTED, missing=missing)
    return Checked(text=text, cited=cited, verdict=Verdict.SUPPORTED)


def _states(text: str) -> bool:
    bare = _without_label(text).strip(" -•*#>")
    return len(bare) > 1 and any(map(str.isalnum, bare)) and not bare.endswith((":", "："))


def _missing(text: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Numbers, codes, names and quoted words of the sentence that no text holds."""
    source = "\n".join(texts)
    folded, numbers = source.casefold(), _numbers(source)
    gone = [number for number in _numbers(_without_label(text)) if number not in numbers]
    for pattern in (_CODE, _NAME, _QUOTED):
        for match in pattern.finditer(text):
            word = match[match.lastindex or 0]
            if word.casefold() not in folded:
                gone.append(word)
    return tuple(dict.fromkeys(gone))


def _without_label(text: str) -> str:
    """Without the number of a list item, which counts and states nothing."""
    return re.sub(r"^\s*(?:[-•*]|\d{1,3}[.)、])\s+", "", text)


def _numbers(text: str) -> dict[str, None]:
    """Numbers as digits without separators, Chinese numerals of more than one character too, in order."""
    found = {re.sub("[,，]", "", match[0]): None for match in _NUMBER.finditer(text)}
    for match in _NUMERAL.finditer(text):
        if len(match[0]) > 1 or text[match.end() : match.end() + 1] in set("天日月年周岁人元个倍次级小分"):
            found.setdefault(read_numeral(match[0]))
    return found


def _is_near(text: str, texts: Sequence[str], nearness: Nearness | None) -> bool:
    own = set(analyze(text))
    if not own:
        return True
    held = set().union(*(analyze(one) for one in texts))
    same_language = any(is_chinese(one) == is_chinese(text) for one in texts)
    if same_language and len(own & held) >= LEAST_SHARED * len(own):
        return True
    if nearness is None:
        return not same_language
    return nearness(text, texts) >= LEAST_NEAR
