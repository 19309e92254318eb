"""Why a file was not taken: a code with parameters, and the sentence a reader sees for it.

Codes and parameters are stored and cross process borders; sentences are made at the moment of reading, in the
reader's language. Django is imported only then, so that the parsing child starts without it.
"""

import re
from collections.abc import Callable, Mapping

# The file may be innocent: worth another attempt, and quarantine rather than rejection after the last.
DOUBTFUL_CODES = frozenset({"crashed", "timeout"})


def _(sentence: str) -> str:
    """Marks a sentence for translation; `_render` translates it."""
    return sentence


_REASONS: dict[str, str] = {
    "encrypted": _("The file has a password. Remove it and upload again."),
    "truncated": _("The file breaks off before its end. Upload the complete file again."),
    "corrupt": _(
        "The file is damaged and cannot be read. Open it in its own program, save it anew and upload that."
    ),
    "empty": _("The file is empty. Upload the version that has content."),
    "unsupported": _(
        "%(kind)s files are not supported yet. Supported: %(supported)s. Convert the file and upload that."
    ),
    "needs_program": _(
        "%(kind)s files are read with the program %(program)s, which is not available here. Save the file as %(other)s and upload that."
    ),
    "wrong_name": _(
        "The file is named %(named)s but its content is %(kind)s. Correct the name or upload the right file."
    ),
    "too_large": _(
        "The file needs more space or memory than is allowed (%(limit)s). Split it and upload the parts."
    ),
    "too_complex": _(
        "The file is too complex to be read within the limits (%(limit)s). Simplify or split it."
    ),
    "no_text": _(
        "The file holds no text that can be read, nor do its pictures. Upload a version with text, or a sharper scan."
    ),
    "timeout": _(
        "Reading the file took longer than %(seconds)s seconds and was stopped. Split the file or try again."
    ),
    "crashed": _(
        "The reader stopped unexpectedly on this file. Try again; if it repeats, save the file anew and upload that."
    ),
}

# What is said instead of `unsupported` where its parameter `hint` knows better what to do.
_HINTS: dict[str, str] = {
    "media": _(
        "Sound and video (%(kind)s) are not read. Upload the subtitles (SRT or VTT): what is said becomes searchable with its time."
    ),
    "archive": _(
        "Archives of this kind (%(kind)s) cannot be opened here. Unpack it and upload the files, or pack them as ZIP."
    ),
}

