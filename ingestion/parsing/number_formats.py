"""Numbers as a spreadsheet shows them: format codes like `#,##0.00`, `0.0%`, `yyyy-mm-dd` and `[h]:mm` applied to values.

The built-in short date, which follows the reader's country, comes out as 2024-03-05.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache

BUILT_IN: dict[int, str] = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00",
    5: '"¥"#,##0;"¥"-#,##0', 6: '"¥"#,##0;"¥"-#,##0', 7: '"¥"#,##0.00;"¥"-#,##0.00', 8: '"¥"#,##0.00;"¥"-#,##0.00',
    9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??",
    14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy",
    18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm",
    27: 'yyyy"年"m"月"', 28: 'm"月"d"日"', 29: 'm"月"d"日"', 30: "m-d-yy", 31: 'yyyy"年"m"月"d"日"',
    32: 'h"时"mm"分"', 33: 'h"时"mm"分"ss"秒"', 34: '上午/下午h"时"mm"分"', 35: '上午/下午h"时"mm"分"ss"秒"', 36: 'yyyy"年"m"月"',
    37: "#,##0;-#,##0", 38: "#,##0;-#,##0", 39: "#,##0.00;-#,##0.00", 40: "#,##0.00;-#,##0.00",
    41: "#,##0", 42: '"¥"#,##0', 43: "#,##0.00", 44: '"¥"#,##0.00',
    45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 49: "@",
    50: 'yyyy"年"m"月"', 51: 'm"月"d"日"', 52: 'yyyy"年"m"月"', 53: 'm"月"d"日"', 54: 'm"月"d"日"',
    55: '上午/下午h"时"mm"分"', 56: '上午/下午h"时"mm"分"ss"秒"', 57: 'yyyy"年"m"月"', 58: 'm"月"d"日"',
}  # fmt: skip
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)(?:-(?P<locale>[^\]]*))?\]|\[(?P<elapsed>h+|m+|s+)\]'
    r"|\[(?P<condition>(?:<=|>=|<>|<|>|=)\s*-?[\d.]+)\]|\[[^\]]*\]|_.|\*.|(?P<half>AM/PM|A/P|上午/下午)"
    r"|(?P<date>y+|m+|d+|h+|s+(?:\.0+)?|a{3,4}|e+(?![+-]))|(?P<exponent>E[+-]0+)|(?P<number>[0#?.,%]+)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_WITHOUT = frozenset({"General", "", "@"})
_SHORT = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d*[1-9])?")
_NUMBER = re.compile(r"(?P<front>#,##0|0+)(?:\.(?P<back>0+))?(?P<percent>%?)")
_FRACTION = re.compile(r"[#?0]\s*/\s*[#?\d]")
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_CHINESE_DAYS = "一二三四五六日"
_LAST_DAY = 2_958_466  # 9999-12-31
_MOST_CODE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """One part of a format code: its tokens as (kind, text), and the condition under which it applies."""

    tokens: tuple[tuple[str, str], ...]
    condition: str = ""
    is_chinese: bool = False

    @property
    def is_date(self) -> bool:
        return any(kind in {"date", "elapsed", "half"} for kind, _text in self.tokens)

    @property
    def has_number(self) -> bool:
        return any(kind == "number" for kind, _text in self.tokens)


def shown(written: str, code: str, *, since_1904: bool = False) -> str:
    """A stored value in its format. What is no number, and a format that cannot be applied, leave it as written."""
    if code in _WITHOUT and len(written) < 12 and _SHORT.fullmatch(written):
        return written
    try:
        value = Decimal(written)
    except InvalidOperation:
        return written
    if not value.is_finite() or value.adjusted() > 300:
        return written
    if value > 0 and (plain := _plain(code)):
        return plain.applied(value)
    return _formatted(value, code, since_1904) or general(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plain:
    """The commonest formats: words, one number, words."""

    before: str
    after: str
    step: Decimal
    grouped: bool
    percent: int
    minimum: int

    def applied(self, value: Decimal) -> str:
        rounded = (value.scaleb(2 * self.percent)).quantize(self.step, ROUND_HALF_UP)
        text = f"{rounded:,f}" if self.grouped else f"{rounded:f}"
        if self.minimum > 1:
            whole, point, back = text.partition(".")
            text = whole.rjust(self.minimum, "0") + point + back
        return f"{self.before}{text}{self.after}"


@lru_cache(maxsize=2_000)
def _plain(code: str) -> _Plain | None:
    """How positive numbers are shown, if that is simple; None for all other formats."""
    if code in _WITHOUT or len(code) > _MOST_CODE or _FRACTION.search(code):
        return None
    section = _sections(code)[0]
    kinds = "".join({"number": "n", "literal": "l"}.get(kind, "x") for kind, _text in section.tokens)
    if section.condition or not re.fullmatch("l*nl*", kinds) or any(s.condition for s in _sections(code)):
        return None
    place = kinds.index("n")
    pattern = _NUMBER.fullmatch(section.tokens[place][1])
    if pattern is None:
        return None
    words = [
        "".join(text for _k, text in part) for part in (section.tokens[:place], section.tokens[place + 1 :])
    ]
    return _Plain(
        before=words[0].lstrip(),
        after=pattern["percent"] + words[1].rstrip(),
        step=Decimal(1).scaleb(-len(pattern["back"] or "")),
        grouped="," in pattern["front"],
        percent=len(pattern["percent"]),
        minimum=0 if "," in pattern["front"] else pattern["front"].count("0"),
    )


def general(value: Decimal) -> str:
    """A number without a format: whole numbers in full, others without the noise of binary fractions."""
    if value == value.to_integral_value() and abs(value) < Decimal(10) ** 21:
        return str(int(value))
    if abs(value) >= Decimal(10) ** 11 or abs(value) < Decimal("1e-9"):
        return f"{float(value):.15g}".upper()
    return f"{value.quantize(Decimal(1).scaleb(max(value.adjusted(), 0) - 11), ROUND_HALF_UP).normalize():f}"


def _formatted(value: Decimal, code: str, since_1904: bool) -> str:
    """Empty where the format says nothing about a number."""
    if code.lower() in {"general", "", "@"} or len(code) > _MOST_CODE:
        return ""
    section, signed = _chosen(_sections(code), value)
    if section.is_date:
        return _dated(value, section, since_1904)
    if not section.has_number or _FRACTION.search(code):
        words = "".join(text for kind, text in section.tokens if kind == "literal").strip()
        return words if words and not section.has_number and "@" not in code else ""
    return _numbered(value if signed else abs(value), section)


@lru_cache(maxsize=2_000)
def _sections(code: str) -> tuple[_Section, ...]:
    sections: list[_Section] = []
    tokens: list[tuple[str, str]] = []
    condition, chinese = "", False
    for match in _TOKEN.finditer(code + ";"):
        kind = match.lastgroup or ""
        text = match[0]
        if text == ";":
            sections.append(_Section(tokens=tuple(tokens), condition=condition, is_chinese=chinese))
            tokens, condition, chinese = [], "", False
        elif match["condition"]:
            condition = match["condition"]
        elif match["currency"] is not None:
            chinese = chinese or (match["locale"] or "").lower().endswith(("804", "404"))
            tokens.append(("literal", match["currency"]))
        elif kind in {"date", "elapsed", "half", "exponent", "number"}:
            tokens.append((kind, match[kind].lower() if kind in {"date", "elapsed"} else match[kind]))
        elif kind in {"quoted", "escaped", "other"}:
            tokens.append(("literal", match[kind]))
        elif text.startswith("_"):
            tokens.append(("literal", " "))
    return tuple(sections) or (_Section(tokens=()),)


def _chosen(sections: tuple[_Section, ...], value: Decimal) -> tuple[_Section, bool]:
    """The section for a value, and whether it has to write the sign itself."""
    for place, section in enumerate(sections[:3]):
        if section.condition and _holds(section.condition, value):
            return section, place == 0 or value > 0
    if any(section.condition for section in sections):
        return sections[min(len(sections), 3) - 1], True
    if value < 0 and len(sections) > 1:
        return sections[1], False
    if value == 0 and len(sections) > 2:
        return sections[2], True
    return sections[0], True


def _holds(condition: str, value: Decimal) -> bool:
    sign = re.match(r"[<>=]+", condition)
    try:
        limit = Decimal(condition[sign.end() if sign else 0 :].strip())
    except InvalidOperation:
        return False
    return {
        "<": value < limit,
        ">": value > limit,
        "=": value == limit,
        "<=": value <= limit,
        ">=": value >= limit,
        "<>": value != limit,
    }.get(sign[0] if sign else "", False)


# --- numbers ------------------------------------------------------------------------------------------------


def _numbered(value: Decimal, section: _Section) -> str:
    """Digits put into their places from the right; words and signs between them stay where they are."""
    pattern = "".join(text for kind, text in section.tokens if kind == "number")
    whole, _point, fraction = pattern.partition(".")
    decimals = sum(fraction.count(mark) for mark in "0#?")
    scaled = value * Decimal(100) ** pattern.count("%") / Decimal(1000) ** _thousands(whole, fraction)
    exponent = next((text for kind, text in section.tokens if kind == "exponent"), "")
    power = scaled.adjusted() if exponent and scaled else 0
    digits = abs(scaled.scaleb(-power)).quantize(Decimal(1).scaleb(-min(decimals, 30)), ROUND_HALF_UP)
    front, _point, back = f"{digits:f}".partition(".")
    back = _trimmed(back, fraction)
    grouped = "," in whole.rstrip(",%").lstrip(",")
    text = _placed(section.tokens, front.lstrip("0"), back, grouped)
    if exponent:
        text = text.replace("\x00", f"E{'-' if power < 0 else '+' if exponent[1] == '+' else ''}{abs(power):0{len(exponent) - 2}d}")  # fmt: skip
    is_negative = scaled < 0 and digits != 0
    return f"-{text.strip()}" if is_negative else text.strip()


def _thousands(whole: str, fraction: str) -> int:
    """Commas after the last digit of either side: each divides by a thousand."""
    ends = (part.replace("%", "") for part in (whole, fraction))
    return sum(len(part) - len(part.rstrip(",")) for part in ends)


def _trimmed(back: str, fraction: str) -> str:
    """Decimals without the zeros that a # does not ask for."""
    marks = [mark for mark in fraction if mark in "0#?"]
    while back and marks and marks[-1] != "0" and back[-1] == "0":
        back, marks = back[:-1], marks[:-1]
    return back


