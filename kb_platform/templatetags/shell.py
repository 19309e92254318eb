"""The frame of every page: rail, icons, and small formatting that all apps' templates share.

Rail items name routes; an item whose route does not exist, or that the reader may not use, is left out.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.contrib.messages.storage.base import Message
from django.forms import BoundField
from django.template import Context, Library
from django.templatetags.static import static
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.dateformat import format as format_date
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, pgettext
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from kb_platform import toasts

register = Library()


@dataclass(frozen=True, slots=True, kw_only=True)
class RailItem:
    """`routes` are the route names under which the item is current; the first is where it leads.

    only_if: the name of a context value that must hold for the item to be there.
    """

    label: StrOrPromise
    icon: str
    routes: tuple[str, ...]
    for_administrators: bool = False
    only_if: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RailGroup:
    label: StrOrPromise
    items: tuple[RailItem, ...]


WORKSPACE = (
    RailItem(
        label=_("Ask"),
        icon="message-circle",
        routes=("ask", "conversation", "conversations", "conversation_delete", "conversation_rename"),
    ),
    RailItem(label=_("Search"), icon="search", routes=("search", "why")),
    RailItem(label=_("Library"), icon="books", routes=("library", "library_collection")),
)
MANAGE = (
    RailGroup(
        label=_("Content"),
        items=(
            RailItem(
                label=_("Documents"),
                icon="files",
                routes=(
                    "documents",
                    "document",
                    "document_upload",
                    "document_edit",
                    "document_versions",
                    "document_log",
                    "document_chunks",
                    "chunk_edit",
                    "chunk_split",
                    "document_bulk",
                    "upload_batch",
                    "document_move",
                    "document_delete",
                    "document_sharing",
                    "document_owner",
                    "document_trash",
                    "trash_change",
                ),
            ),
            RailItem(
                label=_("Collections"),
                icon="folder",
                routes=(
                    "collections",
                    "collection",
                    "collection_new",
                    "collection_edit",
                    "collection_chunking",
                    "collection_fields",
                    "field_edit",
                    "faq",
                    "faq_new",
                    "faq_edit",
                    "faq_import",
                    "faq_import_check",
                    "collection_delete",
                    "collection_sharing",
                    "collection_activity",
                ),
            ),
            RailItem(
                label=_("Dictionary"),
                icon="vocabulary",
                routes=tuple(
                    f"dictionary_{kind}{page}"
                    for kind in ("terms", "synonyms", "stopwords")
                    for page in ("", "_import", "_edit", "_remove")
                ),
            ),
        ),
    ),
    RailGroup(
        label=_("Quality"),
        items=(
            RailItem(
                label=_("Retrieval debugger"),
                icon="route",
                routes=("debugger", "debugger_trace", "debugger_case", "evaluation_cases"),
                only_if="may_debug",
            ),
        ),
    ),
    RailGroup(
        label=_("System"),
        items=(
            RailItem(
                label=_("External sources"),
                icon="plug-connected",
                routes=(
                    "external_sources",
                    "external_source",
                    "external_source_new",
                    "external_source_try",
                    "external_source_delete",
                ),
                for_administrators=True,
            ),
            RailItem(label=_("Processing"), icon="activity", routes=("processing",), for_administrators=True),
            RailItem(
                label=_("Users & groups"),
                icon="users",
                routes=(
                    "users",
                    "user",
                    "user_new",
                    "user_deactivate",
                    "groups",
                    "group",
                    "group_new",
                    "group_delete",
                ),
                for_administrators=True,
            ),
            RailItem(label=_("API tokens"), icon="key", routes=("tokens", "token_new", "token_revoke")),
            RailItem(
                label=_("Settings"),
                icon="settings",
                routes=("settings", "settings_area", "settings_import", "reranker_try"),
                for_administrators=True,
            ),
            RailItem(label=_("Audit log"), icon="history", routes=("audit",), for_administrators=True),
        ),
    ),
)


def is_managing(route: str) -> bool:
    """Whether the route belongs to the Manage area."""
    return any(route in item.routes for group in MANAGE for item in group.items)


def _link(item: RailItem, current: str) -> dict[str, Any] | None:
    try:
        url = reverse(item.routes[0])
    except NoReverseMatch:
        return None
    return {"url": url, "icon": item.icon, "label": item.label, "current": current in item.routes}


def _links(
    items: Iterable[RailItem], current: str, context: Context, *, administrator: bool
) -> list[dict[str, Any]]:
    allowed = (
        item
        for item in items
        if (administrator or not item.for_administrators)
        and (not item.only_if or _holds(context, item.only_if))
    )
    return [link for item in allowed if (link := _link(item, current))]


def _holds(context: Context, name: str) -> bool:
    value = context.get(name)
    return bool(value() if callable(value) else value)


@register.inclusion_tag("components/_rail.html", takes_context=True)
def rail(context: Context) -> dict[str, Any]:
    """The rail of the area the page belongs to: the workspace, or Manage with the groups open to the reader."""
    match = getattr(context.get("request"), "resolver_match", None)
    current = getattr(match, "url_name", "") or ""
    principal = context.get("principal")
    administrator = bool(principal and principal.is_administrator)
    managing = is_managing(current)
    groups = [
        {"label": group.label, "links": _links(group.items, current, context, administrator=administrator)}
        for group in MANAGE
    ]
    shared = {
        name: context.get(name)
        for name in (
            "principal",
            "request",
            "csrf_token",
            "theme",
            "html_language",
            "site_name",
            "may_manage_content",
        )
    }
    return {
        **shared,
        "managing": managing,
        "workspace": _links(WORKSPACE, current, context, administrator=administrator),
        "groups": [group for group in groups if group["links"]],
        "recent_conversations": () if managing else context.get("recent_conversations", ()),
        "conversation_uid": str(match.kwargs.get("uid", "")) if match and current == "conversation" else "",
    }


@register.simple_tag
def icon(name: str, classes: str = "") -> SafeString:
    """An outline of the sprite `static/icons.svg`; `classes` e.g. "i-s" for the small size."""
    return format_html(
        '<svg class="i {}" aria-hidden="true"><use href="{}#{}"/></svg>', classes, static("icons.svg"), name
    )


GLYPHS = {
    "pdf": "pdf",
    "docx": "doc",
    "doc": "doc",
    "odt": "doc",
    "rtf": "doc",
    "xlsx": "xls",
    "xls": "xls",
    "csv": "xls",
    "pptx": "ppt",
    "ppt": "ppt",
}


@register.simple_tag
def file_glyph(file_name: str) -> SafeString:
    """The little sheet with the file's type; decorative, the name stands beside it."""
    extension = file_name.rpartition(".")[2].lower() if "." in file_name else ""
    label = {"markdown": "MD", "htm": "HTML", "": "TXT"}.get(extension, extension.upper())
    return format_html(
        '<span class="ft ft-{}" aria-hidden="true">{}</span>', GLYPHS.get(extension, "md"), label[:4]
    )


