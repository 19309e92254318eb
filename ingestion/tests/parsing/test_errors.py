"""Reasons become sentences that say what to do."""

import json

import pytest

from ingestion.parsing import errors
from ingestion.parsing.errors import Rejected, reason_text, warning_text


def test_every_sentence_renders_without_parameters_and_ends_as_one() -> None:
    for code in errors._REASONS:
        assert reason_text(code).endswith(".")
        assert "%(" not in reason_text(code)


def test_parameters_fill_the_sentence_and_survive_json() -> None:
    verdict = Rejected("wrong_name", named=".pdf", kind="7z archive")
    stored = json.loads(json.dumps(verdict.params))
    assert reason_text(verdict.code, stored) == (
        "The file is named .pdf but its content is 7z archive. Correct the name or upload the right file."
    )


def test_a_code_from_an_older_release_still_says_something() -> None:
    assert reason_text("gone_since", {"x": 1}) == "The file could not be read."


def test_an_unknown_code_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="unknown reason"):
        Rejected("no_such_code")


def test_warnings_name_their_pages() -> None:
    assert warning_text("pages_without_text:1–3").startswith("The text in the pictures of pages 1–3 ")
    assert warning_text("something else") == "something else"


def test_limits_and_kinds_are_told_in_the_readers_language() -> None:
    from django.utils import translation

    with translation.override("zh-hans"):
        assert "1,000 个工作表" in reason_text("too_large", {"limit": "1,000 sheets"})
        assert "纯文本" in reason_text("wrong_name", {"named": ".odt", "kind": "plain text"})
        assert "64 MB" in reason_text("too_large", {"limit": "64 MB"})
