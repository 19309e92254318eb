"""How documents, versions and chunks read on a page: state, stage track, reasons. Formatting only."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.template import Library
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_stubs_ext import StrOrPromise

from ingestion.models import UNFINISHED, Chunk, Document, DocumentVersion, IngestJob, VersionState
from ingestion.parsing.errors import warning_text
from ingestion.reasons import reason_text

register = Library()
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
    "processing": (gettext_lazy("Processing"), "acc", "loader-2"),
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


@register.simple_tag
def document_state(document: Document) -> StateMark:
    """`document` comes from `selectors.documents_for`, which annotates its state."""
    label, kind, icon = STATES[document.state]  # type: ignore[attr-defined]
    latest = document.latest_version
    if latest is None or latest.pk == document.active_version_id or document.archived_at:
        return StateMark(label=label, kind=kind, icon=icon)
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
    """Label and value pairs of the quality report."""
    report = version.quality or {}
    facts: list[tuple[str, Any]] = []
    if version.page_count:
        facts.append((_("Pages"), version.page_count))
    if report.get("pages_with_text") is not None and version.page_count:
        facts.append((_("Pages with text"), report["pages_with_text"]))
    if report.get("characters") is not None:
        facts.append((_("Characters"), f"{report['characters']:,}"))
    if report.get("tables"):
        facts.append((_("Tables"), report["tables"]))
    facts.append((_("Passages"), version.chunk_count))
    if garbled := report.get("garble_ratio"):
        facts.append((_("Unreadable characters"), f"{garbled:.1%}"))
    return facts


@register.filter
def quality_notes(version: DocumentVersion) -> list[str]:
    """What the reader could not take in, a sentence each."""
    return [warning_text(code) for code in (version.quality or {}).get("warnings", ())]
