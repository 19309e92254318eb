"""A question laid over a table: each of its words is a column's name, a cell, a number, a date, an operation, or unexplained.

The longest match wins at each place; where two things of a table are named alike there, the question is not understood.
"""

import calendar
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise

from retrieval.tables.cells import SCALES, read_day
from retrieval.tables.lexicon import NUMBER_WORDS, Cue, cues, longest_cue
from retrieval.tables.typed import Column, Kind, TypedTable
from retrieval.tables.words import Keys, Word, keys_of, words_of

MAX_VALUE_WORDS = 24
MAX_QUESTION_WORDS = 80
_FEW_VALUES = 12
_MEDALS = {keys_of(name) for name in ("gold", "silver", "bronze")}  # what such columns count is in no head
TOTAL = "总"  # 销售总额 is the total of 销售额
_YEAR = re.compile(r"(?:1[5-9]|20|21)\d\d")
_COUNTED = re.compile(r"^(?:number of|no\.? of|nos\.? of|#|total number of)\s+(?P<what>.+)$", re.IGNORECASE)
# Names of columns that say what of a thing they hold, nearest to the thing itself first: "Customer name", 客户名称, 客户编号.
_SUFFIXES = (
    re.compile(r"^(?P<thing>.{2,}?)(?:\s+names?|名称|姓名|名字|名)$", re.IGNORECASE),
    re.compile(
        r"^(?P<thing>.{2,}?)(?:\s+(?:id|no\.?|number|code|date|time)|编号|编码|代码|号码|号|日期|时间)$",
        re.IGNORECASE,
    ),
)
_BRACKETS = re.compile(r"\s*[(（\[].*?[)）\]]\s*")
_SCALE_WORDS = ("万亿", "千万", "百万", "万", "亿", "thousand", "million", "billion")
_UNITS = ("元", "人民币", "美元", "人", "个", "件", "台", "分", "公里", "千米", "米", "公斤", "千克", "吨", "天", "岁", "percent", "usd", "eur", "dollars", "yuan", "rmb", "km", "kg")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """first: its first day; after: the first day that is not in it any more."""

    first: date
    after: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A number in a question. has_scale: it was said with 万, a unit or the like, and is meant as counted."""

    value: Decimal
    has_scale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Cells that say what the question says: for each column, their values."""

    by_column: tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A word of the table's title or of the headings above it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A word that nothing explains."""


Meaning = Cue | Column | Held | Amount | Period | Context | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What `count` words from `at` on mean. is_plural: of an English word as written."""

    meaning: Meaning
    at: int
    count: int
    text: str = ""


@dataclass(slots=True, kw_only=True)
class _Vocabulary:
    """The table's names and cells by their words."""

    columns: dict[Keys, list[Column]] = field(default_factory=lambda: defaultdict(list))
    values: dict[Keys, dict[int, dict[str, None]]] = field(default_factory=lambda: defaultdict(dict))
    context: set[str] = field(default_factory=set)


class Ambiguous(Exception):
    """The same words of the question name two things."""


def label(question: str, table: TypedTable, *, context: Iterable[str] = ()) -> list[Label]:
    """The question's labels in order, without function words. Raises Ambiguous.

    context: titles that are known to be about the table, beside its own.
    """
    words = words_of(question)[:MAX_QUESTION_WORDS]
    vocabulary = _vocabulary(table, context, {word.key for word in words})
    found: list[Label] = []
    at = 0
    while at < len(words):
        best = _best(words, at, vocabulary, table)
        if best.meaning is not Cue.STOP:
            found.append(best)
        if isinstance(best.meaning, Column) and _is_total_of(words[at : at + best.count], best.meaning):
            found.append(replace(best, meaning=Cue.SUM))
        at += best.count
    return found


def cues_in(question: str) -> set[Cue]:
    """The operations that the question's words name, whatever table it is put to."""
    words = words_of(question)[:MAX_QUESTION_WORDS]
    return {
        found.meaning
        for at in range(len(words))
        for found in _cue_at(words, at)
        if isinstance(found.meaning, Cue)
    }


def _best(words: Sequence[Word], at: int, vocabulary: _Vocabulary, table: TypedTable) -> Label:
    """The longest reading at one place; of equally long ones columns before cells before operations before numbers."""
    readings = [
        *_column_at(words, at, vocabulary),
        *_value_at(words, at, vocabulary),
        *_cue_at(words, at),
        *_period_at(words, at),
        *_amount_at(words, at),
    ]
    if not readings:
        known = words[at].key in vocabulary.context
        return Label(meaning=Context() if known else Unknown(), at=at, count=1, text=words[at].raw)
    return max(readings, key=lambda reading: reading.count)


