"""What one cell says, as a value: a number with its unit, a date, or nothing. Pure.

Only what can be read in one way is read: `03/04/2023`, whose day may be either, stays text.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache

MAX_WHOLE_DIGITS, MAX_DECIMALS = 15, 6
_LONGEST, _LONGEST_NOTHING = 60, 16
_REMEMBERED = 32_768  # the cells of a long sheet repeat

# Cells that say that there is nothing to say; those of results say that a race, an exam or a test was not finished.
NOTHING = frozenset(
    ("-", "–", "—", "--", "---", "——", "/", "\\", ".", "..", "…", "*", "?", "n/a", "na", "n.a.", "nil", "none", "null", "nan",
     "tbd", "tba", "unknown", "dnf", "dns", "dnq", "dsq", "ret", "无", "无数据", "暂无", "未知", "不详", "待定", "缺", "缺考", "空")
)  # fmt: skip
SCALES = {
    "万": Decimal(10_000), "亿": Decimal(100_000_000), "千": Decimal(1_000), "百万": Decimal(1_000_000),
    "千万": Decimal(10_000_000), "万亿": Decimal(1_000_000_000_000), "k": Decimal(1_000), "thousand": Decimal(1_000),
    "million": Decimal(1_000_000), "mn": Decimal(1_000_000), "billion": Decimal(1_000_000_000), "bn": Decimal(1_000_000_000),
}  # fmt: skip
_SCALE = "万亿|千万|百万|万|亿|千|thousand|million|billion|mn|bn|k(?![a-z])"
_CURRENCY = r"us\$|hk\$|nt\$|a\$|c\$|\$|€|£|¥|￥|₹|rmb|cny|usd|eur|gbp|hkd|jpy|人民币|美元|欧元|港元"
_UNIT = r"[a-zµμ°²³/]{1,12}|[\u4e00-\u9fff]{1,4}(?:/[\u4e00-\u9fffa-z]{1,4})?|[%‰％℃°]"
_FOOTNOTE = re.compile(r"(?:\s*\[[a-z0-9]{1,3}\]|[*†‡※]+|\s*\((?:note|注) ?\d*\))+$", re.IGNORECASE)
_NUMBER = re.compile(
    rf"(?P<open>\()?(?P<sign>[-+−–]?)\s?(?P<currency>{_CURRENCY})?\s?(?P<sign2>[-+−]?)"
    r"(?P<whole>\d{1,3}(?:,\d{3})+|\d{1,3}(?:,\d{4})+|\d+)?(?P<decimals>\.\d+)?"
    rf"\s?(?P<scale>{_SCALE})?\s?(?P<ordinal>st|nd|rd|th)?\s?(?P<unit>{_UNIT})?(?P<close>\))?",
    re.IGNORECASE,
)
_MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july", "aug august",
         "sep sept september", "oct october", "nov november", "dec december"), start=1
    )
    for name in names.split()
}  # fmt: skip
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR = r"(?P<y>(?:1[5-9]|20|21)\d\d)"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_YEAR}\s?[-/.年]\s?(?P<m>\d{{1,2}})\s?[-/.月]\s?(?P<d>\d{{1,2}})\s?日?(?:[ T]\d{{1,2}}:\d\d(?::\d\d)?)?",
        rf"{_YEAR}\s?(?:年|-|/)\s?(?P<m>\d{{1,2}})\s?月?",
        rf"{_YEAR}\s?年",
        rf"(?:\w{{3,9}},? )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?[ -](?:of )?(?P<mon>{_MONTH})\.?,?[ -]{_YEAR}",
        rf"(?:\w{{3,9}},? )?(?P<mon>{_MONTH})\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? {_YEAR}",
        rf"(?P<mon>{_MONTH})\.?,? {_YEAR}",
    )
)
_DIGIT, _FOUR_DIGITS = re.compile(r"\d"), re.compile(r"\d{4}")
_BARE_YEAR = re.compile(r"(?:1[5-9]|20|21)\d\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """value: as counted, scales and all (1.2万 is 12000, its `scale` 万).

    unit: lower case, "" without; currency goes before the number. decimals: as shown.
    """

    value: Decimal
    unit: str = ""
    currency: str = ""
    scale: str = ""
    decimals: int = 0
    has_separators: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A date as far as it is said: precision is "day", "month" or "year"; `first` is the first day of it."""

    first: date
    precision: str


