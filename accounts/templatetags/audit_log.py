"""How an audit entry reads: its action and object in words, and one row per field with what was before and after."""

import json
from collections.abc import Mapping
from typing import Any

from django.template import Library
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from kb_platform import audit_actions
from kb_platform.models import AuditEntry
from kb_platform.runtime_config.declarations import SETTINGS

register = Library()
FIELDS = {
    "": gettext_lazy("Value"),
    "access_mode": gettext_lazy("Access"),
    "collection": gettext_lazy("Collection"),
    "choices": gettext_lazy("Choices"),
    "collections": gettext_lazy("Collections"),
    "count": gettext_lazy("Number"),
    "correction": gettext_lazy("Correction"),
    "description": gettext_lazy("Description"),
    "doc_type": gettext_lazy("Type"),
    "department": gettext_lazy("Department"),
    "email": gettext_lazy("E-mail"),
    "field": gettext_lazy("Field"),
    "file": gettext_lazy("File"),
    "for_user": gettext_lazy("Acts as"),
    "grants": gettext_lazy("Access"),
    "groups": gettext_lazy("Groups"),
    "is_active": gettext_lazy("Active"),
    "kind": gettext_lazy("Kind"),
    "label": gettext_lazy("Name"),
    "language": gettext_lazy("Language"),
    "made": gettext_lazy("Change"),
    "members": gettext_lazy("Members"),
    "name": gettext_lazy("Name"),
    "new": gettext_lazy("New document"),
    "one_way": gettext_lazy("One way"),
    "password_changed": gettext_lazy("New password"),
    "phrases": gettext_lazy("Phrases"),
    "reason": gettext_lazy("Reason"),
    "scopes": gettext_lazy("Scopes"),
    "security_level": gettext_lazy("Security level"),
    "tags": gettext_lazy("Tags"),
    "text": gettext_lazy("Text"),
    "title": gettext_lazy("Title"),
    "to": gettext_lazy("To"),
    "version": gettext_lazy("Version"),
    "weight": gettext_lazy("Weight"),
}
BUILTIN_GROUPS = {
    "All staff": gettext_lazy("All staff"),
    "Administrators": gettext_lazy("Administrators"),
}
SYSTEM_ACTORS = {
    "first start": gettext_lazy("First start"),
    "create_token": gettext_lazy("Command line"),
}


@register.filter
def action_name(code: str) -> str:
    """An action in the reader's language."""
    return audit_actions.action_name(code)


@register.filter
def object_label(entry: AuditEntry) -> str:
    """The object's name as it was then; of a setting or a built-in group in the reader's language."""
    if entry.object_type == "accessscope":
        return _("Access list %(number)s") % {"number": entry.object_id}
    if entry.object_type == "group":
        return str(BUILTIN_GROUPS.get(entry.object_name, entry.object_name))
    setting = SETTINGS.get(entry.object_id) if entry.object_type == "configvalue" else None
    return str(setting.label) if setting else entry.object_name


@register.filter
def actor_label(entry: AuditEntry) -> str:
    """The person's name as it was then; a part of the system in the reader's language."""
    known = SYSTEM_ACTORS.get(entry.actor_name) if entry.actor_id is None else None
    return str(known or entry.actor_name)


@register.filter
def changes(entry: AuditEntry) -> list[dict[str, str]]:
    """Rows of name, before, after. Equal fields are left out; a plain value stands under `after`."""
    detail: Mapping[str, Any] = entry.detail
    before, after = detail.get("before"), detail.get("after")
    rows = _compared(before, after, entry) if "before" in detail or "after" in detail else []
    plain = {name: value for name, value in detail.items() if name not in ("before", "after")}
    return rows + [_row(name, None, value) for name, value in sorted(plain.items())]


def _compared(before: Any, after: Any, entry: AuditEntry) -> list[dict[str, str]]:
    if entry.object_type == "configvalue":
        return [_row("", _setting_text(entry, before), _setting_text(entry, after))]
    if isinstance(before, list) and isinstance(after, list) and _are_grants([*before, *after]):
        return _grants(before, after)
    if not isinstance(before, dict) or not isinstance(after, dict):
        return [_row("", before, after)]
    return [
        _row(name, before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _setting_text(entry: AuditEntry, value: Any) -> str:
    try:
        return SETTINGS[entry.object_id].shown(SETTINGS[entry.object_id].clean(value))
    except (KeyError, ValueError):
        return _text(value)


def _are_grants(rows: list[Any]) -> bool:
    return bool(rows) and all(
        isinstance(row, dict) and {"holder", "permission"} <= row.keys() for row in rows
    )


def _grants(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[dict[str, str]]:
    """One row for each person or group whose grant is new, gone or different."""
    old = {row["holder"]: row for row in before}
    new = {row["holder"]: row for row in after}
    return [
        {
            "name": (new.get(holder) or old[holder]).get("name") or holder,
            "before": _grant_text(old.get(holder)),
            "after": _grant_text(new.get(holder)),
        }
        for holder in {**old, **new}
        if _grant_text(old.get(holder)) != _grant_text(new.get(holder))
    ]


def _grant_text(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    levels = {
        "view": pgettext("level of access", "View"),
        "contribute": pgettext("level of access", "Contribute"),
        "manage": pgettext("level of access", "Manage"),
    }
    level = str(levels.get(row["permission"], row["permission"]))
    ends = str(row.get("expires_at") or "")[:10]
    return _("%(level)s until %(day)s") % {"level": level, "day": ends} if ends else level


def _row(name: str, before: Any, after: Any) -> dict[str, str]:
    if name == "groups":
        before, after = _group_names(before), _group_names(after)
    return {"name": str(FIELDS.get(name, name)), "before": _text(before), "after": _text(after)}


def _group_names(value: Any) -> Any:
    is_list = isinstance(value, list)
    return [str(BUILTIN_GROUPS.get(name, name)) for name in value] if is_list else value


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list) and all(isinstance(part, str | int) for part in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
