"""Which sources there are, which of them a reader may use, and how they fare."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.selectors import group_name
from accounts.values import Principal
from kb_platform.errors import NotFound
from kb_platform.net.breaker import Circuit
from kb_platform.net.errors import OutboundError
from kb_platform.net.guard import Bounds, state_of
from kb_platform.sealing import SecretLost, unseal
from retrieval.channels.external.langchain import named_retrievers
from retrieval.channels.external.values import SourceConfig, SourceKind
from retrieval.sources.models import ExternalSource, SourceAccess


def all_sources() -> QuerySet[ExternalSource]:
    """For administrators."""
    return ExternalSource.objects.prefetch_related("access__group__builtin").order_by("name")


def find_source(uid: str) -> ExternalSource:
    """For administrators. Raises NotFound."""
    try:
        found = all_sources().filter(uid=UUID(uid)).first()
    except ValueError:
        found = None
    if found is None:
        raise NotFound()
    return found


@dataclass(slots=True, kw_only=True)
class _Mapping:
    source: ExternalSource
    values: set[str]
    is_limited: bool = True


def sources_for(principal: Principal) -> list[SourceConfig]:
    """The active sources that the reader may ask now, each limited to what the reader's groups may get.

    A token that is limited to collections gets none: a source is in no collection. One whose secret is lost is left out.
    """
    configs = []
    for one in _mappings(principal).values():
        allowed = tuple(sorted(one.values)) if one.is_limited else None
        try:
            configs.append(config_of(one.source, allowed=allowed))
        except SecretLost:
            continue
    return configs


def open_source_uids(principal: Principal, uids: Iterable[str]) -> frozenset[str]:
    """Those of the sources that the reader may use now, for what was found in them before."""
    wanted = set(uids)
    if not wanted:
        return frozenset()
    return frozenset(uid for uid in _mappings(principal) if uid in wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSources:
    """The sources that a reader may use now, each with the values they are limited to; None for no limit."""

    limits: Mapping[str, frozenset[str] | None]

    def cover(self, uid: str, allowed: Collection[str] | None) -> bool:
        """Whether what was found in a source is open still. allowed: what the reader was limited to then."""
        if uid not in self.limits:
            return False
        now = self.limits[uid]
        return now is None or (allowed is not None and now.issuperset(allowed))


def open_sources(principal: Principal) -> OpenSources:
    """For what was found before, under limits that may have become narrower."""
    mappings = _mappings(principal)
    return OpenSources(
        limits={
            uid: frozenset(one.values) if one.is_limited and one.source.filter_field else None
            for uid, one in mappings.items()
        }
    )


def rows_of(uids: Iterable[str]) -> dict[str, int]:
    """Primary keys of the sources that still exist, by uid."""
    wanted = set(uids)
    rows = ExternalSource.objects.filter(uid__in=wanted) if wanted else ExternalSource.objects.none()
    return {str(uid): pk for uid, pk in rows.values_list("uid", "pk")}


def _mappings(principal: Principal) -> dict[str, _Mapping]:
    if principal.token is not None and principal.token.collections:
        return {}
    rows = SourceAccess.objects.filter(
        source__is_active=True, group__user=principal.user_id, group__user__is_active=True
    ).select_related("source")
    found: dict[str, _Mapping] = {}
    for row in rows.order_by("source__name", "pk"):
        one = found.setdefault(str(row.source.uid), _Mapping(source=row.source, values=set()))
        one.values |= {str(value) for value in row.values}
        one.is_limited = one.is_limited and bool(row.values)
    return found


def config_of(source: ExternalSource, *, allowed: tuple[str, ...] | None = None) -> SourceConfig:
    """The source as it is asked. Raises SecretLost."""
    return SourceConfig(
        uid=str(source.uid),
        name=source.name,
        kind=SourceKind(source.kind),
        options=dict(source.options),
        secret=unseal(source.secret),
        filter_field=source.filter_field,
        allowed=allowed if source.filter_field else None,
        bounds=Bounds(
            try_s=source.try_ms / 1000,
            total_s=source.total_ms / 1000,
            tries=source.tries,
            concurrency=source.concurrency,
        ),
        stamp=_stamp(source),
    )


def values_of_group(source: ExternalSource, group: str) -> tuple[str, ...] | None:
    """What members of a group are limited to; None for no limit, and for no group. Raises NotFound for another group."""
    if not group:
        return None
    row = next((row for row in source.access.all() if str(row.group_id) == group), None)
    if row is None:
        raise NotFound()
    return tuple(map(str, row.values)) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSource:
    """A source in the list: who may use it, and how its circuit stands. problem: why it failed last, in words."""

    source: ExternalSource
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    circuit: Circuit
    problem: str

    @property
    def retry_in(self) -> int:
        """Whole seconds until it is tried again."""
        return math.ceil(self.circuit.retry_in_s)


def shown(source: ExternalSource) -> ShownSource:
    circuit = state_of(f"source:{source.uid}:{_stamp(source)}")
    return ShownSource(
        source=source,
        groups=tuple((group_name(row.group), tuple(row.values)) for row in source.access.all()),
        circuit=circuit,
        problem=problem_text(circuit.reason) if circuit.reason else "",
    )


def problem_text(code: str) -> str:
    """What a code of a failed call means, in the reader's language."""
    known = {kind.code: kind.message for kind in (*_kinds_below(OutboundError),)}
    return str(known.get(code, OutboundError.message))


def _kinds_below(kind: type[OutboundError]) -> Iterable[type[OutboundError]]:
    for below in kind.__subclasses__():
        yield below
        yield from _kinds_below(below)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindChoice:
    value: str
    label: str
    text: str


def kinds() -> tuple[KindChoice, ...]:
    """The kinds of sources that can be added, with a sentence on each."""
    texts = {
        SourceKind.DIFY: _("Any service that speaks Dify’s external-knowledge contract: POST /retrieval."),
        SourceKind.HTTP: _(
            "Any address that answers a question with a list in JSON, another Zhiku included."
        ),
        SourceKind.ELASTICSEARCH: _("An index that is searched by a match of the question."),
        SourceKind.SQL: _("A read-only statement with the question as a bound parameter."),
    }
    if named_retrievers():
        texts[SourceKind.LANGCHAIN] = _("A retriever that the operator of the server has plugged in.")
    return tuple(
        KindChoice(value=kind.value, label=str(ExternalSource.Kind(kind.value).label), text=text)
        for kind, text in texts.items()
    )


def _stamp(source: ExternalSource) -> str:
    return f"{source.updated_at.timestamp():.6f}"
