"""Why a version ended as it did, as a sentence in the reader's language that says what to do."""

from django.utils.translation import gettext_lazy as _

from ingestion.models import DocumentVersion
from ingestion.parsing import errors as parsing

REASONS = {
    "cancelled": _("Cancelled. Start it again when you want it read."),
    "newer_version": _("A newer file was uploaded before this one was read."),
    "workers_died": _(
        "Reading it stopped three times without a result, so it was set aside. Try again, or upload it in another format."
    ),
    "deadline": _(
        "It took longer than allowed, so it was given up. Split the file, or try again when less is going on."
    ),
}


def reason_text(version: DocumentVersion) -> str:
    """An empty string when there is nothing to explain."""
    if not version.reason_code:
        return ""
    if version.reason_code in REASONS:
        return str(REASONS[version.reason_code])
    return parsing.reason_text(version.reason_code, version.reason_params)
