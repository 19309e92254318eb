"""Kinds of settings: each knows its bounds, reads a value from a form or a file, and says how it reads.

`clean` takes a stored, imported or configured value; it returns the typed value or raises ValueError with a sentence.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from kb_platform.net.addresses import read_hosts
from kb_platform.sealing import hint, is_sealed, seal

T = TypeVar("T")
_WEB_ADDRESS = re.compile(r"https?://[^\s/@?#]+(?:/[^\s?#]*)?")


class Effect(StrEnum):
    """When a change takes effect."""

    NOW = "now"
    NEXT_SIGN_IN = "next_sign_in"
    NEW_FILES = "new_files"
    NIGHTLY = "nightly"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(ABC, Generic[T]):
    """`name` is `area.name`. `effect` says when a change holds."""

    name: str
    label: StrOrPromise
    help: StrOrPromise
    default: T
    effect: Effect = Effect.NOW
    required: bool = field(default=True)

    @property
    def area(self) -> str:
        return self.name.partition(".")[0]

    @property
    def field(self) -> str:
        """The setting's name within its area."""
        return self.name.partition(".")[2]

    @property
    def widget(self) -> str:
        return type(self).__name__.lower()

    @property
    def is_secret(self) -> bool:
        """Whether the value is never shown, exported or told to the audit log."""
        return False

    @abstractmethod
    def clean(self, value: Any) -> T: ...

    @abstractmethod
    def shown(self, value: T) -> str:
        """The value in the reader's language."""

    def from_form(self, values: Sequence[str]) -> T:
        return self.clean(values[-1] if values else "")

    def from_environment(self, text: str) -> T:
        return self.from_form([text])


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Setting[str]):
    most: int
    lines: int = 1
    empty: StrOrPromise = "—"

    def clean(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(_("This must be text."))
        text = value.replace("\x00", "").replace("\r\n", "\n").strip()
        if self.lines == 1:
            text = " ".join(text.split())
        if len(text) > self.most:
            raise ValueError(_("At most %(most)d characters.") % {"most": self.most})
        return text

    def shown(self, value: str) -> str:
        return value or str(self.empty)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts(Text):
    """`host:port` on each line."""

    def clean(self, value: Any) -> str:
        text = Text.clean(self, value)
        try:
            read_hosts(text)
        except ValueError as error:
            raise ValueError(
                _("“%(line)s” is not of the form host:port.") % {"line": str(error)[:80]}
            ) from error
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAddress(Text):
    """An address of a server. Whether it may be called is checked at each call."""

    def clean(self, value: Any) -> str:
        text = Text.clean(self, value)
        if text and not _WEB_ADDRESS.fullmatch(text):
            raise ValueError(
                _("Give an address that begins with http:// or https://, without name and password.")
            )
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret(Setting[str]):
    """A key of another server. The value is sealed; `from_form` seals what is typed, and an empty field keeps the old."""

    default: str = ""
    most: int = 500

    @property
    def is_secret(self) -> bool:
        return True

    def clean(self, value: Any) -> str:
        if not isinstance(value, str) or (value and not is_sealed(value)):
            raise ValueError(_("This must be text."))
        return value

    def shown(self, value: str) -> str:
        if not value:
            return _("not set")
        ending = hint(value)
        return _("Set, ends in %(ending)s") % {"ending": ending} if ending else _("Set")

    def from_form(self, values: Sequence[str]) -> str:
        text = values[-1].strip() if values else ""
        if len(text) > self.most or not (text.isascii() and text.isprintable()):
            raise ValueError(_("A key has at most %(most)d plain characters.") % {"most": self.most})
        return seal(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Setting[int]):
    """A whole number. `zero` is what 0 means, where 0 is allowed beside `low` to `high`."""

    low: int
    high: int
    unit: StrOrPromise = ""
    zero: StrOrPromise = ""

    def clean(self, value: Any) -> int:
        text = str(value).strip()
        if isinstance(value, bool) or not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise ValueError(_("Enter a whole number."))
        number = int(text)
        if not (self.low <= number <= self.high or (self.zero and number == 0)):
            raise ValueError(self._bounds())
        return number

    def _bounds(self) -> str:
        bounds = {"low": f"{self.low:,}", "high": f"{self.high:,}"}
        if self.zero:
            return _("From %(low)s to %(high)s, or 0.") % bounds
        return _("From %(low)s to %(high)s.") % bounds

    @property
    def range(self) -> str:
        return self._bounds()

    def shown(self, value: int) -> str:
        return str(self.zero) if self.zero and value == 0 else f"{value:,} {self.unit}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decimal(Setting[float | None]):
    """A number that may be left empty, which is None and not 0."""

    low: float
    high: float

    def clean(self, value: Any) -> float | None:
        text = "" if value is None else str(value).strip()
        if not text:
            return None
        try:
            number = float(text)
        except ValueError as error:
            raise ValueError(_("Enter a number, or leave the field empty.")) from error
        if isinstance(value, bool) or not self.low <= number <= self.high:  # which NaN is not either
            raise ValueError(_("From %(low)g to %(high)g.") % {"low": self.low, "high": self.high})
        return number

    def shown(self, value: float | None) -> str:
        return _("none") if value is None else f"{value:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch(Setting[bool]):
    """On or off. In a form it is a box, which sends nothing when it is not ticked."""

    def clean(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError(_("This must be on or off."))
        return value

    def shown(self, value: bool) -> str:
        return _("on") if value else _("off")

    def from_form(self, values: Sequence[str]) -> bool:
        return "on" in values

    def from_environment(self, text: str) -> bool:
        lowered = text.strip().lower()
        if lowered not in {"on", "off", "true", "false", "1", "0"}:
            raise ValueError(_("This must be on or off."))
        return lowered in {"on", "true", "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Setting[str]):
    choices: tuple[tuple[str, StrOrPromise], ...]

    def clean(self, value: Any) -> str:
        if value not in dict(self.choices):
            raise ValueError(_("Choose one of the values offered."))
        return str(value)

    def shown(self, value: str) -> str:
        return str(dict(self.choices)[value])


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices(Setting[tuple[str, ...]]):
    """Several of the choices, at least one; kept in the order they are declared in."""

    choices: tuple[tuple[str, StrOrPromise], ...]

    def clean(self, value: Any) -> tuple[str, ...]:
        wanted = set(value) if isinstance(value, list | tuple) else set()
        if not wanted or not wanted <= set(dict(self.choices)):
            raise ValueError(_("Choose at least one of the values offered."))
        return tuple(key for key, _label in self.choices if key in wanted)

    def shown(self, value: tuple[str, ...]) -> str:
        labels = dict(self.choices)
        return " · ".join(str(labels[key]) for key in value)

    def from_form(self, values: Sequence[str]) -> tuple[str, ...]:
        return self.clean([value for value in values if value])

    def from_environment(self, text: str) -> tuple[str, ...]:
        return self.clean([part.strip() for part in text.split(",")])


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """trial: the route of a page on which what is set here can be tried. tries_unsaved: it also takes the form as it is."""

    key: str
    label: StrOrPromise
    sub: StrOrPromise
    icon: str
    trial: str = ""
    tries_unsaved: bool = False


EFFECTS: dict[Effect, tuple[str, str, StrOrPromise]] = {  # class of the tag, icon, words
    Effect.NOW: ("t-ok", "bolt", gettext_lazy("Takes effect now")),
    Effect.NEXT_SIGN_IN: ("", "user", gettext_lazy("From the next sign-in")),
    Effect.NEW_FILES: ("t-acc", "upload", gettext_lazy("Files from now on")),
    Effect.NIGHTLY: ("", "clock", gettext_lazy("At the nightly clean-up, 02:00")),
}
