"""Characters of symbol fonts."""

import pytest

from ingestion.parsing.symbols import symbol


@pytest.mark.parametrize(
    ("font", "code", "sign"),
    [
        ("Wingdings 2", "F052", "☑"),
        ("Wingdings 2", "00A3", "□"),
        ("Wingdings", "F0FE", "☑"),
        ("Symbol", "F061", "α"),
        ("Symbol", "F0B1", "±"),
        ("Webdings", "F061", ""),
        ("Arial", "2022", "•"),
        ("Arial", "", ""),
    ],
)
def test_signs_are_said_by_what_they_show(font: str, code: str, sign: str) -> None:
    assert symbol(font, code) == sign
