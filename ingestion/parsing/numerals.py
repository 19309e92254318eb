"""Numbers of lists in the digits of their format: figures, letters, Roman, Chinese."""

_ROMAN = ((100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
_COUNTING = ("零一二三四五六七八九", "十百")
_LEGAL = ("零壹贰叁肆伍陆柒捌玖", "拾佰")
_STEMS = "甲乙丙丁戊己庚辛壬癸"


def spelled(count: int, number_format: str) -> str:
    """A number in the digits of a list format; formats that are rare come out in figures."""
    lower = number_format.lower()
    if "legal" in lower:
        return _in_chinese(count, *_LEGAL)
    if (
        ("chinese" in lower and "circle" not in lower)
        or "ideographdigital" in lower
        or "japanesecounting" in lower
    ):
        return _in_chinese(count, *_COUNTING)
    if lower.startswith("ideographtraditional") and 1 <= count <= len(_STEMS):
        return _STEMS[count - 1]
    if "circle" in lower and 1 <= count <= 20:
        return chr(ord("①") + count - 1)
    if lower == "decimalzero":
        return f"{count:02}"
    if lower.endswith("letter") and 1 <= count <= 26 * 9:
        letter = chr(ord("a") + (count - 1) % 26) * (1 + (count - 1) // 26)
        return letter.upper() if lower.startswith("upper") else letter
    if lower.endswith("roman") and 1 <= count <= 399:
        return _in_roman(count).upper() if lower.startswith("upper") else _in_roman(count)
    return str(count)


def _in_roman(count: int) -> str:
    text = ""
    for size, sign in _ROMAN:
        text, count = text + sign * (count // size), count % size
    return text


def _in_chinese(count: int, digits: str, places: str) -> str:
    """Up to 999, as it is said: 十二, 一百零三, 一百一十."""
    if not 0 <= count <= 999:
        return str(count)
    hundreds, rest = divmod(count, 100)
    tens, ones = divmod(rest, 10)
    text = digits[hundreds] + places[1] if hundreds else ""
    if tens:
        text += ("" if tens == 1 and not hundreds else digits[tens]) + places[0]
    elif hundreds and ones:
        text += digits[0]
    return text + (digits[ones] if ones or not count else "")