_PLAIN = re.compile(r"[!-)+-Z\\^-~]+(?: [!-)+-Z\\^-~]+)*")


def clean(text: str) -> str:
    """One line, full-width forms narrowed, without footnote marks."""
    if text.isascii() and _PLAIN.fullmatch(text):  # most cells: nothing to narrow, no mark
        return text
    flat = " ".join(unicodedata.normalize("NFKC", text[:4_000]).split())
    return _FOOTNOTE.sub("", flat) or flat


def says_nothing(text: str) -> bool:
    said = text.strip()
    return not said or (len(said) < _LONGEST_NOTHING and clean(said).lower() in NOTHING)


@lru_cache(maxsize=_REMEMBERED)
def read_number(text: str) -> Number | None:
    """The number that the whole cell is; None for anything else, codes and phone numbers with their many digits too."""
    if not _DIGIT.search(text):
        return None
    flat = clean(text)
    if not flat or len(flat) > _LONGEST:
        return None
    match = _NUMBER.fullmatch(flat)
    if match is None or not (match["whole"] or match["decimals"]):
        return None
    if bool(match["open"]) != bool(match["close"]):
        return None
    whole, decimals = (match["whole"] or "0").replace(",", ""), (match["decimals"] or "")[1:]
    if len(whole) > MAX_WHOLE_DIGITS or len(decimals) > MAX_DECIMALS or _is_code(whole):
        return None
    value = Decimal(f"{whole}.{decimals or 0}")
    if match["open"] or "-" in _signs(match) or "−" in _signs(match) or "–" in _signs(match):
        value = -value
    scale = (match["scale"] or "").lower()
    value *= SCALES.get(scale, Decimal(1))
    if value.copy_abs() >= Decimal(10) ** MAX_WHOLE_DIGITS:
        return None
    return Number(
        value=value.normalize() + 0,
        unit=(match["unit"] or "").lower(),
        currency=match["currency"] or "",
        scale=match["scale"] or "",
        decimals=len(decimals),
        has_separators="," in (match["whole"] or ""),
    )


def _signs(match: re.Match[str]) -> str:
    return match["sign"] + match["sign2"]


def _is_code(whole: str) -> bool:
    """007 names something; 0 and 0.5 count."""
    return len(whole) > 1 and whole.startswith("0")


@lru_cache(maxsize=_REMEMBERED)
def read_day(text: str) -> Day | None:
    """The date that the whole cell is. A date without its year, or whose day and month may be swapped, is none."""
    if not _FOUR_DIGITS.search(text):
        return None
    flat = clean(text).strip('"')
    if len(flat) > _LONGEST:
        return None
    for pattern in _DATES:
        if match := pattern.fullmatch(flat):
            found = match.groupdict()
            month = _MONTHS[found["mon"].lower()] if found.get("mon") else int(found.get("m") or 0)
            return _day(int(found["y"]), month, int(found.get("d") or 0))
    return None


def read_year(text: str) -> Day | None:
    """A bare year, which only stands for a date in a column that is named for years or holds nothing else."""
    flat = clean(text)
    return Day(first=date(int(flat), 1, 1), precision="year") if _BARE_YEAR.fullmatch(flat) else None


def _day(year: int, month: int, day: int) -> Day | None:
    try:
        first = date(year, month or 1, day or 1)
    except ValueError:
        return None
    return Day(first=first, precision="day" if day else "month" if month else "year")
