import pytest

from kb_platform.json_values import MAX_DEPTH, is_usable


def nested(levels: int) -> object:
    value: object = 1
    for _level in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("value", [None, [], {}, {"a": [1, "x", 2.5, {"b": None}]}, nested(MAX_DEPTH - 1)])
def test_what_json_is_for_is_usable(value):
    assert is_usable(value, storable_texts=True)


@pytest.mark.parametrize(
    "value", [float("inf"), [float("nan")], {"a\x00": 1}, {"a": {"\ud800": 1}}, nested(MAX_DEPTH)]
)
def test_what_nothing_could_store_or_give_back_is_not(value):
    assert not is_usable(value)


@pytest.mark.parametrize("text", ["a\x00", "\ud800"])
def test_texts_may_be_cleaned_later_unless_they_are_stored_as_they_are(text):
    assert is_usable({"a": [text]})
    assert not is_usable({"a": [text]}, storable_texts=True)
