"""Text files that nest, stretch or carry characters that no storage likes."""

import json

CONTROLS = "".join(map(chr, [*range(1, 9), 11, 12, *range(14, 32), 127]))
HIDDEN = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
TURNED = "\u202eevitcerid\u202c \u2067עברית\u2069 \u202a\u202c"


def nested_html(depth: int) -> bytes:
    return b"<html><body>" + b"<div>" * depth + b"The bottom." + b"</div>" * depth


def nested_list(depth: int) -> bytes:
    return "".join(f"{'  ' * level}- level {level}\n" for level in range(depth)).encode()


def nested_json(depth: int) -> bytes:
    return b'{"a":' * depth + b'"bottom"' + b"}" * depth


def nested_code(depth: int) -> bytes:
    return b"def f():\n    return " + b"(" * depth + b"1" + b")" * depth + b"\n"


def nested_rtf(depth: int) -> bytes:
    return rb"{\rtf1\ansi " + b"{" * depth + rb"The bottom.\par " + b"}" * (depth + 1)


def wide_spans() -> bytes:
    """Cells that claim more columns and rows than any table has."""
    return (
        b"<table><tr><th>Fee</th><th>Tier</th></tr>"
        b'<tr><td colspan="100000000" rowspan="100000000">0.5 %</td><td>Tier B</td></tr>'
        + b'<tr><td colspan="65534" rowspan="65534">Quarterly</td></tr>' * 10
        + b"</table>"
    )


def cues(count: int) -> bytes:
    """Subtitles of `count` cues, as a broken recogniser writes them."""
    return b"WEBVTT\n\n" + b"00:00:01.000 --> 00:00:01.900\nso\n\n" * count


def minified(size: int) -> bytes:
    """A program in one line."""
    return (b"var a=1;function f(b){return b+a};" * (size // 34 + 1))[:size] + b"\n"


def lone_surrogates_json() -> bytes:
    return json.dumps({"name": "half \ud83d of a pair", "note": "\udc00 first"}).encode()


def many_headings(count: int) -> bytes:
    return "".join(f"{'#' * (number % 6 + 1)} Heading {number}\n\n" for number in range(count)).encode()
