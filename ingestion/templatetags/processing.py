"""How processing reads: rounded times, bars, and the banner of a stage that nobody works on."""

from datetime import datetime

from django.template import Library
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ingestion import processing
from ingestion.models import IngestJob
from ingestion.processing import Stalled

register = Library()


@register.simple_tag
def stalled_stages() -> tuple[Stalled, ...]:
    return processing.stalled_stages()


@register.filter
def about(seconds: float | None) -> str:
    """A rounded length of time: "40 s", "3 min", "2 h"."""
    if seconds is None:
        return "—"
    if seconds < 60:
        return _("%(n)d s") % {"n": max(round(seconds), 1)}
    if seconds < 90 * 60:
        return _("%(n)d min") % {"n": round(seconds / 60)}
    return ngettext("%(n)d h", "%(n)d h", round(seconds / 3600)) % {"n": round(seconds / 3600)}


@register.filter
def ago(moment: datetime | None) -> str:
    """How long since, rounded as `about`."""
    return "—" if moment is None else about((timezone.now() - moment).total_seconds())


@register.filter
def progress_of(job: IngestJob) -> str:
    """How far a running job is, to stand after the name of its step; nothing while unknown."""
    if not job.progress_total:
        return ""
    counts = {"done": f"{job.progress_done:,}", "total": f"{job.progress_total:,}"}
    if job.progress_unit == "pages":
        return " · " + _("page %(done)s of %(total)s") % counts
    return " · " + _("%(done)s of %(total)s passages") % counts


@register.filter
def worker_kind(name: str) -> str:
    """ "parse" of "parse@host"."""
    return name.partition("@")[0]


@register.filter
def gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"


@register.filter
def precise(seconds: float) -> str:
    """As `about`, with tenths below ten seconds."""
    return _("%(n)s s") % {"n": f"{seconds:.1f}"} if seconds < 9.95 else about(seconds)


@register.filter
def rate(number: float) -> str:
    """A number a minute: whole from ten on."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


@register.filter
def percent_of(part: int, whole: int) -> str:
    """For an SVG attribute."""
    return f"{100 * part / whole:.2f}%" if whole else "0%"
