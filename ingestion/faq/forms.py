"""Forms of the FAQ pages: they parse what was typed. Rules live in `ingestion.faq.values` and the services."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from ingestion.faq.selectors import phrasings_of
from ingestion.faq.values import MAX_ANSWER, MAX_QUESTION, PairDraft
from ingestion.models import FaqPair


class PairForm(forms.Form):
    question = forms.CharField(label=_("Question"), max_length=MAX_QUESTION)
    answer = forms.CharField(
        label=_("Answer"),
        max_length=MAX_ANSWER,
        help_text=_(
            "Plain text, shown as it stands. Lines that begin with a number or a dash become a list."
        ),
        widget=forms.Textarea(attrs={"rows": 8}),
    )
    phrasings = forms.CharField(
        label=_("Other wordings"),
        required=False,
        max_length=20 * MAX_QUESTION,
        help_text=_(
            "One a line: how people ask the same, also in another language. Each gets this answer when it is asked."
        ),
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    owner = forms.EmailField(
        label=_("Owner"),
        required=False,
        help_text=_("E-mail address of whoever answers for it, and can see the collection. Empty: you."),
    )

    @classmethod
    def changing(cls, pair: FaqPair, data: Any) -> "PairForm":
        owner = pair.document.owner
        form = cls(
            data,
            initial={
                "question": pair.question,
                "answer": pair.answer,
                "phrasings": "\n".join(phrasings_of(pair)),
                "owner": owner.email if owner else "",
            },
        )
        form.fields["owner"].help_text = _(
            "E-mail address of whoever answers for it, and can see the collection."
        )
        return form

    def draft(self) -> PairDraft:
        data = self.cleaned_data
        return PairDraft(
            question=data["question"],
            answer=data["answer"],
            phrasings=tuple(data["phrasings"].splitlines()),
            owner_email=data["owner"],
        )


class ImportForm(forms.Form):
    file = forms.FileField(
        label=_("CSV file"),
        help_text=_(
            "Columns: question, answer, and if you like owner (an e-mail address); every further column is another wording. Any encoding."
        ),
        widget=forms.FileInput(attrs={"accept": ".csv,.tsv,.txt,text/csv"}),
        max_length=255,
    )
