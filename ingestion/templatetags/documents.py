"""How documents, versions and chunks read on a page: state, stage track, reasons. Formatting only."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.template import Context, Library
from django.urls import reverse
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_stubs_ext import StrOrPromise

from ingestion import families, quality, selectors
from ingestion.fields import shown_values
from ingestion.inspection import LogRow
from ingestion.listing import ListQuery
from ingestion.models import (
    UNFINISHED,
    BulkChange,
    Chunk,
    Document,
    DocumentVersion,
    IngestJob,
    MetadataField,
    UploadedFile,
    Verdict,
    VersionPart,
    VersionState,
)
from ingestion.parsing.elements import PartRole
from ingestion.reasons import reason_sentence, reason_text, refusal_text, retry_helps
from ingestion.uploads import BatchCounts
from kb_platform.templatetags.shell import language_name

register = Library()
MOST_ATTACHED = 50
FAILED = (VersionState.REJECTED, VersionState.QUARANTINED, VersionState.CANCELLED)
STAGES = (
    gettext_lazy("Upload"),
    gettext_lazy("Parse"),
    gettext_lazy("Split"),
    gettext_lazy("Embed"),
    gettext_lazy("Index"),
)
AT_STAGE = {
    VersionState.QUEUED: 1,
    VersionState.PARSING: 1,
    VersionState.CHUNKING: 2,
    VersionState.EMBEDDING: 3,
    VersionState.PUBLISHING: 4,
}
KINDS = {
    "text": gettext_lazy("Text"),
    "list": gettext_lazy("List"),
    "table": gettext_lazy("Table"),
    "code": gettext_lazy("Code"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StageMark:
    name: StrOrPromise
    css: str = ""
    told: StrOrPromise = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateMark:
    """A document's state as a tag; `extra` tells what became of a newer upload."""

    label: StrOrPromise
    kind: str = ""
    icon: str = "circle-dashed"
    extra: StrOrPromise = ""
    extra_css: str = "muted"


STATES = {
    "live": (gettext_lazy("Searchable"), "ok", "check"),
    "partly_live": (gettext_lazy("Partly searchable"), "warn", "alert-triangle"),
    "processing": (gettext_lazy("In processing"), "acc", "loader-2"),
    "rejected": (gettext_lazy("Rejected"), "bad", "x"),
    "quarantined": (gettext_lazy("Set aside"), "bad", "file-alert"),
    "archived": (gettext_lazy("Archived"), "", "archive"),
}


@register.filter
def is_unfinished(version: DocumentVersion | None) -> bool:
    return version is not None and version.state in UNFINISHED


@register.filter
def has_failed(version: DocumentVersion | None) -> bool:
    return version is not None and version.state in FAILED


@register.filter
def can_retry(version: DocumentVersion | None) -> bool:
    """Whether the version failed in a way that another try may mend."""
    return has_failed(version) and version is not None and retry_helps(version.reason_code)


@register.simple_tag
def document_state(document: Document) -> StateMark:
    """`document` comes from `selectors.documents_for`, which annotates its state."""
    label, kind, icon = STATES[document.state]  # type: ignore[attr-defined]
    latest = document.latest_version
    if latest is None or latest.pk == document.active_version_id or document.archived_at:
        return StateMark(label=label, kind=kind, icon=icon, extra=partly_read(document.active_version))
    extra: StrOrPromise = ""
    if document.active_version_id and latest.state in UNFINISHED:
        extra = _("Version %(n)d is being read") % {"n": latest.number}
    elif document.active_version_id and latest.state in FAILED:
        extra = _("Version %(n)d was not accepted") % {"n": latest.number}
    css = "bad" if latest.state in FAILED else "muted"
    return StateMark(label=label, kind=kind, icon=icon, extra=extra, extra_css=css)


@register.simple_tag
def stage_names() -> tuple[StrOrPromise, ...]:
    return STAGES


@register.simple_tag
def stage_track(version: DocumentVersion) -> list[StageMark]:
    """The five stages of a version: done, now, fail, flag, or still to come."""
    if version.state in FAILED:
        at = 3 if version.job.stage == IngestJob.Stage.EMBED else 1
        current, told = "fail", _("failed")
    elif version.state in AT_STAGE:
        at = AT_STAGE[VersionState(version.state)]
        current, told = ("now", _("running")) if version.state != VersionState.QUEUED else ("", _("waiting"))
    else:
        at, current, told = len(STAGES), "", ""
    marks = [StageMark(name=name, css="done", told=_("done")) for name in STAGES[:at]]
    if at < len(STAGES):
        marks.append(StageMark(name=STAGES[at], css=current, told=told))
    elif version.state == VersionState.PARTLY_LIVE:
        marks[1] = StageMark(name=STAGES[1], css="flag", told=_("partly"))
    return marks + [StageMark(name=name) for name in STAGES[at + 1 :]]


