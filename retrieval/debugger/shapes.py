"""A trace as pages show it: the funnel, the candidates with their texts, what the run used.

Texts and titles come through hydration as the viewer, at this moment; what it does not give is counted and not told.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_stubs_ext import StrOrPromise

from accounts.values import Principal
from retrieval.hydration import PageRequest, hydrate
from retrieval.results import EXTERNAL, REASONS
from retrieval.snippets import Segment, snippet
from retrieval.tracing import BESIDES, ShownTrace
from retrieval.values import Candidate, ChannelHit, Key, Passage

FUSED, RERANKED = "fusion", "rerank"  # stages that stand among the channels of a candidate
LABELS: dict[str, StrOrPromise] = {
    **REASONS,
    EXTERNAL: gettext_lazy("External sources"),
    FUSED: gettext_lazy("Merged"),
    RERANKED: gettext_lazy("Re-ranked"),
}
DROPPED: dict[str, StrOrPromise] = {
    "below_threshold": gettext_lazy("Below the least score"),
    "same_text": gettext_lazy("Same text as another"),
    "not_reranked": gettext_lazy("Behind what was re-ranked"),
}
PARTS: dict[str, StrOrPromise] = {
    "cosine": gettext_lazy("nearness"),
    "coverage": gettext_lazy("words"),
    "codes": gettext_lazy("codes"),
    "phrases": gettext_lazy("quoted phrases"),
    "is_foreign": gettext_lazy("other language"),
}
MOST_ROWS = 20
LEADING = 3  # ranks that are set off
MOST_WORDS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A step of the funnel. share: of the first stage, as an SVG attribute. is_warning: its note tells of a loss."""

    label: StrOrPromise
    count: int
    share: str
    note: str
    kind: int = 1
    is_warning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A candidate's rank in one channel, None where it was not found; score: as text, "" when it is not told."""

    name: str
    label: StrOrPromise
    rank: int | None
    score: str

    @property
    def is_leading(self) -> bool:
        return self.rank is not None and self.rank <= LEADING


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One candidate. passage: None for one from elsewhere, whose text is not kept. outcome: what became of it."""

    key: str
    rank: int
    passage: Passage | None
    segments: tuple[Segment, ...]
    places: tuple[Place, ...]
    score: str
    parts: tuple[tuple[StrOrPromise, str], ...]
    terms: tuple[str, ...]
    outcome: str
    is_shown: bool
    is_dropped: bool

    @property
    def heading(self) -> str:
        """The nearest heading above the passage that says more than the title."""
        path = self.passage.heading_path if self.passage else ()
        return next((part for part in reversed(path) if self.passage and part != self.passage.title), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """rows: best first. columns: labels of the channels. left_out: not open to the viewer, or changed since."""

    rows: tuple[Row, ...]
    columns: tuple[StrOrPromise, ...]
    left_out: int

    @property
    def best(self) -> tuple[Row, ...]:
        return self.rows[:MOST_ROWS]


def channels_of(trace: ShownTrace) -> list[str]:
    """The channels in which any candidate was found, and the stages after them, in a steady order."""
    found = {name for entry in trace.candidates for name in channel_values(entry)}
    known = [name for name in LABELS if name in found]
    others = sorted(found - set(known))
    stages = [name for name in known if name in (FUSED, RERANKED)]
    return [*(name for name in known if name not in stages), *others, *stages]


def channel_values(entry: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {name: value for name, value in entry.items() if name not in BESIDES and isinstance(value, list)}


def candidates(trace: ShownTrace, *, principal: Principal) -> Candidates:
    passages = _passages(trace, principal)
    names = channels_of(trace)
    rows = tuple(
        _row(entry, trace, names, passages.get(entry["chunk"]))
        for entry in trace.candidates
        if entry["chunk"] in passages or isinstance(entry["chunk"], str)
    )
    return Candidates(
        rows=rows,
        columns=tuple(_label(name) for name in names),
        left_out=len(trace.trace.candidates) - len(rows),
    )


def _passages(trace: ShownTrace, principal: Principal) -> dict[Key, Passage]:
    """What the viewer may read of it now, by the same lock as a search's own results."""
    ranking = [
        Candidate(
            chunk_id=entry["chunk"],
            score=entry.get("score") or 0.0,
            channels={
                name: ChannelHit(rank=value[0], score=value[1] or 0.0)
                for name, value in channel_values(entry).items()
            },
        )
        for entry in trace.candidates
        if isinstance(entry["chunk"], int)
    ]
    terms = {entry["chunk"]: tuple(entry.get("terms", ())) for entry in trace.candidates}
    everything = PageRequest(offset=0, limit=len(ranking) or 1, terms=terms)
    page = hydrate(ranking, everything, principal=principal, generation=trace.trace.generation)
    return {passage.chunk_id: passage for passage in page.passages}


def _row(entry: Mapping[str, Any], trace: ShownTrace, names: Sequence[str], passage: Passage | None) -> Row:
    key, terms = str(entry["chunk"]), tuple(entry.get("terms", ()))
    outcome, is_shown = _outcome(key, trace)
    return Row(
        key=key,
        rank=entry["rank"],
        passage=passage,
        segments=tuple(snippet(passage.text, terms)) if passage else (),
        places=tuple(_place(name, channel_values(entry).get(name)) for name in names),
        score=_number(entry.get("score")),
        parts=tuple(_parts(entry.get("signal") or {})),
        terms=terms[:MOST_WORDS],
        outcome=outcome,
        is_shown=is_shown,
        is_dropped=key in trace.dropped,
    )