@register.simple_tag
def when(moment: datetime | date | None, style: str = "long") -> SafeString | str:
    """A `<time>`: "29 Nov 2026, 14:05" or "2026-11-29 14:05"; style "day" leaves the clock out."""
    if moment is None:
        return "—"
    local = timezone.localtime(moment) if isinstance(moment, datetime) else moment
    chinese = (get_language() or "").startswith("zh")
    day = "Y-m-d" if chinese else "j M Y"
    clock = "" if style == "day" or not isinstance(moment, datetime) else (" H:i" if chinese else ", H:i")
    return format_html('<time datetime="{}">{}</time>', moment.isoformat(), format_date(local, day + clock))


@register.filter
def size(size_bytes: int | None) -> str:
    """Bytes as "640 KB" or "8.4 MB" (powers of ten)."""
    value = float(size_bytes or 0)
    for unit in ("B", "KB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit != "MB" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


@register.filter
def initials(name: str) -> str:
    """What stands in a round avatar: the first Han character, or up to two Latin initials."""
    if han := re.search(r"[㐀-鿿]", name or ""):
        return han[0]
    return "".join(word[0] for word in re.findall(r"\w+", (name or "").partition("@")[0])[:2]).upper() or "?"


@register.filter
def trail(parts: Iterable[str] | None) -> str:
    """A heading path as one line."""
    return " › ".join(part for part in parts or () if part)


@register.filter
def html_lang(language: str) -> str:
    """The `lang` attribute for a passage of a stored language code."""
    return {"zh": "zh-Hans", "zh-hans": "zh-Hans", "en": "en"}.get((language or "").lower(), "")


@register.filter
def language_name(language: str) -> str:
    names = {
        "zh": pgettext("language of a document", "Chinese"),
        "en": pgettext("language of a document", "English"),
        "mixed": pgettext("language of a document", "Chinese and English"),
    }
    return names.get((language or "").partition("-")[0], "")


@register.filter
def as_json(value: Any) -> str:
    """Compact JSON for a data attribute (escaped by the template as any text)."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@register.filter
def as_toast(message: Message) -> bool:
    """Whether a message is to be told in a toast."""
    return toasts.is_toast(message.extra_tags)


@register.filter
def toast_undo(message: Message) -> toasts.Undo | None:
    return toasts.undo_of(message.extra_tags or "")


CHECKED = {"checkbox", "radio"}


@register.inclusion_tag("components/_field.html")
def field(bound: BoundField, hint: str = "") -> dict[str, Any]:
    """One form field with label, hint and errors; Django links them by aria-describedby."""
    kind = getattr(bound.field.widget, "input_type", "")
    return {
        "field": bound,
        "control": bound.as_widget(attrs={} if kind in CHECKED else {"class": "in"}),
        "checked_kind": kind in CHECKED,
        "hint": hint,
    }


@register.simple_tag(takes_context=True)
def query(context: Context, **changes: Any) -> str:
    """The present query string with some parameters set or, when None or empty, removed."""
    parameters = context["request"].GET.copy()
    for name, value in changes.items():
        if value in (None, ""):
            parameters.pop(name, None)
        else:
            parameters[name] = value
    return f"?{parameters.urlencode()}"
