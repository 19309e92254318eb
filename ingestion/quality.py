"""How well a version was read: one verdict with its reasons, the state of each page, and sentences for all of it.

The parser counts; nothing here looks at the file. `judge` alone decides the verdict, which is stored with the version so
that lists filter and sort by it.

A page scores 1 when it was read well, 0 when nothing of it was read, TABLE when its tables lost their cells, DOUBT when
its text looks garbled, and the confidence of its recognition when that stays below SURE. `share` is the mean over the
pages; a file without pages scores the share of its characters that can be read.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ingestion.models import DocumentVersion, Verdict
from ingestion.parsing.elements import ParsedDocument, PartRole
from ingestion.parsing.errors import warning_text
from ingestion.parsing.page_numbers import MOST_PAGES, pages_named, spans

WELL_FROM = 0.95  # of `share`: below, a version is read in part
BADLY_BELOW = 0.7
GARBLE_PARTLY, GARBLE_BADLY = 0.05, 0.2  # of all characters
SURE = 0.8  # mean confidence of recognised text from which it counts as read
LEAST_RECOGNISED = (
    20  # characters a page: a picture that gives fewer was hardly read, however sure of them it is
)
DOUBT, TABLE = 0.4, 0.8

LACKING = frozenset(
    [
        "pages_without_text",
        "pages_failed",
        "pages_garbled",
        "repaired",
        "parts_skipped",
        "winmail",
        "members_damaged",
        "too_many_parts",
    ]
    + [f"attachments_{why}" for why in ("unsupported", "encrypted", "not_allowed", "too_deep", "too_many")]
)
NO_TEXT = frozenset({"no_text", "no_text_layer"})
LOST, GARBLED, TABLES = ("pages_without_text", "pages_failed"), "pages_garbled", "tables_failed"
EARLIEST = datetime(1980, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """share: 0..1, how much was read well."""

    verdict: Verdict
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PageState:
    """One page. state: "well", "doubtful", "lost" or "empty"; characters: None when they were not counted."""

    number: int
    state: str
    score: float
    characters: int | None = None
    confidence: float | None = None
    problem: str = ""

    @property
    def is_recognised(self) -> bool:
        return self.confidence is not None


def report_of(parsed: ParsedDocument) -> dict[str, Any]:
    """What is stored with the version: the parser's counts, and what its elements and parts say beside them."""
    confidences: dict[int, list[float]] = {}
    for element in parsed.elements:
        if element.confidence is not None and element.page is not None:
            confidences.setdefault(element.page, []).append(element.confidence)
    recognised = {
        str(page): round(sum(values) / len(values), 3) for page, values in sorted(confidences.items())
    }
    attachments = [part.name for part in parsed.parts if part.role is PartRole.ATTACHMENT]
    return {
        **asdict(parsed.quality),
        "recognised": recognised,
        "attachments": len(attachments),
    }


def judge(report: Mapping[str, Any], *, reason_code: str = "") -> Judgement:
    """The verdict on a version by what `report_of` gave, or by the reason why nothing was taken from its file."""
    if reason_code in NO_TEXT or not report.get("characters"):
        return Judgement(verdict=Verdict.UNREAD, share=0.0)
    garbled = float(report.get("garble_ratio") or 0.0)
    share = _share(report, garbled)
    if share < BADLY_BELOW or garbled >= GARBLE_BADLY or _is_hardly_recognised(report):
        return Judgement(verdict=Verdict.BADLY, share=share)
    if share < WELL_FROM or garbled >= GARBLE_PARTLY or _warned(report) & LACKING:
        return Judgement(verdict=Verdict.PARTLY, share=share)
    return Judgement(verdict=Verdict.WELL, share=share)


def _share(report: Mapping[str, Any], garbled: float) -> float:
    pages = int(report.get("pages") or 0)
    if not pages:
        return round(max(0.0, 1 - garbled) * _score(report.get("ocr_confidence")), 4)
    shown = pages_of(report)
    unseen = pages - len(shown)
    return round((sum(page.score for page in shown) + unseen) / pages, 4)


def _is_hardly_recognised(report: Mapping[str, Any]) -> bool:
    """Whether a file of pictures alone gave next to no text."""
    pages = int(report.get("pages") or 1)
    is_pictures = (report.get("ocr_pages") or 0) >= pages
    return is_pictures and int(report.get("characters") or 0) < LEAST_RECOGNISED * pages


def _score(confidence: float | None) -> float:
    return 1.0 if confidence is None or confidence >= SURE else max(0.0, float(confidence))


def lacks_parts(report: Mapping[str, Any]) -> bool:
    """Whether some of the file's text is not in the index; other warnings are about form."""
    return bool(_warned(report) & LACKING)


def _warned(report: Mapping[str, Any]) -> set[str]:
    return {warning.partition(":")[0] for warning in report.get("warnings", ())}


# --- pages ------------------------------------------------------------------------------------------------


