"""Strict readers of environment variables: a bad value stops the start with a sentence that names it.

Every variable NAME may also be given as NAME_FILE, the path of a file that holds the value (for secrets).
"""

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from django.core.exceptions import ImproperlyConfigured

TRUE, FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


def text(name: str, default: str = "") -> str:
    """The variable's value, or the content of the file named by NAME_FILE, or the default."""
    if path := os.environ.get(f"{name}_FILE"):
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE={path} cannot be read: {error.strerror}") from error
    return os.environ.get(name, "").strip() or default


def url(name: str, *, password: str) -> str:
    """A server's URL; the variable named by `password` gives its password, so that only that must be kept secret."""
    value, secret = text(name), text(password)
    if not (value and secret):
        return value
    parts = urlsplit(value)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{parts.username or ''}:{quote(secret, safe='')}@{host}"))


def integer(name: str, default: int, *, low: int, high: int) -> int:
    value = text(name)
    if not value:
        return default
    if not value.isdecimal() or not low <= int(value) <= high:
        raise ImproperlyConfigured(f"{name}={value!r} must be a whole number from {low} to {high}")
    return int(value)


def flag(name: str, default: bool) -> bool:
    value = text(name).lower()
    if not value:
        return default
    if value not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name}={value!r} must be 1 or 0")
    return value in TRUE


def words(name: str, default: tuple[str, ...] = ()) -> list[str]:
    """A comma-separated list."""
    return [part.strip() for part in text(name).split(",") if part.strip()] or list(default)


def pairs(name: str) -> dict[str, str]:
    """A comma-separated list of name=value."""
    found = dict(part.partition("=")[::2] for part in words(name))
    if not all(key.strip() and value.strip() for key, value in found.items()):
        raise ImproperlyConfigured(f"{name} must be a list of name=value, separated by commas")
    return {key.strip(): value.strip() for key, value in found.items()}


def directory(name: str, default: Path) -> Path:
    return Path(text(name) or default).expanduser().absolute()


def overrides(prefix: str, aliases: Mapping[str, str]) -> dict[str, str]:
    """Runtime settings by name, from PREFIX<AREA>_<NAME> and from the variables of `aliases`."""
    named = {variable.removesuffix("_FILE") for variable in os.environ if variable.startswith(prefix)}
    found = {name: name.removeprefix(prefix).lower().replace("_", ".", 1) for name in sorted(named)}
    return {setting: value for name, setting in {**found, **aliases}.items() if (value := text(name))}
