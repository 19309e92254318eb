"""Characters of symbol fonts, which have no meaning outside their font, as the signs that they show."""

_FONTS = {
    "wingdings": dict(
        zip(b"\x6e\x6f\x71\x72\x6c\xa1\xa7\xa8\xd8\xe0\xfb\xfc\xfd\xfe", "■□□□●○▪□➢→✗✓☒☑", strict=True)
    ),
    "wingdings 2": dict(zip(b"\x4f\x50\x51\x52\x53\x54\xa2\xa3", "✗✓☒☑☒☒■□", strict=True)),
    "symbol": dict(
        zip(
            b"ABGDEZHQIKLMNXOPRSTUFCYWabgdezhqiklmnxoprstufcyw",
            "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩαβγδεζηθικλμνξοπρστυφχψω",
            strict=True,
        )
    )
    | dict(
        zip(
            b"\xa3\xa5\xac\xad\xae\xaf\xb0\xb1\xb3\xb4\xb6\xb7\xb8\xb9\xba\xbb\xc5\xce\xd1\xd6\xd7\xde\xe5",
            "≤∞←↑→↓°±≥×∂•÷≠≡≈⊕∈∇√⋅⇒∑",
            strict=True,
        )
    ),
}


def symbol(font: str, code: str) -> str:
    """The sign that a font shows for a character (hexadecimal, often in the private range F000); "" for an unknown one."""
    try:
        number = int(code, 16)
    except ValueError:
        return ""
    signs = _FONTS.get(font.strip().lower(), {})
    if 0xF000 <= number <= 0xF0FF or number in signs:
        sign = signs.get(number & 0xFF, "")
        return sign or (
            chr(number & 0xFF) if signs and 0x20 <= number & 0xFF < 0x7F and font.lower() == "symbol" else ""
        )
    return chr(number) if 0x20 <= number < 0xD800 else ""