@register.filter
def progress_sentence(version: DocumentVersion) -> str:
    """One sentence on the present step with real counts, or why it ended."""
    if version.state in FAILED:
        return reason_text(version) or str(version.get_state_display())
    if version.state in (VersionState.LIVE, VersionState.SUPERSEDED):
        return _passages(version.chunk_count)
    if version.state == VersionState.PARTLY_LIVE:
        return f"{_passages(version.chunk_count)} · {reason_text(version) or _('parts could not be read')}"
    job = version.job
    if version.state == VersionState.EMBEDDING and job.progress_total:
        return _("Embedding %(done)d of %(total)d passages") % _counts(job)
    if version.state == VersionState.PARSING and job.progress_total:
        return _("Reading page %(done)d of %(total)d") % _counts(job)
    return str(WAITING_FOR[VersionState(version.state)])


WAITING_FOR = {
    VersionState.QUEUED: gettext_lazy("Waiting for its turn"),
    VersionState.PARSING: gettext_lazy("Reading the file"),
    VersionState.CHUNKING: gettext_lazy("Splitting into passages"),
    VersionState.EMBEDDING: gettext_lazy("Waiting for the embedder"),
    VersionState.PUBLISHING: gettext_lazy("Writing to the index"),
}


def _counts(job: IngestJob) -> dict[str, int]:
    return {"done": job.progress_done, "total": job.progress_total}


def _passages(count: int) -> str:
    return ngettext("Searchable · %(n)d passage", "Searchable · %(n)d passages", count) % {"n": count}


@register.filter
def kind_name(kind: str) -> str:
    """The name of a chunk's kind."""
    return str(KINDS.get(kind, kind))


@register.simple_tag
def source_url(document: Document, chunk: Chunk) -> str:
    """The viewer, opened at the passage."""
    place = {"from": chunk.first_element, "to": chunk.last_element}
    return f"{reverse('source', args=[document.uid])}?{urlencode(place)}#passage"


@register.filter
def quality_facts(version: DocumentVersion) -> list[tuple[str, Any]]:
    """Label and value pairs of the quality report; what does not apply to the file is left out."""
    report = version.quality or {}
    read = quality.pages_read(version)
    characters = report.get("characters") or 0
    facts: list[tuple[str, Any]] = []
    if read:
        facts.append((_("Pages read"), _("%(read)s of %(total)s") % _pair(*read)))
    facts.append((_("Characters"), _characters(characters, read)))
    if recognised := _recognised(report, version.page_count):
        facts.append((_("Recognised in pictures"), recognised))
    facts.append((_("Unreadable characters"), quality.percent(report.get("garble_ratio") or 0.0)))
    for name, label in (
        ("tables", _("Tables")),
        ("pictures", _("Pictures")),
        ("attachments", _("Attachments")),
    ):
        if report.get(name):
            facts.append((label, grouped(report[name])))
    facts.append((_("Passages"), grouped(version.chunk_count)))
    if language := language_name(version.language):
        facts.append((_("Language"), language))
    if version.encoding:
        facts.append((_("Encoding"), version.encoding))
    return facts


def _pair(done: int, total: int) -> dict[str, str]:
    return {"read": f"{done:,}", "total": f"{total:,}"}


def _characters(count: int, read: tuple[int, int] | None) -> str:
    if not read or not read[0]:
        return grouped(count)
    each = f"{round(count / read[0]):,}"
    return _("%(n)s, %(each)s a page") % {"n": grouped(count), "each": each}


def _recognised(report: Mapping[str, Any], pages: int | None) -> str:
    """How much was read by OCR, and how surely."""
    count, sure = report.get("ocr_pages") or 0, report.get("ocr_confidence")
    if not count and sure is None:
        return ""
    parts = []
    if pages:
        parts.append(ngettext("%(n)s page (%(share)s)", "%(n)s pages (%(share)s)", count))
        parts[0] %= {"n": f"{count:,}", "share": quality.percent(count / pages)}
    if sure is not None:
        parts.append(_("confidence %(share)s") % {"share": quality.percent(sure)})
    return " · ".join(parts)


@register.filter
def quality_notes(version: DocumentVersion) -> list[str]:
    """What the reader could not take in, or not surely, a sentence each."""
    return quality.reasons_of(version)