def _placed(tokens: tuple[tuple[str, str], ...], front: str, back: str, grouped: bool) -> str:
    marks = [(kind, mark) for kind, text in tokens for mark in (text if kind == "number" else [text])]
    point = next((n for n, (kind, mark) in enumerate(marks) if kind == "number" and mark == "."), len(marks))
    places = [n for n in range(point) if marks[n][0] == "number" and marks[n][1] in "0#?"]
    minimum = sum(marks[n][1] == "0" for n in places)
    front = front.rjust(minimum, "0")
    spread: dict[int, str] = {}
    rest = front
    for n in reversed(places[1:]):
        spread[n], rest = (rest[-1:], rest[:-1])
    if places:
        spread[places[0]] = rest
    if grouped and places:
        spread = dict.fromkeys(places, "") | {places[0]: f"{int(front or 0):,}" if front else ""}
    out: list[str] = []
    for n, (kind, mark) in enumerate(marks):
        if kind == "literal":
            out.append(mark)
        elif kind == "exponent":
            out.append("\x00")
        elif n == point:
            out.append(f".{back}" if back else "")
        elif kind == "number" and mark == "%":
            out.append("%")
        elif n < point:
            out.append(spread.get(n, ""))
    return "".join(out)


# --- dates --------------------------------------------------------------------------------------------------


