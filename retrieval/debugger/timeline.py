"""The waterfall: the spans of a trace as bars over an axis, of the whole run or of one step. Pure geometry, no drawing."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

SEARCH, CHANNEL, MODEL, ACCESS, OTHER = 1, 2, 3, 5, 6  # colours of `fill…` and `dot d…`
STEPS: dict[str, tuple[StrOrPromise, int]] = {
    "understand": (_("Understand the question"), MODEL),
    "recall": (_("Recall"), SEARCH),
    "scope": (_("Access scope"), ACCESS),
    "cache": (_("Remembered rankings"), OTHER),
    "words": (_("Weights of the words"), OTHER),
    "lexical": (_("Keywords"), CHANNEL),
    "dense": (_("Meaning"), CHANNEL),
    "embed": (_("Embed the question"), MODEL),
    "wait_for_vector": (_("Wait for its vector"), MODEL),
    "signals": (_("Evidence of each"), OTHER),
    "rank": (_("Merge and sort"), SEARCH),
    "faq": (_("FAQ"), CHANNEL),
    "external": (_("External sources"), CHANNEL),
    "rerank": (_("Re-rank"), MODEL),
    "spread": (_("Variety"), OTHER),
    "parts": (_("Parts of the question"), SEARCH),
    "direct": (_("Known answers"), OTHER),
    "hydrate": (_("Access re-check, texts"), ACCESS),
}
GROUPS: dict[int, StrOrPromise] = {
    SEARCH: _("Search"),
    CHANNEL: _("One channel"),
    ACCESS: _("Access"),
    MODEL: _("Models"),
    OTHER: _("Other"),
}
TICK_MS = 20.0  # of the zoomed axis
MOST_INTERVALS = 6
SHORTEST = 1.5  # per cent of the axis; what is shorter gets a tick with its value


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """x and width: per cent of the axis, as SVG attributes. is_late: its value is written on the left."""

    label: StrOrPromise
    note: str
    kind: int
    is_sub: bool
    x: str
    width: str
    ms: float
    is_short: bool
    is_late: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """labels: of the axis, evenly spaced. lines: (per cent, whether it stands between two labels)."""

    bars: tuple[Bar, ...]
    labels: tuple[str, ...]
    lines: tuple[tuple[str, bool], ...]
    groups: tuple[tuple[int, StrOrPromise], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of the run in milliseconds."""

    begin: float
    end: float


def window_of(spans: Sequence[Mapping[str, Any]], step: str) -> Window | None:
    """From the beginning of the first to the end of the last span of this step, to full ticks; None without one."""
    found = [span for span in spans if span["step"] == step]
    if not found:
        return None
    begin = min(span["start_ms"] for span in found)
    end = max(span["start_ms"] + span["ms"] for span in found)
    return Window(begin=math.floor(begin / TICK_MS) * TICK_MS, end=math.ceil(end / TICK_MS) * TICK_MS)


def timeline(
    spans: Sequence[Mapping[str, Any]],
    *,
    total_ms: float,
    zoom: Window | None = None,
    notes: Mapping[str, str] | None = None,
) -> Timeline:
    """Bars in the order in which the steps began. zoom: only what lies in it; notes: a few words by step."""
    axis = _zoomed(zoom) if zoom else _whole(total_ms)
    ordered = sorted(spans, key=lambda span: (span["start_ms"], span["depth"]))
    bars = tuple(
        _bar(span, axis, (notes or {}).get(span["step"], ""))
        for span in ordered
        if span["start_ms"] + span["ms"] >= axis.begin and span["start_ms"] <= axis.end
    )
    present = {bar.kind for bar in bars}
    groups = tuple((kind, label) for kind, label in GROUPS.items() if kind in present)
    return Timeline(bars=bars, labels=axis.labels(), lines=axis.lines(), groups=groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """step: between two labels. tick: between two lines."""

    begin: float
    end: float
    step: float
    tick: float

    def labels(self) -> tuple[str, ...]:
        count = round((self.end - self.begin) / self.step)
        values = [self.begin + number * self.step for number in range(count + 1)]
        return (*(f"{value:g}" for value in values[:-1]), f"{values[-1]:g} ms")

    def lines(self) -> tuple[tuple[str, bool], ...]:
        count = round((self.end - self.begin) / self.tick)
        share = round(self.step / self.tick)
        return tuple((f"{100 * number / count:.2f}%", bool(number % share)) for number in range(1, count))

    def place(self, value: float) -> float:
        return 100 * (min(max(value, self.begin), self.end) - self.begin) / (self.end - self.begin)


def _whole(total_ms: float) -> _Axis:
    step = _nice(max(total_ms, 1.0) / 5)
    end = step * math.ceil(max(total_ms, 1.0) / step)
    return _Axis(begin=0.0, end=end, step=step, tick=step)


def _zoomed(window: Window) -> _Axis:
    """Lines every TICK_MS, unless there would be more of them than can be told apart."""
    length = max(window.end - window.begin, TICK_MS)
    tick = TICK_MS if length <= 30 * TICK_MS else _nice(length / 20)
    step = tick * math.ceil(length / tick / MOST_INTERVALS)
    return _Axis(begin=window.begin, end=window.begin + step * math.ceil(length / step), step=step, tick=tick)


def _nice(value: float) -> float:
    """The least of 1, 2, 5, 10, 20, … that is not below the value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * 0.999)


def _bar(span: Mapping[str, Any], axis: _Axis, note: str) -> Bar:
    name = span["step"]
    label, kind = STEPS.get(name) or (name.replace("_", " "), CHANNEL if name.startswith("ext:") else OTHER)
    begin, end = axis.place(span["start_ms"]), axis.place(span["start_ms"] + span["ms"])
    return Bar(
        label=label,
        note=note,
        kind=kind,
        is_sub=span["depth"] > 0,
        x=f"{begin:.2f}%",
        width=f"{end - begin:.2f}%",
        ms=span["ms"],
        is_short=end - begin < SHORTEST,
        is_late=begin > 80,
    )
