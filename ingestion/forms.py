"""Forms of the pages: they parse what was typed. Rules live in the services."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from ingestion.models import Collection, Document
from ingestion.values import Attributes
from kb_platform.errors import KnowledgeBaseError


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


class DocumentForm(forms.Form):
    title = forms.CharField(label=_("Title"), max_length=500)
    doc_type = forms.CharField(
        label=_("Type"),
        required=False,
        max_length=100,
        help_text=_("For example policy, manual or release notes."),
    )
    department = forms.CharField(label=_("Department"), required=False, max_length=200)
    security_level = forms.CharField(label=_("Security level"), required=False, max_length=100)
    tags = forms.CharField(
        label=_("Tags"), required=False, max_length=2000, help_text=_("Separated by commas.")
    )

    @classmethod
    def showing(cls, document: Document) -> "DocumentForm":
        fields = ("title", "doc_type", "department", "security_level")
        values = {name: getattr(document, name) for name in fields}
        return cls(initial={**values, "tags": ", ".join(document.tags)})

    def attributes(self) -> Attributes:
        data = dict(self.cleaned_data)
        words = data.pop("tags").replace("，", ",").replace("、", ",").split(",")
        return Attributes(**data, tags=tuple(word.strip() for word in words if word.strip()))


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