VERDICTS = {
    Verdict.WELL: ("ok", "check"),
    Verdict.PARTLY: ("warn", "alert-triangle"),
    Verdict.BADLY: ("bad", "file-alert"),
    Verdict.UNREAD: ("bad", "file-alert"),
}


@register.filter
def verdict_mark(version: DocumentVersion | None) -> "FileMark | None":
    """The verdict as a tag, with the whole of it in words; None for what has not been read."""
    if version is None or not version.verdict:
        return None
    verdict = Verdict(version.verdict)
    kind, icon = VERDICTS[verdict]
    return FileMark(label=verdict.label, kind=kind, icon=icon, text=quality.verdict_text(version))


@register.filter
def read_version(document: Document) -> DocumentVersion | None:
    """The version whose verdict counts for the document: the one that readers get, else the newest."""
    return document.active_version or document.latest_version


@register.filter
def read_percent(version: DocumentVersion) -> str:
    return "—" if version.read_share is None else quality.percent(version.read_share)


@register.filter
def partly_read(version: DocumentVersion | None) -> str:
    """ "22 of 24 pages" of a file with pages that is searchable in part; else nothing."""
    read = quality.pages_read(version) if version else None
    if read is None or read[0] == read[1]:
        return ""
    return _("%(read)s of %(total)s pages") % _pair(*read)


