"""Periods of time in a text: "since March 2023", "last month", 「去年」, 「最近三个月」. Pure; today is given.

A period is the days from `after` to before `before`; None is open. What cannot be a document's date (the Middle Ages, the
year after next) is no period.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

OLDEST_YEAR = 1980

Span = tuple[date, date]


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Where it stands in the text, and which days it means. preposition: the word before it, "" for none.

    is_relative: counted from today, as in "last week".
    """

    start: int
    end: int
    after: date | None
    before: date | None
    preposition: str = ""
    is_relative: bool = False


MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in MONTHS)
_COUNTS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_WORDS = {word: n for n, word in enumerate(_COUNTS, 1)}
_NUMBER = r"\d{1,3}|" + "|".join(_WORDS)
_ZH_DIGITS = {"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_ZH_NUMBER = r"\d{1,3}|[一二两三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九半]"
_YEAR = r"(?:19|20)\d\d"

_ENGLISH = re.compile(
    rf"""(?ix)\b(?:
      (?P<iso>{_YEAR}-\d\d(?:-\d\d)?)
    | (?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?(?P<month>{_MONTH})\.?(?:\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?)?,?\s+(?P<month_year>{_YEAR})
    | (?:q(?P<quarter>[1-4])|(?P<quarter_word>first|second|third|fourth|1st|2nd|3rd|4th)\s+quarter)(?:\s+of)?\s+(?P<quarter_year>{_YEAR})
    | (?P<relative>this|last|previous|current)\s+(?P<relative_unit>week|month|quarter|year)
    | (?:(?:the\s+)?(?:last|past|previous)\s+)(?P<count>{_NUMBER})\s+(?P<count_unit>days?|weeks?|months?|quarters?|years?)
    | (?:the\s+)?past\s+(?P<past_unit>week|month|quarter|year)
    | (?P<near>today|yesterday)
    | (?P<year>{_YEAR})
    | (?P<bare_month>{"|".join(name.capitalize() for name in MONTHS)})
    )\b(?![-/.]\d)"""
)
_CHINESE = re.compile(
    rf"""(?x)
      (?<!\d)(?P<year>{_YEAR})\s*年(?:度)?(?:\s*(?P<month>1[0-2]|0?[1-9])\s*月(?:份)?(?:\s*(?P<day>[12]\d|3[01]|0?[1-9])\s*[日号])?|(?:的|第)?\s*(?P<quarter>[一二三四1-4])\s*季度)?
    | (?P<relative>今年|去年|前年|本月|这个月|上个?月|本周|这周|这个?星期|上周|上个?星期|本季度|这个?季度|上个?季度|今天|今日|昨天|昨日|本年度?)(?:度)?
    | (?:最近|近|过去)(?:的)?(?P<count>{_ZH_NUMBER})\s*个?(?P<unit>天|日|周|星期|月|季度|年)
    """
)
_PREPOSITIONS = re.compile(
    r"(?i)\b(?:(since|after|from|before|until|till|by|in|during|on|of|within|between|dated|starting)\s+)(?:the\s+)?$"
)
_OPEN_END = re.compile(r"(?i)\s+(?:onwards?\b|or later\b|on(?=\s*(?:[,.?!;]|$)))")
_JOINT = re.compile(r"(?i)\s*(?:and|to|until|through|-|–|~|到|至|—)\s*")
_ZH_AFTER = re.compile(r"(?:以来|以后|之后|至今|起(?!草)|后(?!续))")
_ZH_BEFORE = re.compile(r"(?:以前|之前|前(?!后))")
_ZH_WITHIN = re.compile(r"(?:之内|以内|内|里|间|期间)")


def find_periods(text: str, *, today: date, with_future: bool = False) -> list[Period]:
    """All periods in reading order, each with the words around it that open or close it."""
    latest = date.max if with_future else today
    spans = sorted((*_english(text, today), *_chinese(text, today)), key=lambda found: (found[0], -found[1]))
    periods: list[Period] = []
    for start, end, span, is_relative in spans:
        if periods and start < periods[-1].end:
            continue
        if _is_joined(text, periods, start):
            periods[-1] = _joined(periods[-1], end, span)
        elif span[0].year >= OLDEST_YEAR and span[0] <= latest:
            periods.append(_period(text, (start, end), span, is_relative))
    return periods


def _is_joined(text: str, periods: list[Period], start: int) -> bool:
    """Whether this is the end of a range: "from 2022 to 2024", 「2022年到2024年」."""
    if not periods or periods[-1].preposition not in ("from", "between", ""):
        return False
    return bool(_JOINT.fullmatch(text[periods[-1].end : start]))


def _joined(first: Period, end: int, span: Span) -> Period:
    return Period(
        start=first.start,
        end=end,
        after=first.after,
        before=span[1],
        preposition=first.preposition,
        is_relative=first.is_relative,
    )


def _period(text: str, at: tuple[int, int], span: Span, is_relative: bool) -> Period:
    start, end = at
    said = _PREPOSITIONS.search(text[max(0, start - 16) : start])
    word = said[1].lower() if said else ""
    if said:
        start -= len(said[0])
    begin, stop = span
    after: date | None = begin
    before: date | None = stop
    if word in ("since", "starting") or (word == "from" and (tail := _OPEN_END.match(text, end))):
        before = None
        end = tail.end() if word == "from" and tail else end
    elif word == "after":
        after, before = stop, None
    elif word in ("before", "until", "till", "by"):
        after, before = None, begin if word != "by" else stop
    elif tail := _ZH_AFTER.match(text, end):
        before, end = None, tail.end()
    elif tail := _ZH_BEFORE.match(text, end):
        after, before, end = None, begin, tail.end()
    elif tail := _ZH_WITHIN.match(text, end):
        end = tail.end()
    return Period(start=start, end=end, after=after, before=before, preposition=word, is_relative=is_relative)


Found = tuple[int, int, Span, bool]


def _english(text: str, today: date) -> Iterator[Found]:
    for match in _ENGLISH.finditer(text):
        said = {name: value for name, value in match.groupdict().items() if value}
        span = _english_span(said, today)
        if span:
            is_relative = bool(said.keys() & {"relative", "count", "past_unit", "near"})
            yield match.start(), match.end(), span, is_relative


def _english_span(said: dict[str, str], today: date) -> Span | None:
    for name, read in _ENGLISH_READERS.items():
        if name in said:
            return read(said, today)
    return None


def _iso(said: dict[str, str], _today: date) -> Span | None:
    year, month, *day = (int(part) for part in said["iso"].split("-"))
    return _day(year, month, day[0]) if day else _month(year, month)


def _named_month(said: dict[str, str], _today: date) -> Span | None:
    year, month = int(said["month_year"]), _month_number(said["month"])
    day = said.get("day") or said.get("day2")
    return _day(year, month, int(day)) if day else _month(year, month)


def _named_quarter(said: dict[str, str], _today: date) -> Span:
    words = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
    number = int(said.get("quarter") or words[said["quarter_word"].lower()])
    return _quarter(int(said["quarter_year"]), number)


def _counted(said: dict[str, str], today: date) -> Span:
    count = said["count"].lower()
    return _past(int(_WORDS.get(count) or count), said["count_unit"].lower().rstrip("s"), today)


def _bare_month(said: dict[str, str], today: date) -> Span | None:
    month = _month_number(said["bare_month"])
    return _month(today.year - (month > today.month), month)


def _near(said: dict[str, str], today: date) -> Span:
    day = today - timedelta(days=said["near"].lower() == "yesterday")
    return day, day + timedelta(days=1)


_ENGLISH_READERS: dict[str, Callable[[dict[str, str], date], Span | None]] = {
    "iso": _iso,
    "month": _named_month,
    "quarter_year": _named_quarter,
    "relative": lambda said, today: _calendar(
        said["relative_unit"].lower(), int(said["relative"].lower() in ("last", "previous")), today
    ),
    "count": _counted,
    "past_unit": lambda said, today: _past(1, said["past_unit"].lower(), today),
    "near": _near,
    "year": lambda said, _today: _year(int(said["year"])),
    "bare_month": _bare_month,
}


def _month_number(name: str) -> int:
    return next(n for n, month in enumerate(MONTHS, 1) if month.startswith(name.lower()[:3]))


_ZH_UNITS = {
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "月": "month",
    "季度": "quarter",
    "年": "year",
}
_ZH_RELATIVE = {
    "今年": ("year", 0),
    "本年": ("year", 0),
    "本年度": ("year", 0),
    "去年": ("year", 1),
    "前年": ("year", 2),
}


def _chinese(text: str, today: date) -> Iterator[Found]:
    for match in _CHINESE.finditer(text):
        said = {name: value for name, value in match.groupdict().items() if value}
        if "year" in said:
            span = _chinese_date(said)
        elif "relative" in said:
            span = _chinese_relative(said["relative"], today)
        else:
            span = _chinese_count(said, today)
        if span:
            yield match.start(), match.end(), span, "year" not in said


def _chinese_date(said: dict[str, str]) -> Span | None:
    year = int(said["year"])
    if "quarter" in said:
        number = _ZH_DIGITS.get(said["quarter"]) or int(said["quarter"])
        return _quarter(year, number)
    if "day" in said:
        return _day(year, int(said["month"]), int(said["day"]))
    return _month(year, int(said["month"])) if "month" in said else _year(year)


def _chinese_relative(word: str, today: date) -> Span:
    if word in _ZH_RELATIVE:
        unit, back = _ZH_RELATIVE[word]
        return _calendar(unit, back, today)
    if word[0] in "今昨":
        day = today - timedelta(days=word[0] == "昨")
        return day, day + timedelta(days=1)
    unit = next(unit for ending, unit in _ZH_UNITS.items() if word.endswith(ending))
    return _calendar(unit, int(word.startswith("上")), today)


def _chinese_count(said: dict[str, str], today: date) -> Span:
    unit = _ZH_UNITS[said["unit"]]
    if said["count"] == "半":
        return _past(6 if unit == "year" else 15, "month" if unit == "year" else "day", today)
    return _past(_chinese_number(said["count"]), unit, today)


def _chinese_number(text: str) -> int:
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.partition("十")
    if not ten:
        return _ZH_DIGITS[text]
    return _ZH_DIGITS.get(tens, 1) * 10 + _ZH_DIGITS.get(ones, 0)


# --- spans --------------------------------------------------------------------------------------------------


def _year(year: int) -> Span:
    return date(year, 1, 1), date(year + 1, 1, 1)


def _month(year: int, month: int) -> Span | None:
    return (date(year, month, 1), _later(date(year, month, 1), 1)) if 1 <= month <= 12 else None


def _quarter(year: int, number: int) -> Span:
    first = date(year, 3 * number - 2, 1)
    return first, _later(first, 3)


def _day(year: int, month: int, day: int) -> Span | None:
    try:
        that = date(year, month, day)
    except ValueError:
        return None
    return that, that + timedelta(days=1)


def _later(first: date, months: int) -> date:
    """The first of the month so many months later, or earlier."""
    years, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    return date(years, month + 1, 1)


def _calendar(unit: str, back: int, today: date) -> Span:
    """This calendar week (from Monday), month, quarter or year, or the one so many before."""
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return monday, monday + timedelta(days=7)
    if unit == "month":
        first = _later(today.replace(day=1), -back)
        return first, _later(first, 1)
    if unit == "quarter":
        first = _later(date(today.year, 3 * ((today.month - 1) // 3) + 1, 1), -3 * back)
        return first, _later(first, 3)
    return _year(today.year - back)


def _past(count: int, unit: str, today: date) -> Span:
    """The last so many days, weeks and so on, today included."""
    days = {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}[unit] * count
    return today - timedelta(days=min(days, 365 * 50)), today + timedelta(days=1)
