"""Several uploaded files into one collection: each is stored and queued by itself, so one refusal stops no neighbour."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

from accounts.permissions.visibility import require
from accounts.values import Permission, Principal
from ingestion.blobs import store
from ingestion.models import Collection
from ingestion.services import upload_document
from ingestion.values import SourceFile, clean_name
from kb_platform.errors import KnowledgeBaseError


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """`unchanged` files hold the bytes that are the newest version already; `problems` are sentences to show."""

    accepted: int
    unchanged: int
    problems: tuple[str, ...]


def receive(principal: Principal, collection: Collection, files: Sequence["UploadedFile[Any]"]) -> Received:
    """Queue the files. Raises NotFound or NotAllowed before any is stored."""
    require(principal, Permission.CONTRIBUTE, collection.scope_id)
    accepted = unchanged = 0
    problems = [] if files else [_("Choose at least one file.")]
    for file in files:
        name = clean_name(file.name or "")
        try:
            source = SourceFile(name=name, blob=store(file.chunks()))
            upload = upload_document(actor=principal, collection=collection, file=source)
        except KnowledgeBaseError as error:
            problems.append(f"{name}: {error}")
        else:
            accepted += upload.created
            unchanged += not upload.created
    return Received(accepted=accepted, unchanged=unchanged, problems=tuple(problems))
