"""What may stand in the dictionary, and how it is written in a file. Pure: sentences for whatever may not.

Terms and stop words are one to a line. Synonyms are `a = b = c`, or `a => b, c` one way, with a weight after a semicolon:
`P1 => 一级事故; 0.5`. A CSV of them has the columns direction, weight, and a phrase in each of the rest.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from io import StringIO

from django.utils.translation import gettext as _

from ingestion.indexing.analyzer import fold_phrase
from ingestion.indexing.stopwords import STOP_WORDS
from kb_platform.csv_cells import as_text, from_text
from kb_platform.errors import InvalidInput
from kb_platform.json_values import is_storable

MAX_LENGTH = 60
MAX_PHRASES = 12
LEAST_WEIGHT, DEFAULT_WEIGHT = 0.05, 0.8
MAX_FILE = 2_000_000  # bytes
ONE_WAY = "one-way"
BOTH_WAYS = "both"

_SIGNS = re.compile(r"[\x00-\x1f\x7f\u200b-\u200f\u2028\u2029\u2060\ufeff]+")
_BOTH = re.compile(r"\s*[=＝]\s*")
_WAY = re.compile(r"\s*(?:=>|＝>|→|⇒)\s*")
_COMMA = re.compile(r"\s*[,，、]\s*")
_WEIGHT = re.compile(r"\s*[;；]\s*([^;；]*)$")


class Kind(StrEnum):
    TERMS = "terms"
    SYNONYMS = "synonyms"
    STOP_WORDS = "stopwords"


LIMITS = {Kind.TERMS: 5_000, Kind.SYNONYMS: 2_000, Kind.STOP_WORDS: 1_000}  # in each place


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """text: as it was typed, tidied. key: as it is compared."""

    text: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Synonyms as somebody wishes them. one_way: the first finds the others."""

    phrases: tuple[Phrase, ...]
    one_way: bool = False
    weight: float = DEFAULT_WEIGHT

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(phrase.key for phrase in self.phrases)


Entry = Phrase | Group


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of an import: the entry, or why it is none. number: from 1."""

    number: int
    text: str
    entry: Entry | None = None
    problem: str = ""


def clean_phrase(text: str, *, field: str = "text") -> Phrase:
    """Raises InvalidInput, naming `field`, for what no search could find."""
    tidy = " ".join(_SIGNS.sub(" ", text).split())
    if len(tidy) > MAX_LENGTH:
        raise _wrong(
            field,
            _("At most %(limit)d characters; this has %(length)s.")
            % {"limit": MAX_LENGTH, "length": f"{len(tidy):,}"},
        )
    key = fold_phrase(tidy) if is_storable(tidy) else ""
    if not any(character.isalnum() for character in key) or len(key) > 200:
        raise _wrong(field, _("Type a word: letters, Chinese characters or digits."))
    return Phrase(text=tidy, key=key)


def clean_term(text: str, *, field: str = "text") -> Phrase:
    phrase = clean_phrase(text, field=field)
    if len(phrase.key) < 2:
        raise _wrong(field, _("A term needs at least two characters."))
    if phrase.key in STOP_WORDS:
        raise _wrong(
            field,
            _("“%(word)s” says nothing by itself and is left out of every question.") % {"word": phrase.text},
        )
    return phrase


def clean_stop_word(text: str, *, field: str = "text") -> Phrase:
    phrase = clean_phrase(text, field=field)
    if phrase.key in STOP_WORDS:
        raise _wrong(field, _("“%(word)s” is left out of every question already.") % {"word": phrase.text})
    return phrase


def clean_group(
    texts: Sequence[str], *, one_way: bool = False, weight: float | str | None = None, field: str = "phrases"
) -> Group:
    """At least two phrases that differ, and a weight from 0.05 to 1."""
    phrases = [clean_phrase(text, field=field) for text in texts if text.strip()]
    if len({phrase.key for phrase in phrases}) < len(phrases):
        raise _wrong(field, _("The same phrase stands there twice."))
    if len(phrases) < 2:
        raise _wrong(field, _("Give at least two phrases, separated by commas."))
    if len(phrases) > MAX_PHRASES:
        raise _wrong(field, _("At most %(limit)d phrases in a group.") % {"limit": MAX_PHRASES})
    for phrase in phrases:
        if phrase.key in STOP_WORDS:
            raise _wrong(
                field,
                _("“%(word)s” says nothing by itself and is left out of every question.")
                % {"word": phrase.text},
            )
    return Group(phrases=tuple(phrases), one_way=one_way, weight=clean_weight(weight))


def clean_weight(weight: float | str | None) -> float:
    """Of what the question's own word counts; nothing given is DEFAULT_WEIGHT."""
    if weight is None or weight == "":
        return DEFAULT_WEIGHT
    try:
        value = float(weight) if not isinstance(weight, bool) else -1.0
    except (TypeError, ValueError):
        value = -1.0
    if not LEAST_WEIGHT <= value <= 1:
        raise _wrong("weight", _("Give a weight from 0.05 to 1, as in 0.8."))
    return round(value, 2)


