"""Why a version ended as it did, as a sentence in the reader's language that says what to do."""

from collections.abc import Collection as Some
from collections.abc import Mapping

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.models import DocumentVersion, UploadedFile
from ingestion.parsing import errors as parsing

REASONS = {
    "cancelled": _("Cancelled. Start it again when you want it read."),
    "newer_version": _("A newer file was uploaded before this one was read."),
    "workers_died": _(
        "Reading it stopped three times without a result, so it was set aside. Try again, or upload it in another format."
    ),
    "kept_failing": _(
        "Working on it failed three times, at last with “%(cause)s”, so it was set aside. Try again; if that does not help, show this to an administrator."
    ),
    "deadline": _(
        "It took longer than the %(hours)s hours allowed (setting “Longest time”), so it was set aside. Split the file, or ask an administrator to raise the limit, then try again."
    ),
    "stalled": _(
        "It got no further for %(minutes)s minutes (setting “Without progress”), so it was set aside. Try again when less is going on, or split the file."
    ),
    "file_missing": _(
        "The stored file is missing on the server. Upload it again, or have an administrator restore it from a backup."
    ),
}
AT_THE_DOOR = {
    "too_large_file": _(
        "The file is larger than %(limit)s MB. Split it, or ask an administrator to raise the limit."
    ),
    "name_too_long": _("The name has more than %(limit)s characters. Shorten it and upload the file again."),
    "too_deep": _("Files inside files are read to a depth of %(limit)s. Upload this one by itself."),
    "too_many": _("At most %(limit)s are read from one upload. Upload this file by itself."),
    "not_stored": _("The file could not be stored. Upload it again."),
}


def refusal_text(file: UploadedFile) -> str:
    """Why a file of an upload was refused at once, and what to do."""
    return refusal_sentence(file.reason_code, file.reason_params)


def refusal_sentence(code: str, params: dict[str, object]) -> str:
    if "cause" in params:  # in the words of whatever refused it
        return str(params["cause"])
    if code in AT_THE_DOOR:
        return str(AT_THE_DOOR[code]) % params
    return parsing.reason_text(code, params)


def reason_text(version: DocumentVersion) -> str:
    """An empty string when there is nothing to explain."""
    if not version.reason_code:
        return ""
    return reason_sentence(version.reason_code, version.reason_params)


def reason_sentence(code: str, params: Mapping[str, object]) -> str:
    if code in REASONS:
        return str(REASONS[code]) % {"hours": "?", "minutes": "?", "cause": "?", **params}
    return parsing.reason_text(code, params)


def outcome_text(entry: UploadedFile, visible: Some[int]) -> str:
    """What became of a file at the door, as a sentence; a copy is named if its scope is among the visible ones."""
    if entry.outcome == UploadedFile.Outcome.REFUSED:
        return refusal_text(entry)
    if entry.outcome == UploadedFile.Outcome.UNCHANGED:
        return gettext("The same as before; left as it is.")
    if entry.same_as and entry.same_as.scope_id in visible:
        return gettext("Received; byte for byte the same as “%(title)s”.") % {"title": entry.same_as.title}
    return gettext("Received; being read.")


CAUSES = {
    "workers_died": _("Workers stopped three times"),
    "kept_failing": _("Failed three times"),
    "deadline": _("Took longer than allowed"),
    "stalled": _("Got no further"),
    "file_missing": _("Stored file is missing"),
    "encrypted": _("Password-protected"),
    "truncated": _("File breaks off"),
    "corrupt": _("Damaged file"),
    "empty": _("Empty file"),
    "unsupported": _("Type not supported"),
    "wrong_name": _("Name and content differ"),
    "too_large": _("Needs too much space"),
    "too_complex": _("Too complex"),
    "no_text": _("No text"),
    "timeout": _("Reading took too long"),
    "crashed": _("Reader stopped"),
}


def cause_text(code: str) -> str:
    """A reason in few words, without anything of the file it happened to."""
    return str(CAUSES.get(code, _("Could not be read")))


# Reading these again comes to the same end; what helps is another file, and each reason's sentence says which.
RETRY_IS_USELESS = frozenset(
    {"encrypted", "truncated", "corrupt", "empty", "unsupported", "wrong_name", "no_text"}
)
HELPS = {
    "workers_died": _("Try again, or save the file in another format"),
    "kept_failing": _("Try again when less is going on; the page of the document names the cause"),
    "deadline": _("Raise the limit, or split the file"),
    "stalled": _("Try again when less is going on"),
    "file_missing": _("Restore it from a backup, or upload it again"),
    "encrypted": _("Upload it without the password"),
    "truncated": _("Upload the complete file"),
    "corrupt": _("Save it anew in its own program, then upload that"),
    "empty": _("Upload the version that has content"),
    "unsupported": _("Convert it, then upload that"),
    "wrong_name": _("Correct the name, then upload it"),
    "too_large": _("Split the file"),
    "too_complex": _("Simplify or split the file"),
    "no_text": _("Upload a version with text"),
    "timeout": _("Try again, or split the file"),
    "crashed": _("Try again, or save the file anew"),
}


def retry_helps(code: str) -> bool:
    """Whether trying a failed file again can come to another end."""
    return code not in RETRY_IS_USELESS


def what_helps(code: str) -> str:
    """What a person can do about a reason, in few words; the log of the file says more."""
    return str(HELPS.get(code, _("See the reason on the page of the document")))