def _dated(value: Decimal, section: _Section, since_1904: bool) -> str:
    elapsed = any(kind == "elapsed" for kind, _text in section.tokens)
    if not 0 <= value < _LAST_DAY and not elapsed:
        return ""
    moment = _moment(value, since_1904) if 0 <= value < _LAST_DAY else datetime(1900, 1, 1)
    if not any(text.startswith("s") and "." in text for kind, text in section.tokens if kind == "date"):
        moment += timedelta(microseconds=500_000)  # shown to the second
    halved = any(kind == "half" for kind, _text in section.tokens)
    out: list[str] = []
    for n, (kind, text) in enumerate(section.tokens):
        if kind == "date":
            is_minute = text in {"m", "mm"} and _is_minute(section.tokens, n)
            out.append(_date_part(moment, "n" * len(text) if is_minute else text, halved, section.is_chinese))
        elif kind == "elapsed":
            seconds = int((value * 86_400).quantize(Decimal(1), ROUND_HALF_UP))
            out.append(str(seconds // {"h": 3600, "m": 60, "s": 1}[text[0]]).rjust(len(text), "0"))
        elif kind == "half":
            early, late = text.split("/")
            out.append(early if moment.hour < 12 else late)
        else:
            out.append(text)
    return "".join(out).strip()


def _moment(value: Decimal, since_1904: bool) -> datetime:
    """Day 60 of the 1900 calendar, 29 February 1900, never was."""
    first = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 30 if value >= 60 else 31)
    return first + timedelta(days=int(value), milliseconds=round(float(value % 1) * 86_400_000))


def _is_minute(tokens: tuple[tuple[str, str], ...], place: int) -> bool:
    timed = [text for kind, text in tokens[:place] if kind in {"date", "elapsed"}]
    later = [text for kind, text in tokens[place + 1 :] if kind in {"date", "elapsed"}]
    return bool(timed and timed[-1][0] == "h") or bool(later and later[0][0] == "s")


def _date_part(moment: datetime, text: str, halved: bool, chinese: bool) -> str:
    mark, length = text[0], len(text)
    if mark in "ye":
        return f"{moment.year % 100:02}" if text in {"y", "yy"} else f"{moment.year:04}"
    if mark == "m" and length >= 3:
        name = f"{moment.month}月" if chinese else _MONTHS[moment.month - 1]
        return name if chinese or length == 4 else name[: 1 if length == 5 else 3]
    if mark == "a" or (mark == "d" and length >= 3):
        weekday = moment.weekday()
        if mark == "a" or chinese:
            return ("星期" if length == 4 else "") + _CHINESE_DAYS[weekday]
        return _DAYS[weekday] if length >= 4 else _DAYS[weekday][:3]
    if mark == "s" and "." in text:
        whole, _point, zeros = text.partition(".")
        return f"{moment.second:0{len(whole)}}.{f'{moment.microsecond:06}'[: len(zeros)]}"
    hour = (moment.hour % 12 or 12) if halved else moment.hour
    number = {"m": moment.month, "d": moment.day, "h": hour, "n": moment.minute, "s": moment.second}[mark]
    return f"{number:0{min(length, 2)}}"
