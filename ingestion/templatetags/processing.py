"""How processing reads: rounded times, bars, and the banner of a stage that nobody works on."""

from datetime import datetime

from django.template import Library
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ingestion import processing
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
def percent_of(part: int, whole: int) -> str:
    """For an SVG attribute."""
    return f"{100 * part / whole:.2f}%" if whole else "0%"
