"""The settings of one run as a form: each knob of a search that is also declared for the settings page."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from kb_platform.runtime_config import declarations as declared
from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import settings_of
from kb_platform.runtime_config.kinds import Setting, Switch
from retrieval.search_settings import SearchSettings

AREAS = ("retrieval", "models")
RERANK = Switch(  # which model reranks is set for everybody; whether it does is a matter of one run
    name="run.rerank", label=_("Re-rank"), help=_("By the model that is set under Models."), default=False
)
SEEN = "seen."  # before the name of a setting that a form holds: an empty box sends nothing of its own


@dataclass(slots=True, kw_only=True)
class Knob:
    """A setting as the form shows it. `typed` is what its field shows; `now` what holds for everybody."""

    setting: Setting[Any]
    now: Any
    typed: Any
    is_changed: bool = False
    error: str = ""

    @property
    def value_text(self) -> str:
        return self.setting.shown(self.now)


def knob_settings() -> list[Setting[Any]]:
    """In the order of the settings page."""
    known = {knob.name for knob in fields(SearchSettings)}
    has_reranker = store.get(declared.RERANKER) != "none"
    ones = [
        setting
        for area in (AREAS if has_reranker else AREAS[:1])
        for setting in settings_of(area)
        if setting.field in known and not setting.is_secret
    ]
    return [*ones, RERANK] if has_reranker else ones


def present(settings: SearchSettings) -> list[Knob]:
    """Every knob at the value it has in `settings`."""
    return [_knob(setting, getattr(settings, setting.field)) for setting in knob_settings()]


def read_knobs(form: QueryDict, now: SearchSettings) -> list[Knob]:
    """Every knob with what the form says of it; one that the form does not hold stays as it is."""
    knobs = present(now)
    for knob in knobs:
        setting = knob.setting
        if SEEN + setting.name not in form:
            continue
        texts = form.getlist(setting.name)
        knob.typed = texts if setting.widget == "choices" else "".join(texts[-1:])
        try:
            knob.is_changed = setting.from_form(texts) != knob.now
        except ValueError as error:
            knob.error = str(error)
    return knobs


def changes(knobs: Iterable[Knob], form: QueryDict) -> dict[str, Any]:
    """The values that differ from those of everybody, by knob, as `SearchSettings.changed` takes them."""
    return {
        knob.setting.field: as_field(knob.now, knob.setting.from_form(form.getlist(knob.setting.name)))
        for knob in knobs
        if knob.is_changed and not knob.error
    }


def with_values(now: SearchSettings, values: Mapping[str, Any]) -> list[Knob]:
    """Every knob, some at other values; a value that can no longer be set is left out."""
    knobs = present(now)
    for knob in knobs:
        if knob.setting.field not in values:
            continue
        try:
            knob.typed = knob.setting.clean(values[knob.setting.field])
        except ValueError:
            continue
        knob.is_changed = knob.typed != knob.now
    return knobs


def as_field(now: Any, value: Any) -> Any:
    """A declared value as the frozen settings hold it: a choice becomes the member of its enumeration."""
    return type(now)(value) if isinstance(now, Enum) else value


def _knob(setting: Setting[Any], value: Any) -> Knob:
    return Knob(setting=setting, now=value, typed=value)
