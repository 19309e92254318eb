"""Numbers as tokens: Chinese numerals read as digits, and numbers joined with their unit.

「十五天」 and 「15 天」 give the same tokens `15` and `15天`; 「二三级」 gives `23级`, never `3级`.
"""

import re
from collections.abc import Iterator

_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_SCALES = {"十": 10, "百": 100, "千": 1000}
_GROUPS = {"万": 10_000, "亿": 100_000_000}
NUMERALS = frozenset(_DIGITS) | frozenset(_SCALES) | frozenset(_GROUPS)

_NUMERAL_RUN = "[" + "".join(sorted(NUMERALS)) + "]{1,24}"
UNITS = "级天日月年周岁人元个条章节款项倍次名位台件份号度期批类层楼米吨克升分秒页张种组届段区路栋室间户笔点步档折股成"
_SPELLED_UNITS = (
    "小时|分钟|公里|千米|厘米|毫米|公斤|千克|毫升|平方米|立方米|美元|人民币|个月|星期|工作日|自然日"
)
_DIGIT = re.compile(r"\d")
_QUANTITY_WORD = re.compile(rf"第?{_NUMERAL_RUN}(?:{_SPELLED_UNITS}|[{UNITS}])?")
_CHINESE_QUANTITY = re.compile(
    rf"(?<!\d)(?<!\d )(?!百分之)(?P<numeral>{_NUMERAL_RUN})(?P<unit>{_SPELLED_UNITS}|[{UNITS}])?"
)
_ARABIC_QUANTITY = re.compile(
    rf"(?<![\d.])(?P<number>\d{{1,15}}(?:\.\d{{1,9}})?)(?= ?[百千万亿小公千厘毫平立美人星工自{UNITS}]) ?(?P<group>[百千万亿]{{0,2}})(?P<unit>{_SPELLED_UNITS}|[{UNITS}])?"
)
_PERCENT = re.compile(r"(?<![\d.])(?P<number>\d{1,15}(?:\.\d{1,9})?) ?(?P<unit>[%‰]|°[CcFf])")
_CHINESE_PERCENT = re.compile(rf"百分之(?P<numeral>{_NUMERAL_RUN})")
_DATE = re.compile(r"(?<!\d)(\d{4})(?: ?年 ?|[-/.])(\d{1,2})(?: ?月 ?|[-/.])(\d{1,2})(?!\d)日?")
_WORD_UNIT = re.compile(
    r"(?<![\d.\w-])(?P<number>\d{1,15}(?:\.\d{1,9})?) "
    r"(?P<unit>(?:k|m|c|n|µ|μ)?m|[kmµμ]?g|ml|l|[kmgt]b|[kmg]?hz|[km]?[vwa]|ms|rpm|days?|hours?|minutes?|months?|weeks?|years?)"
    r"(?![\w-])",
    re.IGNORECASE,
)

Token = tuple[str, int, int]


def read_numeral(numeral: str) -> str:
    """Arabic digits of a run of Chinese numerals: 十五 -> 15, 二〇二四 -> 2024, 三万五千 -> 35000.

    Digits without a scale are read one by one, so that 二三 is 23 and not five.
    """
    if all(character in _DIGITS for character in numeral):
        return "".join(str(_DIGITS[character]) for character in numeral)
    total = group = digit = 0
    for character in numeral:
        if character in _DIGITS:
            digit = digit * 10 + _DIGITS[character] if digit else _DIGITS[character]
        elif character in _SCALES:
            group += (digit or 1) * _SCALES[character]
            digit = 0
        else:
            total = (total + group + digit or 1) * _GROUPS[character]
            group = digit = 0
    return str(total + group + digit)


def is_quantity(word: str) -> bool:
    """Whether a Chinese word is only a numeral, perhaps with 第 and a unit: `quantities` gives better tokens for it."""
    return _QUANTITY_WORD.fullmatch(word) is not None


def cuts_numeral(text: str, start: int, end: int) -> bool:
    """Whether a word begins or ends inside a numeral, like the 五天 of 十五天."""
    return (text[start] in NUMERALS and text[start - 1 : start] in NUMERALS) or (
        text[end - 1] in NUMERALS and text[end : end + 1] in NUMERALS
    )


def quantities(text: str) -> Iterator[Token]:
    """Numbers, alone and with their unit, percentages and ISO dates in normalised text, with their offsets.

    Plain Arabic numbers and lone Chinese numerals without a unit are left to the words around them.
    """
    for match in _CHINESE_QUANTITY.finditer(text):
        unit, numeral = match["unit"] or "", match["numeral"]
        if (unit and not _is_phrase(text, match)) or len(numeral) > 1:
            number = read_numeral(numeral)
            yield number, match.start(), match.end("numeral")
            if unit:
                yield number + unit, match.start(), match.end()
    for match in _CHINESE_PERCENT.finditer(text):
        yield read_numeral(match["numeral"]) + "%", match.start(), match.end()
    if _DIGIT.search(text):
        yield from _arabic_quantities(text)


def _is_phrase(text: str, match: re.Match[str]) -> bool:
    """一个, 一种, 一次 … are articles and 统一, 万一 are words; only a lone 一 behaves like that."""
    return (match["numeral"] in {"一", "万", "千", "百"} and match["unit"] in "个种次位点项段间成") or (
        match["numeral"] == "一" and text[match.start() - 1 : match.start()] in {"统", "唯", "单", "同"}
    )


def _arabic_quantities(text: str) -> Iterator[Token]:
    for match in _ARABIC_QUANTITY.finditer(text):
        if match["group"] or match["unit"]:
            number = _scaled(match["number"], match["group"])
            if match["group"]:
                yield number, match.start(), match.end("group")
            if match["unit"]:
                yield number + match["unit"], match.start(), match.end()
    for match in _PERCENT.finditer(text):
        yield match["number"] + match["unit"].lower(), match.start(), match.end()
    for match in _WORD_UNIT.finditer(text):
        unit = match["unit"].lower()
        yield match["number"] + (unit.rstrip("s") if len(unit) > 2 else unit), match.start(), match.end()
    for match in _DATE.finditer(text):
        year, month, day = match.groups()
        date = f"{year}-{int(month):02}-{int(day):02}"
        if date != match[0]:
            yield date, match.start(), match.end()


def _scaled(number: str, group: str) -> str:
    factor = 1
    for character in group:
        factor *= _SCALES.get(character) or _GROUPS[character]
    if factor == 1:
        return number
    whole, _, fraction = number.partition(".")
    scaled = int(whole + fraction) * factor
    divisor = 10 ** len(fraction)
    return str(scaled // divisor) if scaled % divisor == 0 else str(scaled / divisor)
