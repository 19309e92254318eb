from datetime import UTC, datetime

import pytest

from kb_platform.errors import InvalidInput
from retrieval.filters import Filters, parse_filters


def test_no_condition_is_falsy():
    assert not parse_filters(None)
    assert not parse_filters({"doc_type": None})
    assert parse_filters({}, collections=["a"])


@pytest.mark.parametrize(
    "conditions",
    [
        {"colour": "red"},
        {"doc_type": []},
        {"doc_type": 5},
        {"tags": [""]},
        {"language": ["en"] * 500},
        {"modified_after": "yesterday"},
        {"modified_after": "2026-13-45"},
        {"modified_after": 5},
        {"metadata": "x"},
        {"metadata": {f"key {number}": 1 for number in range(21)}},
        {"metadata.a": {"b": 1}},
        {"metadata.a": {}},
        {"metadata.a": {"gte": None}},
        {"metadata.a": {"lt": True}},
        {"metadata.a": {"contains": 5}},
        {"metadata.a": {"gte": float("nan")}},
        {"metadata.a": []},
        {"metadata.a": float("inf")},
        {"metadata.a": [float("nan")]},
    ],
)
def test_what_cannot_be_used_is_refused_by_name(conditions):
    with pytest.raises(InvalidInput) as caught:
        parse_filters(conditions)
    assert list(caught.value.fields) == [f"filters.{next(iter(conditions))}"]


def test_an_empty_list_of_collections_is_refused_rather_than_taken_for_all():
    with pytest.raises(InvalidInput) as caught:
        parse_filters({}, collections=[])
    assert list(caught.value.fields) == ["collections"]


def test_dates_without_a_zone_are_in_the_zone_of_the_site():
    filters = parse_filters({"modified_after": "2026-03-31", "modified_before": "2026-04-01T08:00:00+08:00"})
    assert filters.modified_after == datetime(2026, 3, 31, tzinfo=UTC)
    assert filters.modified_before == datetime(2026, 4, 1, tzinfo=UTC)


def test_characters_that_the_database_cannot_hold_do_no_harm():
    filters = parse_filters({"department": "a\x00\ud800", "metadata.k": "\x00"})
    assert filters.department == ("a\ufffd?",)


def test_the_json_form_reads_back():
    filters = parse_filters(
        {
            "tags": ["a", "b"],
            "modified_after": "2026-03-31",
            "metadata.year": [2025, 2026],
            "metadata.no": {"gte": 1, "contains": "x"},
        },
        collections=["x"],
    )
    stated = filters.as_json()
    assert parse_filters(stated, collections=stated.pop("collections")) == filters
    assert Filters().as_json() == {}
