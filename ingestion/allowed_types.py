"""Which types of files may be uploaded, as administrators set it. Judged by content, as parsing does."""

from django.utils.translation import gettext as _

from ingestion.blobs import Blob, path_of
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import BY_EXTENSION, CONTAINERS, DocumentKind, extension_of
from ingestion.parsing.kinds import HEAD_BYTES, inspect_archive, sniff
from kb_platform.errors import InvalidInput
from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import FILE_TYPES


def refuse_disallowed(name: str, blob: Blob) -> None:
    """Raise InvalidInput for a type that is switched off. What no parser reads is left to parsing, which says why."""
    allowed = store.get(FILE_TYPES)
    if set(allowed) == set(FILE_TYPES.default):
        return
    try:
        kind = _kind_of(name, blob)
    except Rejected:
        return
    labels = dict(FILE_TYPES.choices)
    found = kind.value
    if found in labels and found not in allowed:
        raise InvalidInput(
            _("%(kind)s files may not be uploaded here. Allowed: %(allowed)s.")
            % {"kind": labels[found], "allowed": FILE_TYPES.shown(allowed)},
            code="type_not_allowed",
        )


def _kind_of(name: str, blob: Blob) -> DocumentKind:
    """Of a container the kind that its name says, which parsing refuses if it is not true; it is opened without one."""
    with path_of(blob.digest).open("rb") as file:
        kind = sniff(file.read(HEAD_BYTES), file_name=name)
        if kind not in CONTAINERS:
            return kind
        named = BY_EXTENSION.get(extension_of(name))
        return named.kind if named else inspect_archive(file, kind, file_name=name)
