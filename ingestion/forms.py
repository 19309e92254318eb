"""Forms of the pages: they parse what was typed. Rules live in the services."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from django_stubs_ext import StrOrPromise

from ingestion.fields import MAX_LABEL, clean_value, clean_values, fields_of, merged
from ingestion.models import Collection, Document, MetadataField
from ingestion.values import Attributes, MetadataChange
from kb_platform.errors import InvalidInput, KnowledgeBaseError


class CollectionForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=200)
    description = forms.CharField(
        label=_("Note for readers"), required=False, max_length=2000, widget=forms.Textarea(attrs={"rows": 3})
    )
    language = forms.ChoiceField(
        label=_("Main language"),
        required=False,
        choices=[
            ("", _("No single one")),
            ("zh", pgettext_lazy("language of a document", "Chinese")),
            ("en", pgettext_lazy("language of a document", "English")),
        ],
    )


class SuggestingInput(forms.TextInput):
    """A line with values to choose from, which are only offered: anything may be typed."""

    def __init__(self, suggestions: Sequence[str] = ()) -> None:
        super().__init__()
        self.suggestions = suggestions

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        if not self.suggestions:
            return super().render(name, value, attrs, renderer)
        known_as = f"{(attrs or {}).get('id', name)}-known"
        line = super().render(name, value, {**(attrs or {}), "list": known_as}, renderer)
        options = format_html_join("", '<option value="{}"></option>', ((text,) for text in self.suggestions))
        return format_html('{}<datalist id="{}">{}</datalist>', line, known_as, options)


Suggestions = Mapping[str, Sequence[str]]
WORD_LABELS = {"doc_type": _("Type"), "department": _("Department"), "security_level": _("Security level")}


def word_controls(suggestions: Suggestions) -> dict[str, forms.CharField]:
    """Type, department and security level, with the values in use."""
    limits = {"doc_type": 100, "department": 200, "security_level": 100}
    helps = {"doc_type": _("For example policy, manual or release notes.")}
    return {
        name: forms.CharField(
            label=label,
            required=False,
            max_length=limits[name],
            help_text=helps.get(name, ""),
            widget=SuggestingInput(suggestions.get(name, ())),
        )
        for name, label in WORD_LABELS.items()
    }


def tags_control(suggestions: Sequence[str], label: StrOrPromise = "") -> forms.CharField:
    return forms.CharField(
        label=label or _("Tags"),
        required=False,
        max_length=2000,
        help_text=_("Separated by commas."),
        widget=SuggestingInput(suggestions),
    )


def split_tags(text: str) -> tuple[str, ...]:
    """The words between commas of either script."""
    words = text.replace("，", ",").replace("、", ",").split(",")
    return tuple(dict.fromkeys(word.strip()[:100] for word in words if word.strip()))


def own_name(field: MetadataField, prefix: str = "own") -> str:
    """What the control of an own field is called in a form."""
    return f"{prefix}-{field.key}"


def own_control(field: MetadataField, stored: Any = None) -> forms.Field:
    """The control for a value of an own field; its rules lie in `ingestion.fields`. stored: a value that stays on offer."""
    nothing = ("", "—")
    if field.kind == MetadataField.Kind.BOOLEAN:
        return forms.ChoiceField(
            label=field.label, required=False, choices=[nothing, ("true", _("Yes")), ("false", _("No"))]
        )
    if field.kind == MetadataField.Kind.CHOICE:
        kept = [stored] if isinstance(stored, str) and stored not in field.choices else []
        choices = [nothing, *((choice, choice) for choice in [*field.choices, *kept])]
        return forms.ChoiceField(label=field.label, required=False, choices=choices)
    widget = forms.TextInput()
    if field.kind == MetadataField.Kind.NUMBER:
        widget = forms.TextInput(attrs={"inputmode": "decimal"})
    elif field.kind == MetadataField.Kind.DATE:
        widget = forms.DateInput(attrs={"type": "date"})
    return forms.CharField(label=field.label, required=False, max_length=1000, widget=widget)


def own_initial(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


class OwnFieldsForm(forms.Form):
    """A form that may have controls for own fields. `own_values` holds what was typed, checked, None for nothing."""

    own_prefix = "own"

    def add_own(self, fields: Iterable[MetadataField], stored: Mapping[str, Any] | None = None) -> None:
        self.own_fields = list(fields)
        self.stored = stored or {}
        for field in self.own_fields:
            name = own_name(field, self.own_prefix)
            self.fields[name] = own_control(field, self.stored.get(field.key))
            if field.key in self.stored:
                self.initial[name] = own_initial(self.stored[field.key])

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        self.own_values: dict[str, Any] = {}
        for field in self.own_fields:
            name = own_name(field, self.own_prefix)
            typed, stored = data.get(name), self.stored.get(field.key)
            if stored is not None and typed == str(own_initial(stored)):
                self.own_values[field.key] = stored
                continue
            try:
                self.own_values[field.key] = clean_value(field, typed)
            except ValueError as error:
                self.add_error(name, str(error))
        return data


class DocumentForm(OwnFieldsForm):
    """What people say about one document. Own fields stand below; values that no field defines are kept."""

    def __init__(
        self, *args: Any, document: Document, suggestions: Suggestions | None = None, **kwargs: Any
    ) -> None:
        words = {name: getattr(document, name) for name in ("title", *WORD_LABELS)}
        kwargs["initial"] = {**words, "tags": ", ".join(document.tags)}
        super().__init__(*args, **kwargs)
        known = suggestions or {}
        self.fields["title"] = forms.CharField(label=_("Title"), max_length=500)
        self.fields |= word_controls(known)
        self.fields["tags"] = tags_control(known.get("tags", ()))
        self.add_own(fields_of(document.collection), document.metadata)

    def attributes(self) -> Attributes:
        words = {name: self.cleaned_data[name] for name in ("title", *WORD_LABELS)}
        own = merged(self.stored, self.own_values) if self.own_fields else None
        return Attributes(**words, tags=split_tags(self.cleaned_data["tags"]), metadata=own)


class UploadMetadataForm(forms.Form):
    """What is said of every file of an upload. The own fields of each collection stand in a group with names of their own,
    so that the form works before a collection is chosen; those of the chosen one count.
    """

    def __init__(
        self,
        data: Any = None,
        *,
        targets: Sequence[Collection],
        fields: Iterable[MetadataField],
        suggestions: Suggestions,
    ) -> None:
        super().__init__(data)
        self.fields |= word_controls(suggestions)
        self.fields["tags"] = tags_control(suggestions.get("tags", ()))
        self.own: dict[Collection, dict[str, MetadataField]] = {target: {} for target in targets}
        by_key = {target.pk: target for target in targets}
        for field in fields:
            if target := by_key.get(field.collection_id):
                name = own_name(field, f"own-{target.uid}")
                self.fields[name] = own_control(field)
                self.own[target][name] = field

    @property
    def words(self) -> list[forms.BoundField]:
        return [self[name] for name in (*WORD_LABELS, "tags")]

    @property
    def groups(self) -> list[tuple[Collection, list[forms.BoundField]]]:
        """The controls of each collection that defines fields."""
        return [(target, [self[name] for name in names]) for target, names in self.own.items() if names]

    def change_for(self, collection: Collection) -> MetadataChange:
        """What was typed for files of this collection. Raises InvalidInput that says what cannot be used."""
        if not self.is_valid():
            raise InvalidInput(" ".join(str(error) for errors in self.errors.values() for error in errors))
        data = self.cleaned_data
        words: dict[str, Any] = {name: data[name] or None for name in WORD_LABELS}
        typed = {field.key: data[name] for name, field in self.own.get(collection, {}).items() if data[name]}
        values = clean_values(self.own.get(collection, {}).values(), typed)
        return MetadataChange(**words, add_tags=split_tags(data["tags"]), values=values)


class BulkMetadataForm(OwnFieldsForm):
    """A change of many documents: what is left empty stays as it is, what is ticked is emptied."""

    def __init__(
        self,
        *args: Any,
        fields: Iterable[MetadataField],
        suggestions: Suggestions | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        known = suggestions or {}
        self.fields |= word_controls(known)
        self.fields["add_tags"] = tags_control(known.get("tags", ()), _("Add tags"))
        self.fields["remove_tags"] = tags_control(known.get("tags", ()), _("Remove tags"))
        self.add_own(fields)
        own = [(own_name(field), field.label) for field in self.own_fields]
        self.fields["clear"] = forms.MultipleChoiceField(
            label=_("Empty these"),
            required=False,
            choices=[*WORD_LABELS.items(), ("tags", _("Tags")), *own],
            widget=forms.CheckboxSelectMultiple,
        )

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        for name in data.get("clear", ()):
            if data.get(name):
                self.add_error(name, _("Give a value or empty it, not both."))
        if not self.errors and not self.change():
            raise forms.ValidationError(_("Nothing is changed yet. Fill in or tick something."))
        return data

    def change(self) -> MetadataChange:
        data, cleared = self.cleaned_data, set(self.cleaned_data.get("clear", ()))
        words: dict[str, Any] = {
            name: data[name] or ("" if name in cleared else None) for name in WORD_LABELS
        }
        names = {field.key: own_name(field) for field in self.own_fields}
        values = {
            key: value for key, value in self.own_values.items() if value is not None or names[key] in cleared
        }
        return MetadataChange(
            **words,
            add_tags=split_tags(data["add_tags"]),
            remove_tags=split_tags(data["remove_tags"]),
            clear_tags="tags" in cleared,
            values=values,
        )


class FieldForm(forms.Form):
    """A field of a collection. Its kind is chosen once, because values are kept by it."""

    label = forms.CharField(label=_("Name"), max_length=MAX_LABEL)
    kind = forms.ChoiceField(label=_("Kind"), choices=MetadataField.Kind.choices)
    choices = forms.CharField(
        label=_("Choices"),
        required=False,
        max_length=20_000,
        help_text=_("For a field of kind “choice”: one on each line."),
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    @classmethod
    def changing(cls, field: MetadataField, data: Any = None) -> "FieldForm":
        """For a field that exists: its kind stays."""
        form = cls(data, initial={"label": field.label, "choices": "\n".join(field.choices)})
        del form.fields["kind"]
        if field.kind != MetadataField.Kind.CHOICE:
            del form.fields["choices"]
        return form

    def lines(self) -> list[str]:
        return [line.strip() for line in self.cleaned_data.get("choices", "").splitlines() if line.strip()]


class MoveForm(forms.Form):
    collection = forms.ChoiceField(label=_("Move to collection"))

    def __init__(self, *args: Any, collections: list[Collection], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["collection"].choices = [(str(row.uid), row.name) for row in collections]  # type: ignore[attr-defined]


class DeleteForm(forms.Form):
    """Deleting needs the name typed, so that it cannot happen by a slip."""

    typed = forms.CharField(
        label=_("Type the name to confirm"), widget=forms.TextInput(attrs={"autocomplete": "off"})
    )

    def __init__(self, *args: Any, name: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = name
        self.fields["typed"].help_text = name

    def clean_typed(self) -> str:
        typed: str = self.cleaned_data["typed"]
        if " ".join(typed.split()) != " ".join(self.name.split()):
            raise forms.ValidationError(_("This is not the name."))
        return typed


class NumberForm(forms.Form):
    """Deleting many documents needs their number typed."""

    typed = forms.CharField(
        label=_("Type the number of documents to confirm"),
        max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "off", "inputmode": "numeric"}),
    )

    def __init__(self, *args: Any, number: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.number = number
        self.fields["typed"].help_text = f"{number:,}"

    def clean_typed(self) -> str:
        typed: str = self.cleaned_data["typed"]
        if typed.replace(",", "").replace("，", "").strip() != str(self.number):
            raise forms.ValidationError(_("This is not the number of documents."))
        return typed


class OwnerForm(forms.Form):
    owner = forms.EmailField(label=_("E-mail of the new owner"), max_length=254)


def show_refusal(form: forms.Form, error: KnowledgeBaseError) -> None:
    """Put what a service refused at the fields it names, or at the top."""
    if not error.fields:
        form.add_error(None, str(error))
    for name, reason in error.fields.items():
        form.add_error(name if name in form.fields else None, str(reason))