@register.filter
def change_text(change: BulkChange) -> str:
    """What a bulk change did, as a sentence."""
    n = len(change.before)
    sentences = {
        BulkChange.Action.MOVE: ngettext("%(n)s document moved.", "%(n)s documents moved.", n),
        BulkChange.Action.ARCHIVE: ngettext("%(n)s document archived.", "%(n)s documents archived.", n),
        BulkChange.Action.RESTORE: ngettext(
            "%(n)s document brought back.", "%(n)s documents brought back.", n
        ),
        BulkChange.Action.METADATA: ngettext(
            "Metadata of %(n)s document changed.", "Metadata of %(n)s documents changed.", n
        ),
        BulkChange.Action.DELETE: ngettext(
            "%(n)s document moved to the trash.", "%(n)s documents moved to the trash.", n
        ),
    }
    return sentences[BulkChange.Action(change.action)] % {"n": f"{n:,}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMark:
    """What became of an uploaded file, as a tag and a sentence."""

    label: StrOrPromise
    kind: str
    icon: str
    text: str = ""


@register.simple_tag
def file_state(entry: UploadedFile) -> FileMark:
    """`entry` comes from `uploads.files_of`."""
    if entry.outcome == UploadedFile.Outcome.REFUSED:
        return FileMark(label=_("Not taken"), kind="bad", icon="circle-x", text=refusal_text(entry))
    version = entry.version
    if version is None:
        return FileMark(label=_("Removed since"), kind="", icon="trash")
    text = progress_sentence(version)
    if entry.outcome == UploadedFile.Outcome.UNCHANGED and version.state not in UNFINISHED:
        return FileMark(label=_("Unchanged"), kind="acc", icon="copy", text=_("The same file as before."))
    label, kind, icon = VERSION_STATES[VersionState(version.state)]
    return FileMark(label=label, kind=kind, icon=icon, text=text)


_WORKING = (gettext_lazy("In processing"), "acc", "loader-2")
VERSION_STATES = {
    **dict.fromkeys((VersionState(state) for state in UNFINISHED), _WORKING),
    VersionState.QUEUED: (gettext_lazy("Waiting"), "", "clock"),
    VersionState.LIVE: STATES["live"],
    VersionState.PARTLY_LIVE: STATES["partly_live"],
    VersionState.SUPERSEDED: (gettext_lazy("Replaced since"), "", "history"),
    VersionState.REJECTED: STATES["rejected"],
    VersionState.QUARANTINED: STATES["quarantined"],
    VersionState.CANCELLED: (gettext_lazy("Cancelled"), "", "ban"),
}


@register.filter
def recordings(version: DocumentVersion | None) -> list[VersionPart]:
    """The sound and video that came with a version's subtitles."""
    return list(version.parts.filter(role=PartRole.RECORDING)) if version else []


@register.filter
def holders(document: Document) -> list[Document]:
    """The documents in whose files this one came, the outermost first. Whoever sees it sees them."""
    return families.above(document)


@register.simple_tag(takes_context=True)
def attached_to(context: Context, document: Document) -> dict[str, Any]:
    """The files inside a document's file: the first MOST_ATTACHED as `shown`, their number as `total`."""
    found = selectors.attached_to(context["request"].principal, document)
    shown = list(found[:MOST_ATTACHED])
    total = len(shown) if len(shown) < MOST_ATTACHED else found.count()
    return {"shown": shown, "total": total, "more": total - len(shown)}


@register.simple_tag
def version_state(version: DocumentVersion) -> FileMark:
    """A version's state as a tag, with the reason when it failed."""
    label, kind, icon = VERSION_STATES[VersionState(version.state)]
    return FileMark(label=label, kind=kind, icon=icon, text=reason_text(version))


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPart:
    """A part of a bar of 1000 units."""

    x: int
    width: int
    css: str
    dot: str
    label: StrOrPromise
    count: int


@register.filter
def outcome_bar(counts: BatchCounts) -> list[BarPart]:
    """The outcomes of a batch as parts of a bar, without the empty ones."""
    kinds = (
        ("fill2", "d2", _("Searchable"), counts.live),
        ("fill3", "d3", _("Partly searchable"), counts.partly),
        ("fill1", "d1", _("Already here"), counts.duplicates),
        ("fill4", "d4", _("Not taken"), counts.not_taken),
        ("fillbg", "dl", _("In processing"), counts.unfinished),
    )
    parts: list[BarPart] = []
    seen = 0
    total = max(sum(count for *_rest, count in kinds), 1)
    for css, dot, label, count in kinds:
        if count:
            x, end = round(1000 * seen / total), round(1000 * (seen + count) / total)
            parts.append(BarPart(x=x, width=end - x, css=css, dot=dot, label=label, count=count))
        seen += count
    return parts


STRIP_PAGES = 1000
STRIP_HEIGHT = 16
PAGE_CSS = {"well": "fill2", "doubtful": "fill3", "lost": "fill4", "empty": "fillbg"}
PAGES_LINKED = 60


@register.filter
def page_strip(version: DocumentVersion) -> list[dict[str, Any]]:
    """One bar a page, as high as the page has characters. Empty for files without pages or with very many."""
    if not version.page_count or version.page_count > STRIP_PAGES:
        return []
    pages = quality.pages_of(version.quality or {})
    most = max((page.characters or 0 for page in pages), default=0)
    return [_bar(page, most) for page in pages]


def _bar(page: quality.PageState, most: int) -> dict[str, Any]:
    css = PAGE_CSS[page.state]
    if page.is_recognised and page.state == "well":
        css = "fill1"
    height = STRIP_HEIGHT
    if most and page.characters and page.state != "lost":
        height = max(3, round(STRIP_HEIGHT * page.characters / most))
    return {
        "x": 10 * (page.number - 1),
        "y": STRIP_HEIGHT - height,
        "height": height,
        "css": css,
        "number": page.number,
    }


@register.filter
def page_legend(version: DocumentVersion) -> list[tuple[str, str]]:
    """A dot and words with a count for each state that pages of the file are in."""
    counts = Counter(_state_shown(page) for page in quality.pages_of(version.quality or {}))
    words = (
        ("well", "d2", _("read well")),
        ("recognised", "d1", _("recognised in pictures")),
        ("doubtful", "d3", _("in doubt")),
        ("lost", "d4", _("not read")),
        ("empty", "dl", _("without text")),
    )
    return [(dot, f"{counts[state]:,} {text}") for state, dot, text in words if counts[state]]


def _state_shown(page: quality.PageState) -> str:
    return "recognised" if page.is_recognised and page.state == "well" else page.state


@register.filter
def pages_to_check(version: DocumentVersion) -> list[quality.PageState]:
    """The pages that were lost or are in doubt, the first of them."""
    pages = quality.pages_of(version.quality or {})
    return [page for page in pages if page.state in ("lost", "doubtful")][:PAGES_LINKED]


@register.filter
def page_problem(page: quality.PageState) -> str:
    """What is wrong with a page, in two or three words."""
    problems = {
        "pages_without_text": _("no text"),
        "pages_failed": _("not read"),
        "pages_garbled": _("garbled"),
        "tables_failed": _("table as plain text"),
    }
    if page.problem == "uncertain" and page.confidence is not None:
        return _("recognised at %(share)s") % {"share": quality.percent(page.confidence)}
    return problems.get(page.problem, "")


STEP_NAMES = {
    "received": gettext_lazy("Upload"),
    "parsing": gettext_lazy("Parse"),
    "chunking": gettext_lazy("Split"),
    "embedding": gettext_lazy("Embed and index"),
    "publishing": gettext_lazy("Index"),
    "ended": gettext_lazy("End"),
}
OUTCOMES = {
    "done": (gettext_lazy("Done"), "ok", "check"),
    "running": (gettext_lazy("Running"), "acc", "loader-2"),
    "interrupted": (gettext_lazy("Interrupted"), "warn", "alert-triangle"),
    "failed": (gettext_lazy("Failed"), "bad", "x"),
    "cancelled": (gettext_lazy("Cancelled"), "", "ban"),
}
LOG_NOTES = {
    "reread": gettext_lazy("Read again on request"),
    "retried": gettext_lazy("Tried again on request"),
    "failed_once": gettext_lazy("The work failed; it is tried again"),
    "surroundings": gettext_lazy("The database went away; taken up again"),
    "no_space": gettext_lazy("A disk is full or cannot be written; taken up again once there is room"),
    "no_model": gettext_lazy("The embedding model does not answer; taken up again"),
    "made_way": gettext_lazy("Takes long; went behind shorter files"),
}


@register.filter
def step_name(row: LogRow) -> str:
    return str(STEP_NAMES.get(row.stage, row.stage))


@register.simple_tag
def step_state(row: LogRow) -> FileMark:
    label, kind, icon = OUTCOMES[row.outcome]
    return FileMark(label=label, kind=kind, icon=icon, text=_step_note(row))


def _step_note(row: LogRow) -> str:
    if row.outcome == "interrupted" and not row.reason_code:
        return _("The worker stopped; taken up again")
    if not row.reason_code:
        return ""
    if row.reason_code in LOG_NOTES:
        return str(LOG_NOTES[row.reason_code])
    return reason_sentence(row.reason_code, row.reason_params or {})


@register.filter
def step_counts(row: LogRow) -> str:
    """How much a step did, when it was counted."""
    if not row.done:
        return ""
    sentences = {
        "chunks": ngettext("%(n)s passage", "%(n)s passages", row.done),
        "pages": ngettext("%(n)s page", "%(n)s pages", row.done),
        "elements": ngettext("%(n)s element", "%(n)s elements", row.done),
    }
    return sentences.get(row.unit, "") % {"n": f"{row.done:,}"} if row.unit in sentences else ""


@register.filter
def duration(span: timedelta | float | None) -> str:
    """ "212 ms", "2.4 s", "6 min 12 s" or "3 h 08 min"."""
    if span is None:
        return "—"
    seconds = span.total_seconds() if isinstance(span, timedelta) else float(span)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return _("%(min)d min %(s)02d s") % {"min": minutes, "s": rest}
    return _("%(h)d h %(min)02d min") % {"h": minutes // 60, "min": minutes % 60}


@register.filter
def grouped(number: int | None) -> str:
    """A number grouped by commas in both languages."""
    return "—" if number is None else f"{number:,}"


@register.filter
def value_text(value: Any) -> str:
    """A value of an own field as people read it."""
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, int | float):
        return f"{value:,}"
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


@register.filter
def own_values(document: Document) -> list[tuple[str, Any]]:
    """Label and value of all that the document's metadata holds."""
    return [(label, _shown(field, value)) for label, field, value in shown_values(document)]


def _shown(field: MetadataField | None, value: Any) -> Any:
    """A date as a date, so that the page writes it in its own way."""
    if field is not None and field.kind == MetadataField.Kind.DATE and isinstance(value, str):
        return parse_date(value) or value
    return value_text(value)


@register.filter
def get(values: Mapping[Any, Any], key: Any) -> Any:
    return values.get(key)


@register.simple_tag
def sort_header(query: ListQuery, name: str) -> dict[str, str]:
    """Where a column's heading leads, and how it is sorted now."""
    now = query.order.removeprefix("-")
    backwards = query.order.startswith("-")
    if now != name:
        wanted = name if name in ("title", "quality") else f"-{name}"  # the worst read come first
        return {"order": wanted, "aria": "none", "arrow": ""}
    wanted = name if backwards else f"-{name}"
    return {
        "order": wanted,
        "aria": "descending" if backwards else "ascending",
        "arrow": "↓" if backwards else "↑",
    }


@register.filter
def chunk_places(chunk: Chunk) -> str:
    """The pages that a chunk stands on."""
    pages = sorted({box["page"] for box in chunk.boxes} | ({chunk.page} if chunk.page else set()))
    if not pages:
        return ""
    if len(pages) == 1:
        return _("p. %(n)d") % {"n": pages[0]}
    return _("pp. %(first)d–%(last)d") % {"first": pages[0], "last": pages[-1]}
