"""What a run was made with, in words: the settings, those set for it alone first, index, person, conditions, verdict."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from ingestion.models import IndexGeneration
from retrieval.debugger.knobs import knob_settings
from retrieval.search_settings import current
from retrieval.tracing import ShownTrace

VERDICTS: dict[str, tuple[StrOrPromise, str]] = {  # words, class of the tag
    "enough": (gettext_lazy("Enough to answer"), "t-ok"),
    "weak": (gettext_lazy("Weak"), "t-warn"),
    "none": (gettext_lazy("Not enough to answer"), "t-bad"),
}
UNDERSTOOD: dict[str, StrOrPromise] = {
    "text": gettext_lazy("Read as"),
    "search_text": gettext_lazy("Searched for"),
    "conditions": gettext_lazy("Conditions in it"),
    "removed": gettext_lazy("Conditions not applied"),
    "parts": gettext_lazy("Parts of the question"),
}
KNOWN: dict[str, StrOrPromise] = {
    "faq": gettext_lazy("FAQ"),
    "table": gettext_lazy("Rows of a table"),
    "catalogue": gettext_lazy("List of documents"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedSetting:
    """now: what holds for everybody, "" when it is the same. is_changed: set for this run alone."""

    label: StrOrPromise
    value: str
    now: str
    is_changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """cosine, coverage: what the verdict rests on, None where that is not known or not told."""

    settings: tuple[UsedSetting, ...]
    generation: IndexGeneration | None
    conditions: tuple[tuple[str, str], ...]
    is_cached: bool
    verdict: StrOrPromise
    verdict_kind: str
    cosine: float | None
    coverage: float | None
    rewrites: tuple[tuple[str, str], ...]

    @property
    def changed(self) -> tuple[UsedSetting, ...]:
        return tuple(setting for setting in self.settings if setting.is_changed)


def used_by(shown: ShownTrace) -> Used:
    trace = shown.trace
    measures = shown.explanations.get("evidence") or {}
    verdict, kind = VERDICTS.get(shown.evidence, ("", ""))
    settings = sorted(_settings(trace.settings, set(trace.changed)), key=lambda one: not one.is_changed)
    return Used(
        settings=tuple(settings),
        generation=IndexGeneration.objects.filter(number=trace.generation).first(),
        conditions=tuple(
            (name, _text(value)) for name, value in trace.filters.items() if name != "collections"
        ),
        is_cached=bool(shown.explanations.get("cached")),
        verdict=verdict,
        verdict_kind=kind,
        cosine=measures.get("cosine"),
        coverage=measures.get("coverage"),
        rewrites=tuple(_rewrites(shown.explanations)),
    )


def _settings(values: Mapping[str, Any], changed: set[str]) -> Iterable[UsedSetting]:
    """Values of knobs that no longer exist are left out."""
    now = current()
    for setting in knob_settings():
        if setting.field not in values:
            continue
        try:
            value = setting.clean(values[setting.field])
        except ValueError:
            continue
        held = getattr(now, setting.field)
        is_changed = setting.field in changed
        differs = is_changed or (value != held and setting.field != "cache_seconds")
        yield UsedSetting(
            label=setting.label,
            value=setting.shown(value),
            now=setting.shown(held) if differs and value != held else "",
            is_changed=is_changed,
        )


def _rewrites(explanations: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """What was understood of the question, and whether its answer was known."""
    understood = explanations.get("understanding")
    if isinstance(understood, Mapping):
        for name, label in UNDERSTOOD.items():
            if value := understood.get(name):
                yield (
                    str(label),
                    _text([_condition(one) for one in value] if isinstance(value, list) else value),
                )
    direct = explanations.get("direct")
    if isinstance(direct, Mapping):
        kind = str(direct.get("kind", ""))
        yield _("Known answer"), str(KNOWN.get(kind, kind))


def _condition(one: Any) -> Any:
    """A condition in words; other things as they are."""
    return f"{one.get('label', '')}: {one.get('shown', '')}" if isinstance(one, Mapping) else one


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    if isinstance(value, Mapping):
        return " · ".join(f"{name}: {_text(inner)}" for name, inner in value.items())
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return str(value)
