"""Which types of files may be uploaded, as administrators set it. Judged by content, as parsing does."""

from django.utils.translation import gettext as _

from ingestion.blobs import Blob, path_of
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import DocumentKind
from ingestion.parsing.kinds import HEAD_BYTES, sniff
from kb_platform.errors import InvalidInput
from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import FILE_TYPES


def refuse_disallowed(name: str, blob: Blob) -> None:
    """Raise InvalidInput for a type that is switched off. What no parser reads is left to parsing, which says why."""
    allowed = store.get(FILE_TYPES)
    if set(allowed) == set(FILE_TYPES.default):
        return
    with path_of(blob.digest).open("rb") as file:
        head = file.read(HEAD_BYTES)
    try:
        kind = sniff(head, file_name=name)
    except Rejected:
        return
    found = DocumentKind.DOCX if kind is DocumentKind.ZIP else kind
    labels = dict(FILE_TYPES.choices)
    if found in labels and found not in allowed:
        raise InvalidInput(
            _("%(kind)s files may not be uploaded here. Allowed: %(allowed)s.")
            % {"kind": labels[found], "allowed": FILE_TYPES.shown(allowed)},
            code="type_not_allowed",
        )
