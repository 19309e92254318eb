"""One verdict for a version, by counts that are known; its reasons in words; the pages behind it."""

from datetime import date

import pytest

from ingestion.models import DocumentVersion, Verdict
from ingestion.parsing.elements import Element, Kind, ParsedDocument, Part, PartRole, Quality
from ingestion.quality import (
    judge,
    moment_of,
    pages_of,
    pages_read,
    percent,
    reasons_of,
    report_of,
    verdict_text,
)


def report(**counts):
    return {"characters": 1000, **counts}


@pytest.mark.parametrize(
    ("counts", "verdict", "share"),
    [
        ({"pages": 24, "page_characters": [40] * 24}, Verdict.WELL, 1.0),
        ({}, Verdict.WELL, 1.0),
        ({"characters": 0}, Verdict.UNREAD, 0.0),
        ({"pages": 20, "warnings": ["pages_without_text:3"]}, Verdict.PARTLY, 0.95),
        ({"pages": 10, "warnings": ["pages_failed:1-4"]}, Verdict.BADLY, 0.6),
        ({"pages": 10, "warnings": ["pages_garbled:1-5", "pages_failed:5"]}, Verdict.BADLY, 0.66),
        ({"garble_ratio": 0.06}, Verdict.PARTLY, 0.94),
        ({"garble_ratio": 0.3}, Verdict.BADLY, 0.7),
        ({"pages": 2, "recognised": {"1": 0.97, "2": 0.5}}, Verdict.PARTLY, 0.75),
        ({"ocr_confidence": 0.4}, Verdict.BADLY, 0.4),
        ({"characters": 10, "pages": 1, "ocr_pages": 1, "recognised": {"1": 0.99}}, Verdict.BADLY, 1.0),
        ({"warnings": ["parts_skipped:a.bin"]}, Verdict.PARTLY, 1.0),
        ({"warnings": ["deep_nesting"]}, Verdict.WELL, 1.0),
    ],
)
def test_the_verdict_follows_from_the_counts(counts, verdict, share):
    judgement = judge(report(**counts))
    assert (judgement.verdict, judgement.share) == (verdict, share)


def test_a_file_without_usable_text_is_judged_by_its_reason():
    assert judge({}, reason_code="no_text").verdict is Verdict.UNREAD


def test_pages_tell_what_is_wrong_with_them():
    pages = pages_of(
        report(
            pages=5,
            page_characters=[900, 0, 30, 700, 800],
            recognised={"4": 0.55, "5": 0.99},
            warnings=["pages_without_text:3", "tables_failed:3, 5"],
        )
    )
    assert [page.state for page in pages] == ["well", "empty", "lost", "doubtful", "doubtful"]
    assert [page.problem for page in pages] == ["", "", "pages_without_text", "uncertain", "tables_failed"]


def test_the_verdict_reads_as_a_sentence():
    version = DocumentVersion(
        verdict=Verdict.PARTLY,
        page_count=24,
        quality=report(pages=24, warnings=["pages_failed:3, 5"], recognised={"7": 0.5, "8": 0.5}),
    )
    assert verdict_text(version) == "Read in part: Pages 3, 5 could not be read. (and 1 more)"
    assert reasons_of(version)[1] == "Text on pages 7–8 was recognised in pictures and is uncertain."
    assert pages_read(version) == (22, 24)
    assert verdict_text(DocumentVersion(verdict=Verdict.WELL, quality=report())) == "Read well"
    assert verdict_text(DocumentVersion()) == ""


def test_the_report_counts_attachments_and_the_confidence_of_each_page():
    parsed = ParsedDocument(
        media_type="application/pdf",
        elements=(
            Element(kind=Kind.PARAGRAPH, text="a", page=1),
            Element(kind=Kind.PARAGRAPH, text="b", page=2, confidence=0.9),
            Element(kind=Kind.PARAGRAPH, text="c", page=2, confidence=0.7),
        ),
        quality=Quality(pages=2, characters=3),
        parts=(Part.of(PartRole.ATTACHMENT, b"x", name="a.xlsx"),),
    )
    stored = report_of(parsed)
    assert (stored["recognised"], stored["attachments"], stored["pages"]) == ({"2": 0.8}, 1, 2)


def test_percentages_never_round_to_whole_or_nothing():
    assert [percent(share) for share in (1, 0.9996, 0.914, 0.002, 0)] == [
        "100%",
        "99.9%",
        "91%",
        "0.2%",
        "0%",
    ]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-03-31T08:00:00+02:00", date(2024, 3, 31)),
        ("2024-03-31", date(2024, 3, 31)),
        ("1970-01-01", None),
        ("2999-01-01", None),
        ("2024-13-45", None),
        ("D:2024", None),
        ("", None),
    ],
)
def test_a_files_own_date_counts_only_when_it_can_be(text, day):
    moment = moment_of(text)
    assert (moment and moment.date()) == day
