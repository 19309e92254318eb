"""Reading settings: from the environment, else from the database, else the default.

Values are kept in the process under a stamp that every change replaces. A request asks the database for the stamp once,
at its first read; so a change holds from the next request on, in every process. While the database is away the last
values that were read go on holding.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.conf import settings
from django.db import DatabaseError, InterfaceError

from kb_platform.models import ConfigStamp, ConfigValue
from kb_platform.outages import OUTAGES
from kb_platform.runtime_config.declarations import SETTINGS
from kb_platform.runtime_config.kinds import Setting

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """All stored values of one moment. `stamp` is "" while nothing was ever changed."""

    stamp: str = ""
    stored: Mapping[str, Any] = field(default_factory=dict)

    def get(self, setting: Setting[T]) -> T:
        locked = settings.RUNTIME_OVERRIDES.get(setting.name)
        if locked is not None:
            return setting.from_environment(locked)
        if setting.name not in self.stored:
            return setting.default
        try:
            return setting.clean(self.stored[setting.name])
        except ValueError:  # stored under other bounds, by an older release
            return setting.default


_latest = Values()
_of_request: ContextVar[list[Values] | None] = ContextVar("runtime_config", default=None)


def begin_request() -> None:
    """From here on the first read asks for the stamp, and later ones of the same request do not."""
    _of_request.set([])


@contextmanager
def read_once() -> Iterator[None]:
    """Within the block the stamp is asked for once, as within a request: for a job that reads settings at every step."""
    token = _of_request.set([])
    try:
        yield
    finally:
        _of_request.reset(token)


def current() -> Values:
    """The values in force now."""
    held = _of_request.get()
    if held:
        return held[0]
    values = _refreshed()
    if held is not None:
        held.append(values)
    return values


def get(setting: Setting[T]) -> T:
    """The value of one setting in force now."""
    locked = settings.RUNTIME_OVERRIDES.get(setting.name)
    return setting.from_environment(locked) if locked is not None else current().get(setting)


def forget() -> None:
    """Let the rest of this request read what was just changed."""
    held = _of_request.get()
    if held:
        held.clear()


def _refreshed() -> Values:
    global _latest
    try:
        stamp = str(ConfigStamp.objects.values_list("stamp", flat=True).first() or "")
        if stamp != _latest.stamp:
            _latest = Values(stamp=stamp, stored=_stored())
    except (DatabaseError, InterfaceError, *OUTAGES):
        return _latest
    return _latest


def _stored() -> dict[str, Any]:
    return {
        name: value for name, value in ConfigValue.objects.values_list("name", "value") if name in SETTINGS
    }