def _is_total_of(words: Sequence[Word], column: Column) -> bool:
    return len(words) > 2 and words[-2].key == TOTAL and TOTAL not in column.name


# --- names and cells ----------------------------------------------------------------------------------------


def _vocabulary(table: TypedTable, context: Iterable[str], asked: set[str]) -> _Vocabulary:
    vocabulary = _Vocabulary()
    for keys, column in _column_names(table.columns):
        if column not in vocabulary.columns[keys]:
            vocabulary.columns[keys].append(column)
    if {keys_of(column.name) for column in table.columns} >= _MEDALS:
        vocabulary.context.update(keys_of("medals"))
    index = table.index or _indexed(table)
    for first in asked & index.keys():
        for keys, number, value in index[first]:
            if asked.issuperset(keys):
                vocabulary.values[keys].setdefault(number, {})[value] = None
    for text in (table.title, *table.around, *context):
        vocabulary.context.update(keys_of(text))
    return vocabulary


def _indexed(table: TypedTable) -> dict[str, list[tuple[Keys, int, str]]]:
    """The cells of texts by the first of their words; kept with the table, because long sheets are asked again."""
    for column in table.columns:
        if column.kind is not Kind.TEXT:
            continue
        held = dict.fromkeys(str(row.values[column.index] or "") for row in table.rows)
        for value in held:
            for keys in _spellings(value):
                if _tells_apart(keys, len(held)):
                    table.index.setdefault(keys[0], []).append((keys, column.index, value))
    return table.index


def _column_names(columns: Sequence[Column]) -> Iterator[tuple[Keys, Column]]:
    """Names that stand for one column: in full, without unit or brackets, and its last word where no other has it."""
    for column in columns:
        full = (column.full_name, column.name, _BRACKETS.sub(" ", column.name))
        counted = _COUNTED.match(column.name)
        names = {keys_of(text) for text in (*full, counted["what"] if counted else "")}
        last = keys_of(column.name.rsplit(" / ", 1)[-1])
        if all(keys_of(other.name.rsplit(" / ", 1)[-1]) != last for other in columns if other is not column):
            names.add(last)
        words = keys_of(_BRACKETS.sub(" ", column.name))
        others = {key for other in columns if other is not column for key in keys_of(other.name)}
        if len(words) > 1 and words[-1].isascii() and words[-1].isalpha() and words[-1] not in others:
            names.add(words[-1:])
        if column.kind is Kind.NUMBER and len(words) > 1 and words[-1] in ("额", "量", "数", "价"):
            names.add((*words[:-1], TOTAL, words[-1]))
        for keys in names:
            if keys:
                yield keys, column
    yield from _things(columns)


def _things(columns: Sequence[Column]) -> Iterator[tuple[Keys, Column]]:
    """What columns are of, where one column stands for it."""
    known = {keys_of(column.name) for column in columns}
    for suffix in _SUFFIXES:
        found = [
            (keys_of(match["thing"]), column) for column in columns if (match := suffix.match(column.name))
        ]
        for keys, column in found:
            if keys not in known and [other for other, _column in found].count(keys) == 1:
                yield keys, column
        known |= {keys for keys, _column in found}


def _spellings(value: str) -> Iterator[Keys]:
    """The whole cell, and the cell without what stands in brackets or quotes."""
    keys = keys_of(value[:400])
    if 0 < len(keys) <= MAX_VALUE_WORDS:
        yield keys
        short = keys_of(_BRACKETS.sub(" ", value))
        if short and short != keys:
            yield short


def _tells_apart(keys: Keys, among: int) -> bool:
    """Not a lone function word, digit or letter; one Chinese character only where few values are."""
    if len(keys) > 1:
        return any(cues().get((key,)) is not Cue.STOP for key in keys)
    (key,) = keys
    if cues().get(keys) or key in NUMBER_WORDS:
        return False
    if len(key) == 1 and not key.isascii():
        return among <= _FEW_VALUES
    return len(key) > 1 or (key.isalpha() and among <= _FEW_VALUES)