_WARNINGS: dict[str, str] = {
    "pages_without_text": _("The text in the pictures of pages %(value)s could not be read (OCR)."),
    "pages_of_pictures": _("Pages %(value)s show pictures without text."),
    "ocr_unsure": _("The text of pages %(value)s was read from pictures (OCR) and may hold many errors."),
    "pages_failed": _("Pages %(value)s could not be read."),
    "tables_failed": _("Tables on pages %(value)s were read as plain text."),
    "pages_garbled": _("The text of pages %(value)s looks garbled."),
    "repaired": _("The file was damaged and has been repaired; parts may be missing."),
    "lossy_encoding": _("Some characters could not be decoded and were replaced."),
    "parts_skipped": _("Embedded parts were not read: %(value)s."),
    "pictures_unread": _("Text in %(value)s pictures was not read."),
    "members_refused": _(
        "Members that point outside of the archive, or are links, were left out: %(value)s."
    ),
    "members_damaged": _("Members that are damaged in the archive were left out: %(value)s."),
    "attachments_unsupported": _("Files inside it that cannot be read here: %(value)s."),
    "attachments_media": _(
        "Sound and video inside it is not read; upload its subtitles (SRT or VTT): %(value)s."
    ),
    "attachments_encrypted": _("Files inside it that have a password: %(value)s."),
    "attachments_empty": _("Empty files inside it: %(value)s."),
    "attachments_not_allowed": _("Files inside it whose type may not be uploaded here: %(value)s."),
    "attachments_too_deep": _(
        "Files inside files are read to a depth of 5; these lie deeper: %(value)s. Upload them by themselves."
    ),
    "attachments_too_many": _(
        "At most 5,000 files and 2 GB are read from one upload; these are beyond: %(value)s. Upload them by themselves."
    ),
    "slides_hidden": _("Slides %(value)s are hidden in the presentation; their text was read."),
    "winmail": _(
        "%(value)s was not read: only Outlook can open it. Have the mail sent again without rich text."
    ),
    "too_many_parts": _("Only the first %(value)s attachments were taken."),
    "not_well_formed": _("The file breaks the rules of %(value)s and was read as plain text."),
    "lines_failed": _("Lines %(value)s are damaged and were kept as plain text."),
    "sheets_hidden": _("Hidden sheets were read too: %(value)s."),
    "sheets_failed": _("These sheets are damaged and were read in part or not at all: %(value)s."),
    "formulas_unsolved": _(
        "The results of %(value)s formulas are not in the file. Open it in a spreadsheet program, save it and upload it again."
    ),
    "formats_lost": _(
        "The formats of the cells are damaged: dates and percentages are shown as plain numbers."
    ),
    "second_reader": _("A simpler reader had to read this file; headings and tables may be missing."),
    "deep_nesting": _("Very deep nesting was flattened."),
}
# Values of parameters that are words; a number in one stands as %(n)s here.
_VALUES = frozenset(
    {
        _("plain text"),
        _("memory"),
        _("%(n)s elements"),
        _("%(n)s pages"),
        _("%(n)s parts"),
        _("%(n)s slides"),
        _("%(n)s sheets"),
        _("%(n)s rows in a sheet"),
        _("%(n)s cells"),
        _("%(n)s values"),
        _("%(n)s megapixels"),
        _("%(n)s groups in groups"),
        _("%(n)s MB unpacked"),
        _("%(n)s MB of text"),
        _("%(n)s MB of result"),
        _("compression ratio %(n)s"),
        _("nesting depth %(n)s"),
    }
)
_UNKNOWN_REASON = _("The file could not be read.")
_NUMBER = re.compile(r"\d[\d,]*")
_DEFAULTS = {
    "kind": "?",
    "program": "?",
    "other": "?",
    "named": "?",
    "limit": "–",
    "seconds": "–",
    "value": "–",
}


class Rejected(Exception):
    """This file will not be parsed; `code` names the reason and `params` fill its sentence (JSON scalars only)."""

    def __init__(self, code: str, **params: str | int | float) -> None:
        if code not in _REASONS:
            raise ValueError(f"unknown reason {code!r}")
        super().__init__(code, params)
        self.code = code
        self.params = params

    def __str__(self) -> str:
        return f"{self.code} {self.params}" if self.params else self.code

    def __reduce__(self) -> tuple[object, ...]:
        return (_restore, (self.code, self.params))


def _restore(code: str, params: dict[str, str | int | float]) -> Rejected:
    return Rejected(code, **params)


def reason_text(code: str, params: Mapping[str, object] | None = None) -> str:
    """The sentence for a stored reason in the language active now; an unknown code gets a general sentence."""
    params = params or {}
    sentence = _REASONS.get(code, _UNKNOWN_REASON)
    if code == "unsupported":
        sentence = _HINTS.get(str(params.get("hint", "")), sentence)
    return _render(sentence, params)


def warning_text(warning: str) -> str:
    """The sentence for one entry of `Quality.warnings`, written `code` or `code:value`."""
    code, _sep, value = warning.partition(":")
    return _render(_WARNINGS[code], {"value": value}) if code in _WARNINGS else warning


def _render(sentence: str, params: Mapping[str, object]) -> str:
    from django.utils.translation import gettext

    from ingestion.parsing.formats import supported_labels

    told = {name: _value(value, gettext) for name, value in params.items()}
    return gettext(sentence) % {**_DEFAULTS, "supported": supported_labels(), **told}


def _value(value: object, translate: Callable[[str], str]) -> object:
    """The value in the reader's language where it is one of ours."""
    pattern = _NUMBER.sub("%(n)s", value, count=1) if isinstance(value, str) else ""
    if pattern not in _VALUES:
        return value
    number = _NUMBER.search(str(value))
    return translate(pattern) % {"n": number[0] if number else ""}
