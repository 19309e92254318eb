"""Changing settings: checked against their declarations, against what others changed meanwhile, and audited one by one."""

import uuid
from collections.abc import Mapping
from typing import Any

import yaml
from django.conf import settings
from django.db import connection, transaction
from django.utils.translation import gettext as _

from kb_platform.audit import Actor, record
from kb_platform.errors import Conflict, InvalidInput
from kb_platform.models import ConfigStamp, ConfigValue
from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import AREAS, SETTINGS, settings_of
from kb_platform.runtime_config.kinds import Setting

MAX_IMPORT_BYTES = 100_000


class ChangedMeanwhile(Conflict):
    code = "settings_changed"


@transaction.atomic
def change(*, actor: Actor, values: Mapping[str, Any], seen: Mapping[str, Any] | None = None) -> list[str]:
    """Set typed values by name; returns the names that really changed.

    seen: what the caller took the present values for; None does not look. Raises ChangedMeanwhile when somebody was
    quicker with one of them, and InvalidInput for a setting that the environment holds fast.
    """
    with connection.cursor() as cursor:  # two administrators take turns
        cursor.execute("select pg_advisory_xact_lock(hashtextextended('runtime config', 0))")
    store.forget()
    before = {name: store.current().get(SETTINGS[name]) for name in values}
    if quicker := [name for name, old in (seen or {}).items() if name in before and before[name] != old]:
        raise ChangedMeanwhile(_quicker_text(quicker), fields=dict.fromkeys(quicker, _("Changed meanwhile.")))
    changed = [name for name, value in values.items() if before[name] != value]
    if locked := [name for name in changed if name in settings.RUNTIME_OVERRIDES]:
        raise InvalidInput(fields=dict.fromkeys(locked, _("This is set in the server’s environment.")))
    for name in changed:
        _write(actor, SETTINGS[name], before[name], values[name])
    if changed:
        ConfigStamp.objects.update_or_create(pk=1, defaults={"stamp": uuid.uuid4()})
        store.forget()
    return changed


def _quicker_text(names: list[str]) -> str:
    found = ConfigValue.objects.filter(name__in=names).order_by("-changed_at").first()
    return _(
        "%(who)s changed this while you had the page open. Look at the present value, then save again."
    ) % {"who": found.changed_by_name if found else "—"}


def _write(actor: Actor, setting: Setting[Any], old: Any, new: Any) -> None:
    row, _created = ConfigValue.objects.update_or_create(
        name=setting.name,
        defaults={
            "value": new,
            "previous": None if setting.is_secret else old,
            "changed_by_id": actor.user_id,
            "changed_by_name": actor.name[:254],
        },
    )
    if setting.is_secret:
        record(actor, "setting.changed", row, after=setting.shown(new))
    else:
        record(actor, "setting.changed", row, before=old, after=new)


def export_text() -> str:
    """All settings that differ from their defaults and are not locked, as YAML, without secrets."""
    values = store.current()
    kept: dict[str, dict[str, Any]] = {}
    for area in AREAS:
        for setting in settings_of(area.key):
            value = values.get(setting)
            if _travels(setting) and value != setting.default:
                kept.setdefault(area.key, {})[setting.field] = (
                    list(value) if isinstance(value, tuple) else value
                )
    return yaml.safe_dump(kept, allow_unicode=True, sort_keys=False) if kept else "{}\n"


def read_import(content: bytes) -> dict[str, Any]:
    """The typed values of an exported file: settings that it does not name go back to their defaults.

    Raises InvalidInput that names every line at fault; nothing is written.
    """
    if len(content) > MAX_IMPORT_BYTES:
        raise InvalidInput(_("The file is too large for settings."))
    try:
        text = content.decode("utf-8-sig")
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):  # could repeat without end
            raise yaml.YAMLError("aliases")
        parsed = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise InvalidInput(_("This is not a YAML file.")) from error
    given = _flat(parsed if parsed is not None else {})
    values: dict[str, Any] = {
        name: setting.default for name, setting in SETTINGS.items() if _travels(setting)
    }
    problems: dict[str, str] = {}
    for name, value in given.items():
        if name not in SETTINGS or SETTINGS[name].is_secret:
            problems[name] = _("There is no such setting.")
            continue
        try:
            values[name] = SETTINGS[name].clean(value)
        except (ValueError, TypeError) as error:
            problems[name] = str(error)
    if problems:
        raise InvalidInput(fields=problems)
    return values


def _travels(setting: Setting[Any]) -> bool:
    """Whether a file may hold it: neither what the environment holds fast, nor a secret."""
    return setting.name not in settings.RUNTIME_OVERRIDES and not setting.is_secret


def _flat(parsed: Any) -> dict[str, Any]:
    if not _is_named(parsed) or not all(map(_is_named, parsed.values())):
        raise InvalidInput(_("The file needs areas, and in each its settings: an export shows how."))
    return {f"{area}.{name}"[:100]: value for area, part in parsed.items() for name, value in part.items()}


def _is_named(value: Any) -> bool:
    """Whether it is an object whose names are texts: a number of any length may be a name in YAML."""
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)