def _column_at(words: Sequence[Word], at: int, vocabulary: _Vocabulary) -> Iterator[Label]:
    for keys, columns in vocabulary.columns.items():
        if _stands(keys, words, at):
            if len(columns) > 1:
                raise Ambiguous
            yield Label(meaning=columns[0], at=at, count=len(keys), text=words[at + len(keys) - 1].raw)
            if (
                columns[0].kind is not Kind.TEXT
                and keys[-1].isdigit()
                and _key(words, at + len(keys)) == "年"
            ):
                yield Label(meaning=columns[0], at=at, count=len(keys) + 1)


def _value_at(words: Sequence[Word], at: int, vocabulary: _Vocabulary) -> Iterator[Label]:
    for keys, columns in vocabulary.values.items():
        if not _stands(keys, words, at):
            continue
        if len(keys) == 1 and len(keys[0]) == 1 and keys[0].isascii() and not words[at].is_capital:
            continue
        held = tuple((column, tuple(values)) for column, values in columns.items())
        yield Label(meaning=Held(by_column=held), at=at, count=len(keys), text=words[at].raw)


def _cue_at(words: Sequence[Word], at: int) -> Iterator[Label]:
    for length in range(min(longest_cue(), len(words) - at), 0, -1):
        if cue := cues().get(tuple(word.raw for word in words[at : at + length])):
            yield Label(meaning=cue, at=at, count=length, text=words[at].raw)
            return


def _stands(keys: Keys, words: Sequence[Word], at: int) -> bool:
    if at + len(keys) > len(words) or words[at].key != keys[0]:
        return False
    return all(word.key == key for word, key in zip(words[at : at + len(keys)], keys, strict=True))


def _key(words: Sequence[Word], at: int) -> str:
    return words[at].key if at < len(words) else ""


# --- numbers and dates --------------------------------------------------------------------------------------


def _amount_at(words: Sequence[Word], at: int) -> Iterator[Label]:
    key = words[at].key
    small = NUMBER_WORDS.get(words[at].raw)
    if not (key[0].isdigit() or small):
        return
    value = Decimal(small) if small else Decimal(key)
    count, has_scale = 1, False
    for text in _SCALE_WORDS:
        keys = keys_of(text)
        if _stands(keys, words, at + count) if at + count < len(words) else False:
            value, count, has_scale = value * SCALES[text], count + len(keys), True
            break
    for text in _UNITS:
        keys = keys_of(text)
        if at + count < len(words) and _stands(keys, words, at + count):
            count, has_scale = count + len(keys), has_scale or text in ("元", "人民币", "美元")
            break
    yield Label(meaning=Amount(value=value, has_scale=has_scale), at=at, count=count, text=words[at].raw)


def _period_at(words: Sequence[Word], at: int) -> Iterator[Label]:
    """2023, 2023年, 2023年5月, 2023-05-06, May 2023, 6 May 2023, May 6, 2023: the longest that is a date."""
    first = words[at]
    if not (first.key[0].isdigit() or first.raw.isascii()):
        return
    for length in range(min(6, len(words) - at), 0, -1):
        text = _as_written(words[at : at + length])
        if length == 1 and _YEAR.fullmatch(text):
            if decade := _decade(words, at):
                yield decade
                return
            text += "年"
        day = read_day(text)
        if day is not None:
            yield Label(meaning=period(day.first, day.precision), at=at, count=length, text=first.raw)
            return


def _decade(words: Sequence[Word], at: int) -> Label | None:
    """1990s, the 1990's, 1990年代."""
    behind = [word.raw for word in words[at + 1 : at + 3]]
    count = 2 if behind[:1] == ["s"] else 3 if behind == ["年", "代"] else 0
    if not count or not words[at].raw.endswith("0"):
        return None
    year = int(words[at].raw)
    return Label(
        meaning=Period(first=date(year, 1, 1), after=date(year + 10, 1, 1)),
        at=at,
        count=count,
        text=words[at].raw,
    )


def _as_written(words: Sequence[Word]) -> str:
    """Chinese dates stand without spaces, others with what parts them in their numeric form."""
    text = words[0].raw
    for before, word in pairwise(words):
        is_han = not (before.raw.isascii() and word.raw.isascii())
        numeric = before.raw.isdigit() and word.raw.isdigit()
        text += ("" if is_han else "-" if numeric and word.start - before.end == 1 else " ") + word.raw
    return text


def period(first: date, precision: str) -> Period:
    if precision == "day":
        return Period(first=first, after=first + timedelta(days=1))
    if precision == "month":
        days = calendar.monthrange(first.year, first.month)[1]
        return Period(first=first, after=first + timedelta(days=days))
    return Period(first=first, after=date(first.year + 1, 1, 1))
