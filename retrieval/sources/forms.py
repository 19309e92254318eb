"""The form of a source: what its kind asks for, its secret, its limits. Rules live in the services."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from accounts.selectors import group_name, groups
from retrieval.channels.external.values import SourceKind
from retrieval.sources.models import ExternalSource
from retrieval.sources.options import NEEDS_SECRET, OPTIONS, Option
from retrieval.sources.services import DEFAULTS, NUMBERS, SourceInput

_SEPARATORS = re.compile(r"[,，;；\n]+")
SECRETS = {
    SourceKind.DIFY: _("API key"),
    SourceKind.HTTP: _("API key"),
    SourceKind.ELASTICSEARCH: _("API key or password"),
    SourceKind.SQL: _("Password"),
    SourceKind.LANGCHAIN: _("Not needed"),
}


class SourceForm(forms.Form):
    """`kind` chooses the options; `source`: the one to edit, without one a new one."""

    name = forms.CharField(
        label=_("Name"), max_length=100, help_text=_("As readers see it beside a passage.")
    )

    def __init__(
        self,
        *arguments: Any,
        kind: SourceKind,
        source: ExternalSource | None = None,
        **named: Any,
    ) -> None:
        if source is not None:
            numbers = {name: getattr(source, name) for name in NUMBERS}
            known = {"name": source.name, "filter_field": source.filter_field, **numbers}
            named["initial"] = known | {f"option.{name}": text for name, text in source.options.items()}
        super().__init__(*arguments, **named)
        self.kind, self.source = kind, source
        for option in OPTIONS[kind]:
            self.fields[f"option.{option.name}"] = _field(option)
        self.fields["secret"] = forms.CharField(
            label=SECRETS[kind],
            required=kind in NEEDS_SECRET and source is None,
            max_length=1000,
            strip=False,
            widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
            help_text=_("Write-only; leave empty to keep it.") if source and source.secret else "",
        )
        self.fields["filter_field"] = forms.CharField(
            label=_("Field to limit groups by"),
            required=False,
            max_length=100,
            help_text=_(
                "A field of the records, for example department. Leave empty if every group gets everything."
            ),
        )
        labels = {
            "try_ms": _("Time for one try (ms)"),
            "total_ms": _("Time for all tries (ms)"),
            "tries": _("Tries, three at most"),
            "concurrency": _("Questions at once"),
        }
        for name, (low, high) in NUMBERS.items():
            self.fields[name] = forms.IntegerField(
                label=labels[name], min_value=low, max_value=high, initial=DEFAULTS[name]
            )

    @property
    def option_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith("option.")]

    @property
    def limit_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in NUMBERS]

    def wanted(self, access: Mapping[int, tuple[str, ...]]) -> SourceInput:
        """What the valid form says."""
        data = self.cleaned_data
        return SourceInput(
            name=data["name"],
            kind=self.kind,
            options={
                name.removeprefix("option."): data[name] for name in self.fields if name.startswith("option.")
            },
            secret=data["secret"] or (None if self.source else ""),
            filter_field=data["filter_field"],
            access=access,
            **{name: data[name] for name in NUMBERS},
        )


def _field(option: Option) -> forms.Field:
    common: dict[str, Any] = {
        "label": option.label, "help_text": option.help, "required": option.required, "initial": option.default,
    }  # fmt: skip
    if option.choices:
        return forms.ChoiceField(choices=option.choices, **common | {"required": True})
    if option.lines > 1:
        attributes = {"rows": option.lines, "spellcheck": "false"}
        return forms.CharField(max_length=option.most, widget=forms.Textarea(attrs=attributes), **common)
    return forms.CharField(max_length=option.most, **common)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """values: as typed, or as stored."""

    id: int
    name: str
    is_chosen: bool
    values: str


class GroupRows:
    """The groups on the page: which are ticked, and the values that each is limited to."""

    def __init__(self, form: QueryDict | None, source: ExternalSource | None) -> None:
        held = {row.group_id: row.values for row in source.access.all()} if source else {}
        ticked = set(form.getlist("group")) if form is not None else set(map(str, held))
        self.rows = [
            GroupRow(
                id=group.pk,
                name=group_name(group),
                is_chosen=str(group.pk) in ticked,
                values=form.get(f"values.{group.pk}", "")[:5000]
                if form is not None
                else ", ".join(held.get(group.pk, ())),
            )
            for group in groups()
        ]

    def access(self) -> dict[int, tuple[str, ...]]:
        return {row.id: split_values(row.values) for row in self.rows if row.is_chosen}


def split_values(text: str) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(part.strip() for part in _SEPARATORS.split(text.replace("\x00", "")) if part.strip())
    )
