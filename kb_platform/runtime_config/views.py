"""The pages of settings: one for each area, export, and import."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings as django_settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe
from django_stubs_ext import StrOrPromise

from kb_platform.errors import InvalidInput, KnowledgeBaseError, NotFound
from kb_platform.models import ConfigValue
from kb_platform.policies import Access, policy
from kb_platform.runtime_config import services, store
from kb_platform.runtime_config.declarations import AREAS, SETTINGS, settings_of
from kb_platform.runtime_config.kinds import EFFECTS, Setting
from kb_platform.toasts import toast

GET_OR_POST = ["GET", "HEAD", "POST"]


@dataclass(slots=True, kw_only=True)
class Row:
    """A setting on the page. `typed` is what its field shows: the present value, or what was refused."""

    setting: Setting[Any]
    value: Any
    typed: Any
    change: ConfigValue | None = None
    error: str = ""

    @property
    def locked(self) -> bool:
        return self.setting.name in django_settings.RUNTIME_OVERRIDES

    @property
    def is_default(self) -> bool:
        return bool(self.value == self.setting.default)

    @property
    def default_text(self) -> str:
        return self.setting.shown(self.setting.default)

    @property
    def value_text(self) -> str:
        return self.setting.shown(self.value)

    @property
    def previous_text(self) -> str:
        try:
            return self.setting.shown(self.setting.clean(self.change.previous)) if self.change else ""
        except ValueError:
            return ""

    @property
    def seen(self) -> str:
        return json.dumps("" if self.setting.is_secret else self.value, ensure_ascii=False)

    @property
    def effect(self) -> dict[str, StrOrPromise]:
        kind, icon, words = EFFECTS[self.setting.effect]
        return {"kind": kind, "icon": icon, "words": words}


@policy(Access.ADMINISTRATOR)
@require_http_methods(GET_OR_POST)
def settings(request: HttpRequest) -> HttpResponse:
    return _area_page(request, AREAS[0].key)


@policy(Access.ADMINISTRATOR)
@require_http_methods(GET_OR_POST)
def settings_area(request: HttpRequest, area: str) -> HttpResponse:
    return _area_page(request, area)


def _area_page(request: HttpRequest, key: str) -> HttpResponse:
    area = next((area for area in AREAS if area.key == key), None)
    if area is None:
        raise NotFound()
    typed, problem = {}, None
    if request.method == "POST":
        typed = _typed(request.POST, key)
        try:
            changed = _save(request, typed)
        except KnowledgeBaseError as error:
            problem = error
        else:
            toast(request, _saved_text(changed))
            return redirect("settings_area", key)
    rows = _rows(key, typed, problem.fields if problem else {})
    context = {"area": area, "areas": AREAS, "rows": rows, "problem": problem}
    return render(request, "settings/area.html", context, status=problem.status if problem else 200)


def _typed(form: QueryDict, area: str) -> dict[str, list[str]]:
    """What the form says of each setting it holds. With `reset`, only that setting, at its default."""
    return {
        setting.name: form.getlist(setting.name)
        for setting in settings_of(area)
        if f"seen.{setting.name}" in form and setting.name not in django_settings.RUNTIME_OVERRIDES
    }


def _save(request: HttpRequest, typed: Mapping[str, list[str]]) -> list[str]:
    actor = request.principal  # type: ignore[attr-defined]
    if (reset := request.POST.get("reset")) in SETTINGS:
        return services.change(actor=actor, values={reset: SETTINGS[reset].default})
    values, seen, problems = {}, {}, {}
    for name, texts in typed.items():
        old = _seen(SETTINGS[name], request.POST.get(f"seen.{name}", ""))
        try:
            value = SETTINGS[name].from_form(texts)
        except ValueError as error:
            problems[name] = str(error)
            continue
        if value != old:
            values[name] = value
            if not SETTINGS[name].is_secret:
                seen[name] = old
    if problems:
        raise InvalidInput(fields=problems)
    return services.change(actor=actor, values=values, seen=seen)


def _seen(setting: Setting[Any], text: str) -> Any:
    """The value that the form was drawn with; None when that cannot be told."""
    try:
        return setting.clean(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _saved_text(changed: list[str]) -> str:
    if not changed:
        return _("Nothing was different.")
    return ngettext("%(n)d setting saved.", "%(n)d settings saved.", len(changed)) % {"n": len(changed)}


def _rows(area: str, typed: Mapping[str, list[str]], problems: Mapping[str, StrOrPromise]) -> list[Row]:
    values = store.current()
    changes = {row.name: row for row in ConfigValue.objects.all()}
    rows = []
    for setting in settings_of(area):
        value = values.get(setting)
        texts = typed.get(setting.name)
        shown: Any = value
        if texts is not None and not setting.is_secret:
            shown = texts if setting.widget == "choices" else "".join(texts[-1:])
        rows.append(
            Row(
                setting=setting,
                value=value,
                typed=shown,
                change=changes.get(setting.name),
                error=str(problems.get(setting.name, "")),
            )
        )
    return rows


@policy(Access.ADMINISTRATOR)
@require_safe
def settings_export(request: HttpRequest) -> HttpResponse:
    """Everything that differs from the defaults, as a YAML file."""
    response = HttpResponse(services.export_text(), content_type="application/yaml; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="settings.yaml"'
    return response


@policy(Access.ADMINISTRATOR)
@require_http_methods(GET_OR_POST)
def settings_import(request: HttpRequest) -> HttpResponse:
    """Read a file, show what it would change, and change it when that is confirmed."""
    if request.method != "POST":
        return render(request, "settings/import.html", {"areas": AREAS})
    text = request.POST.get("text", "")
    try:
        if upload := request.FILES.get("file"):
            text = upload.read(services.MAX_IMPORT_BYTES + 1).decode("utf-8-sig", "replace")
        values = services.read_import(text.encode())
        if request.POST.get("confirmed"):
            changed = services.change(actor=request.principal, values=values)  # type: ignore[attr-defined]
            toast(request, _saved_text(changed))
            return redirect("settings")
    except InvalidInput as error:
        context = {"areas": AREAS, "problem": error, "text": text}
        return render(request, "settings/import.html", context, status=error.status)
    context = {"areas": AREAS, "text": text, "differences": _differences(values), "checked": True}
    return render(request, "settings/import.html", context)


def _differences(values: Mapping[str, Any]) -> list[dict[str, StrOrPromise]]:
    now = store.current()
    return [
        {
            "label": SETTINGS[name].label,
            "before": SETTINGS[name].shown(now.get(SETTINGS[name])),
            "after": SETTINGS[name].shown(value),
        }
        for name, value in values.items()
        if now.get(SETTINGS[name]) != value
    ]