def _wrong(field: str, sentence: str) -> InvalidInput:
    return InvalidInput(sentence, fields={field: sentence})


def split_phrases(text: str) -> list[str]:
    """What was typed into one field: phrases with commas or equal signs between them."""
    return [part for part in re.split(r"[,，、;；\n]|(?<!\S)[=＝](?!\S)", text) if part.strip()]


def decode(content: bytes) -> str:
    """A file's text: UTF-8, or what Chinese editions of office software save. Raises InvalidInput."""
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise _wrong("file", _("This is not a text file. Save it as CSV or text in UTF-8."))


# --- files ------------------------------------------------------------------------------------------------------


def read_lines(kind: Kind, content: str) -> Iterator[Line]:
    """Each line that holds anything, comments (#) and a heading left out."""
    for number, raw in enumerate(content.splitlines(), start=1):
        line = raw.strip().lstrip("\ufeff")
        if not line or line.startswith("#") or (number == 1 and line.lower() in HEADINGS):
            continue
        try:
            yield Line(number=number, text=line[:200], entry=_read(kind, line))
        except InvalidInput as error:
            yield Line(number=number, text=line[:200], problem=" ".join(map(str, error.fields.values())))


HEADINGS = frozenset({"term", "word", "direction,weight,phrases", "词", "术语", "停用词"})


def _read(kind: Kind, line: str) -> Entry:
    if kind is Kind.SYNONYMS:
        return _read_group(line)
    cells = next(csv.reader([line]), [])
    text = from_text(cells[0]) if cells else line
    return clean_term(text) if kind is Kind.TERMS else clean_stop_word(text)


def _read_group(line: str) -> Group:
    cells = next(csv.reader([line]), [])
    if cells and cells[0].strip().lower() in (ONE_WAY, BOTH_WAYS):
        one_way, weight, texts = (
            cells[0].strip().lower() == ONE_WAY,
            cells[1] if len(cells) > 1 else "",
            [from_text(cell) for cell in cells[2:]],
        )
        return clean_group(texts, one_way=one_way, weight=weight.strip())
    weight_given = _WEIGHT.search(line)
    if weight_given:
        line = line[: weight_given.start()]
    sides = _WAY.split(line, maxsplit=1)
    if len(sides) == 2:
        texts = [sides[0], *_COMMA.split(sides[1])]
    else:
        texts = _BOTH.split(line) if _BOTH.search(line) else _COMMA.split(line)
    return clean_group(texts, one_way=len(sides) == 2, weight=weight_given[1] if weight_given else None)


def write_csv(kind: Kind, entries: Sequence[Entry]) -> str:
    """What `read_lines` reads back; a spreadsheet shows each phrase as it is, and runs none."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["direction", "weight", "phrases"]
        if kind is Kind.SYNONYMS
        else ["term" if kind is Kind.TERMS else "word"]
    )
    for entry in entries:
        if isinstance(entry, Group):
            texts = [phrase.text for phrase in entry.phrases]
            writer.writerow(
                [ONE_WAY if entry.one_way else BOTH_WAYS, f"{entry.weight:g}", *map(as_text, texts)]
            )
        else:
            writer.writerow([as_text(entry.text)])
    return out.getvalue()


def write_text(entries: Sequence[Entry]) -> str:
    return "".join(f"{_written(entry)}\n" for entry in entries)


def _written(entry: Entry) -> str:
    if isinstance(entry, Phrase):
        return entry.text
    first, *others = (phrase.text for phrase in entry.phrases)
    sides = f"{first} => {', '.join(others)}" if entry.one_way else " = ".join((first, *others))
    return sides if entry.weight == DEFAULT_WEIGHT else f"{sides}; {entry.weight:g}"