def pages_of(report: Mapping[str, Any]) -> list[PageState]:
    """Each page of a file that has pages, at most MOST_PAGES of them."""
    count = min(report.get("pages") or 0, MOST_PAGES)
    problems = _page_problems(report)
    characters = report.get("page_characters") or ()
    recognised = report.get("recognised") or {}
    return [
        _page(
            number,
            problems.get(number, ""),
            characters[number - 1] if number <= len(characters) else None,
            recognised.get(str(number)),
        )
        for number in range(1, count + 1)
    ]


def _page(number: int, problem: str, characters: int | None, confidence: float | None) -> PageState:
    facts: dict[str, Any] = {"number": number, "characters": characters, "confidence": confidence}
    if problem in LOST:
        return PageState(state="lost", score=0.0, problem=problem, **facts)
    if problem == GARBLED:
        return PageState(state="doubtful", score=DOUBT, problem=problem, **facts)
    if confidence is not None and confidence < SURE:
        return PageState(state="doubtful", score=_score(confidence), problem="uncertain", **facts)
    if problem == TABLES:
        return PageState(state="doubtful", score=TABLE, problem=problem, **facts)
    return PageState(state="empty" if characters == 0 else "well", score=1.0, **facts)


def _page_problems(report: Mapping[str, Any]) -> dict[int, str]:
    """Page -> the worst that a warning says of it."""
    found: dict[int, str] = {}
    warnings = [warning.partition(":") for warning in report.get("warnings", ())]
    for code in (TABLES, GARBLED, *LOST):  # the worst last
        for warned, _colon, value in warnings:
            if warned == code:
                found |= dict.fromkeys(pages_named(value), code)
    return found


# --- in words ---------------------------------------------------------------------------------------------


def reasons_of(version: DocumentVersion) -> list[str]:
    """What to know of how it was read, a sentence each: first what is missing, then what is uncertain or of form."""
    report = version.quality or {}
    lacking: list[str] = []
    of_form: list[str] = []
    for warning in report.get("warnings", ()):
        (lacking if warning.partition(":")[0] in LACKING else of_form).append(warning_text(warning))
    return list(dict.fromkeys([*lacking, *_doubts(report), *of_form]))


def _doubts(report: Mapping[str, Any]) -> list[str]:
    """What was read and may be wrong."""
    sentences: list[str] = []
    unsure = [page.number for page in pages_of(report) if page.problem == "uncertain"]
    if unsure:
        sentences.append(
            ngettext(
                "Text on page %(pages)s was recognised in pictures and is uncertain.",
                "Text on pages %(pages)s was recognised in pictures and is uncertain.",
                len(unsure),
            )
            % {"pages": spans(unsure)}
        )
    elif (report.get("ocr_confidence") or 1.0) < SURE:
        sentences.append(_("The text was recognised in pictures and is uncertain."))
    if report.get("characters") and _is_hardly_recognised(report):
        sentences.append(_("Hardly any text was found in the pictures."))
    if (garbled := report.get("garble_ratio") or 0.0) >= GARBLE_PARTLY:
        sentences.append(_("%(share)s of the characters cannot be read.") % {"share": percent(garbled)})
    return sentences


def verdict_text(version: DocumentVersion) -> str:
    """The verdict in words: "Read well", or "Read in part: …" with the first reason."""
    if not version.verdict:
        return ""
    label = str(Verdict(version.verdict).label)
    reasons = reasons_of(version) if version.verdict in (Verdict.PARTLY, Verdict.BADLY) else []
    if not reasons:
        return label
    text = _("%(verdict)s: %(reason)s") % {"verdict": label, "reason": reasons[0]}
    rest = len(reasons) - 1
    if not rest:
        return text
    more = ngettext("and %(n)d more", "and %(n)d more", rest) % {"n": rest}
    return f"{text} ({more})"


def percent(share: float) -> str:
    """ "98 %" as the page writes it; never 100 for what is not whole, nor 0 for what is not nothing."""
    value = 100 * share
    if 99 < value < 100:
        return f"{math.floor(value * 10) / 10:.1f}%"
    return f"{value:.1f}%" if 0 < value < 1 else f"{value:.0f}%"


def pages_read(version: DocumentVersion) -> tuple[int, int] | None:
    """(pages of which nothing is missing, all pages) for a file with pages."""
    total = version.page_count or 0
    if not total:
        return None
    lost = sum(page.state == "lost" for page in pages_of(version.quality or {}))
    return total - lost, total


# --- the file's own dates -----------------------------------------------------------------------------------


def moment_of(text: str) -> datetime | None:
    """A file's own date, ISO 8601; None for what is none, and for what cannot be: before 1980, or still to come."""
    try:
        moment = parse_datetime(text)
        if moment is None and (day := parse_date(text)):
            moment = datetime(day.year, day.month, day.day)
        if moment is not None and timezone.is_naive(moment):
            moment = timezone.make_aware(moment)
        is_likely = moment is not None and EARLIEST <= moment <= timezone.now() + timedelta(days=1)
    except (ValueError, OverflowError):
        return None
    return moment if is_likely else None
