"""Forms of the pages: what a field is and looks like. The rules live in the services, whose refusals `show` places."""

import re
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import Group
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.selectors import all_staff, group_name, groups, open_collections
from accounts.tokens import DEFAULT_DAYS, allowed_scopes, longest_days
from accounts.values import TokenScope
from kb_platform.errors import KnowledgeBaseError

PASSWORD_HINT = _("At least 12 characters. A phrase is easier to remember and safer than symbols.")
SCOPE_LABELS = {
    TokenScope.SEARCH: _("Search: returns passages and sources"),
    TokenScope.ASK: _("Ask: writes cited answers"),
    TokenScope.INGEST: _("Ingest: uploads and updates documents"),
    TokenScope.ADMIN: _("Admin: manages people, groups and settings"),
}


def show(form: forms.Form, error: KnowledgeBaseError) -> None:
    """Put a service's refusal at the fields it names, or above the form."""
    for field, text in error.fields.items():
        form.add_error(field if field in form.fields else None, str(text))
    if not error.fields:
        form.add_error(None, str(error))


def _password(label: Any, autocomplete: str, **more: Any) -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
    return forms.CharField(label=label, widget=widget, strip=False, max_length=1000, **more)


def _email(autocomplete: str) -> forms.EmailField:
    widget = forms.EmailInput(attrs={"autocomplete": autocomplete})
    return forms.EmailField(label=_("E-mail"), widget=widget, max_length=254)


class SignInForm(forms.Form):
    email = forms.CharField(
        label=_("E-mail"), max_length=254, widget=forms.TextInput(attrs={"autocomplete": "username"})
    )
    password = _password(_("Password"), "current-password")


class FirstStartForm(forms.Form):
    name = forms.CharField(
        label=_("Name"), max_length=150, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    email = _email("username")
    password = _password(_("Password"), "new-password", help_text=PASSWORD_HINT)


class UserForm(forms.Form):
    """`user`: the account to edit; without one a new one."""

    name = forms.CharField(label=_("Name"), max_length=150, required=False)
    email = _email("off")
    password = _password(_("Password"), "new-password", required=False)
    groups = forms.TypedMultipleChoiceField(
        label=_("Groups"), coerce=int, required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *arguments: Any, user: User | None = None, **named: Any) -> None:
        if user is not None:
            held = list(user.groups.values_list("pk", flat=True))
            named["initial"] = {"name": user.name, "email": user.email, "groups": held}
        super().__init__(*arguments, **named)
        everybody = all_staff().pk
        choices = [(group.pk, group_name(group)) for group in groups() if group.pk != everybody]
        self.fields["groups"].choices = choices  # type: ignore[attr-defined]
        self.fields["password"].help_text = (
            _("Leave empty to keep the present one. %(hint)s") % {"hint": PASSWORD_HINT}
            if user
            else PASSWORD_HINT
        )


class GroupForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=150)

    def __init__(self, *arguments: Any, group: Group | None = None, **named: Any) -> None:
        named["initial"] = {"name": group.name} if group else None
        super().__init__(*arguments, **named)


class MembersForm(forms.Form):
    emails = forms.CharField(
        label=_("E-mail addresses"),
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Separated by spaces, commas or lines."),
    )

    def clean_emails(self) -> list[int]:
        """The ids of the accounts."""
        wanted = {part.lower() for part in re.split(r"[\s,;，；]+", self.cleaned_data["emails"]) if part}
        found = dict(User.objects.filter(email__in=wanted).values_list("email", "pk"))
        if missing := sorted(wanted - found.keys()):
            raise forms.ValidationError(
                _("There is no account with this address: %(emails)s"), params={"emails": ", ".join(missing)}
            )
        return list(found.values())


class ProfileForm(forms.Form):
    name = forms.CharField(
        label=_("Name"), max_length=150, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    language = forms.ChoiceField(
        label=_("Language"), choices=[("", _("As the browser")), *settings.LANGUAGES], required=False
    )
    theme = forms.ChoiceField(label=_("Appearance"), choices=User.Theme.choices)

    letter_shortcuts = forms.BooleanField(
        label=_("Single-letter shortcuts (J, K, X …)"),
        required=False,
        help_text=_("Turn them off if you use speech input or a screen reader."),
    )

    def __init__(self, *arguments: Any, user: User, **named: Any) -> None:
        fields = ("name", "language", "theme", "letter_shortcuts")
        named["initial"] = {field: getattr(user, field) for field in fields}
        super().__init__(*arguments, **named)


class PasswordForm(forms.Form):
    current = _password(_("Present password"), "current-password")
    password = _password(_("New password"), "new-password", help_text=PASSWORD_HINT)


class NewPasswordForm(forms.Form):
    """For whoever has a one-time link."""

    password = _password(_("New password"), "new-password", help_text=PASSWORD_HINT)


class TokenForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=100, help_text=_("Who uses it, and where."))
    scopes = forms.TypedMultipleChoiceField(
        label=_("What it may do"), coerce=TokenScope, widget=forms.CheckboxSelectMultiple
    )
    collections = forms.TypedMultipleChoiceField(
        label=_("Limited to"), coerce=int, required=False, widget=forms.CheckboxSelectMultiple
    )
    days = forms.IntegerField(label=_("Days until it ends"), min_value=1)

    def __init__(self, *arguments: Any, user: User, **named: Any) -> None:
        super().__init__(*arguments, **named)
        allowed = allowed_scopes(user)
        longest = longest_days()
        self.fields["days"].help_text = _("Required, %(days)d at most.") % {"days": longest}
        self.fields["days"].widget.attrs["max"] = longest
        self.fields["collections"].choices = [  # type: ignore[attr-defined]
            (collection.scope_id, collection.name) for collection in open_collections(user)
        ]
        self.initial.setdefault("days", min(DEFAULT_DAYS, longest_days()))
        self.fields["scopes"].choices = [  # type: ignore[attr-defined]
            (scope.value, label) for scope, label in SCOPE_LABELS.items() if scope in allowed
        ]