def _outcome(key: str, trace: ShownTrace) -> tuple[str, bool]:
    if key in trace.shown:
        return f"[{trace.trace.offset + trace.shown.index(key) + 1}]", True
    above = trace.explanations["same_text"].get(key)
    if above is not None:
        ranks = {str(entry["chunk"]): entry["rank"] for entry in trace.candidates}
        return _("Same text as #%(rank)d") % {"rank": ranks[above]}, False
    if reason := trace.dropped.get(key):
        return str(DROPPED.get(reason, reason.replace("_", " "))), False
    return _("Not on the page"), False


def _place(name: str, value: Sequence[Any] | None) -> Place:
    rank, score = value if value else (None, None)
    return Place(name=name, label=_label(name), rank=rank, score=_number(score))


def _label(name: str) -> StrOrPromise:
    return LABELS.get(name, name.removeprefix("ext:"))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def _parts(signal: Mapping[str, Any]) -> Iterator[tuple[StrOrPromise, str]]:
    """What the merged score is made of, as far as it says something."""
    for name, value in signal.items():
        if value is None or value is False or value == 0:
            continue
        yield PARTS.get(name, name.replace("_", " ")), "" if value is True else f"{value:.2f}"


def funnel(trace: ShownTrace, found: Candidates) -> list[Stage]:
    """From the hits of all channels to the page that was given. Of what is hidden it tells how much it is, no more."""
    stored = trace.trace
    entries = trace.candidates if trace.is_withheld else stored.candidates
    names = [name for name in channels_of(trace) if name not in (FUSED, RERANKED)]
    counts = {name: sum(name in entry for entry in entries) for name in names}
    hits, merged = sum(counts.values()), len(entries)
    whole = max(hits, 1)

    def stage(label: StrOrPromise, count: int, note: str, **how: Any) -> Stage:
        return Stage(
            label=label, count=count, share=f"{min(100 * count / whole, 100):.1f}%", note=note, **how
        )

    both = sum(sum(name in entry for name in counts) > 1 for entry in entries)
    stages = [
        stage(_("Hits"), hits, " · ".join(f"{_label(name)} {count}" for name, count in counts.items())),
        stage(
            _("Merged"),
            merged,
            ngettext("%(n)d found more than once", "%(n)d found more than once", both) % {"n": both},
        ),
        _access_stage(trace, found, stage, merged),
    ]
    if reranked := sum(RERANKED in entry for entry in entries):
        stages.append(stage(_("Re-ranked"), reranked, _("judged by a model"), kind=3))
    given = [key for key in trace.shown if key] if trace.is_withheld else stored.shown
    stages.append(stage(_("Shown"), len(given), _losses(trace)))
    return stages


def _access_stage(trace: ShownTrace, found: Candidates, stage: Any, merged: int) -> Stage:
    label, hidden = _("After access re-check"), trace.trace.hidden_count
    if trace.is_withheld:
        note = _("%(n)d more are not open to you") % {"n": found.left_out}
        return stage(label, merged, note, kind=5, is_warning=bool(found.left_out))  # type: ignore[no-any-return]
    note = _("nothing dropped")
    if hidden:
        note = ngettext(
            "%(n)d dropped: access changed meanwhile", "%(n)d dropped: access changed meanwhile", hidden
        ) % {"n": hidden}
    return stage(label, merged - hidden, note, kind=5, is_warning=bool(hidden))  # type: ignore[no-any-return]


def _losses(trace: ShownTrace) -> str:
    """Why others are not shown, the reasons with how many."""
    counts: dict[str, int] = {}
    for reason in trace.dropped.values():
        counts[reason] = counts.get(reason, 0) + 1
    told = [f"{DROPPED.get(reason, reason.replace('_', ' '))}: {count}" for reason, count in counts.items()]
    return " · ".join(told) or _("the best of them")


def weights(trace: ShownTrace) -> list[tuple[str, str, str]]:
    """Terms of the question, the rarest first: term, weight, share of the heaviest as an SVG attribute."""
    ordered = sorted(trace.terms.items(), key=lambda pair: -pair[1])
    most = max((weight for _term, weight in ordered), default=0) or 1
    return [(term, f"{weight:.2f}", f"{100 * weight / most:.1f}%") for term, weight in ordered]


def told_by_channels(trace: ShownTrace) -> list[tuple[StrOrPromise, str]]:
    """How each channel went about it, one line for each."""
    lines = []
    for name, told in trace.explanations.items():
        if isinstance(told, Mapping) and name not in NO_CHANNELS and told:
            lines.append((_label(name), " · ".join(_told(told))))
    return lines


NO_CHANNELS = frozenset({"same_text", "evidence", "understanding", "direct"})  # what else a trace explains
EXPLAINED: dict[str, StrOrPromise] = {
    "plan": gettext_lazy("plan"),
    "reachable": gettext_lazy("passages within reach"),
    "matching": gettext_lazy("words that must occur"),
    "equal": gettext_lazy("worded the same"),
    "floor": gettext_lazy("least nearness"),
    "found": gettext_lazy("found"),
    "problem": gettext_lazy("problem"),
    "compared_by_meaning": gettext_lazy("compared by meaning"),
}
PLANS: dict[Any, StrOrPromise] = {
    "exact": gettext_lazy("every vector compared"),
    "hnsw": gettext_lazy("by the graph index (HNSW)"),
}


def _told(told: Mapping[str, Any]) -> Iterable[str]:
    for name, value in told.items():
        yield f"{EXPLAINED.get(name, name.replace('_', ' '))}: {_value(value) or '—'}"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):  # one of several servers, under its own name
        return ", ".join(
            f"{EXPLAINED.get(name, name.replace('_', ' '))} {part}"
            for name, part in value.items()
            if part != ""
        )
    return ", ".join(map(str, value)) if isinstance(value, list) else str(PLANS.get(value, value))
