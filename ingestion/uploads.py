"""Uploads: a batch of files into one collection. Each file is stored and queued by itself, so one refusal stops no neighbour.

The same file under the same name and path changes nothing. Under another it is taken, and the copy that the person may see
already is told: two paths are two documents, whatever they hold. What is hidden from the person is never told.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.core.files.uploadedfile import UploadedFile as Incoming
from django.db import transaction
from django.db.models import Case, Count, F, IntegerField, Max, Q, QuerySet, Sum, Value, When
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from accounts.permissions.grants import grants_of
from accounts.permissions.visibility import require, visible_scopes
from accounts.values import GrantRequest, Holder, HolderKind, Permission, Principal
from ingestion import services
from ingestion.blobs import Blob, store
from ingestion.bulk_metadata import apply_to
from ingestion.fields import clean_values, fields_of
from ingestion.intake import require_place
from ingestion.models import (
    IN_FORCE,
    UNFINISHED,
    Collection,
    Document,
    DocumentVersion,
    IngestJob,
    UploadBatch,
    UploadedFile,
    VersionState,
)
from ingestion.parsing.kinds import hint_of, unsupported_name
from ingestion.reasons import RETRY_IS_USELESS
from ingestion.selectors import parse_uid
from ingestion.values import MAX_NAME, MetadataChange, SourceFile, clean_name, clean_path
from kb_platform.audit import record
from kb_platform.errors import Conflict, KnowledgeBaseError, NotFound, TooLarge
from kb_platform.runtime_config import store as configuration
from kb_platform.runtime_config.declarations import LARGEST_FILE

Outcome = UploadedFile.Outcome
FAILED = (VersionState.REJECTED, VersionState.QUARANTINED, VersionState.CANCELLED)
MAX_PATH = 1000


@transaction.atomic
def open_batch(
    *,
    actor: Principal,
    collection: Collection,
    grants: Sequence[GrantRequest] | None = None,
    change: MetadataChange | None = None,
) -> UploadBatch:
    """A batch into the collection. With `grants` its documents get lists of their own, which needs `manage`.

    change: metadata that each document gets. Raises InvalidInput naming `metadata.<key>` where a value does not fit.
    """
    level = Permission.CONTRIBUTE if grants is None else Permission.MANAGE
    require(actor, level, collection.scope_id)
    kept = None if grants is None else [_kept(grant) for grant in grants]
    change = change or MetadataChange()
    values = clean_values(fields_of(collection), change.values)
    batch = UploadBatch.objects.create(
        collection=collection,
        grants=kept,
        attributes=replace(change, values=values).as_json() if change else {},
        created_by_id=actor.user_id,
    )
    record(actor, "upload.opened", collection, batch=str(batch.uid), own_list=grants is not None)
    return batch


def _kept(grant: GrantRequest) -> dict[str, str | int | None]:
    end = grant.expires_at.isoformat() if grant.expires_at else None
    return {"kind": grant.holder.kind, "id": grant.holder.id, "permission": grant.permission, "until": end}


def _grants_of(batch: UploadBatch) -> list[GrantRequest]:
    return [
        GrantRequest(
            holder=Holder(kind=HolderKind(row["kind"]), id=row["id"]),
            permission=Permission(row["permission"]),
            expires_at=_moment(row["until"]),
        )
        for row in batch.grants or ()
    ]


def _moment(text: str | None) -> datetime | None:
    return parse_datetime(text) if text else None


def get_batch(principal: Principal, uid: str) -> UploadBatch:
    """A batch of the principal's own, or into a collection that it manages. Raises NotFound.

    One whose documents get a list of their own is its maker's alone: the names of its files say what they are.
    """
    batch = UploadBatch.objects.select_related("collection", "created_by").filter(uid=parse_uid(uid)).first()
    is_own = batch is not None and batch.created_by_id == principal.user_id
    level = Permission.CONTRIBUTE if is_own else Permission.MANAGE
    if batch is None or (batch.grants is not None and not is_own):
        raise NotFound()
    if batch.collection.scope_id not in visible_scopes(principal, at_least=level):
        raise NotFound()
    return batch


def files_of(principal: Principal, batch: UploadBatch) -> QuerySet[UploadedFile]:
    """The files of a batch whose documents are open to the principal, and those that made none."""
    scopes = visible_scopes(principal)
    open_files = Q(version__document__scope_id__in=scopes) | Q(version=None, outcome=Outcome.REFUSED)
    return (
        batch.files.filter(open_files)
        .select_related("version__document__collection", "version__job", "same_as__collection")
        .order_by("pk")
    )


def add_file(*, actor: Principal, batch: UploadBatch, file: "Incoming[Any]", path: str = "") -> UploadedFile:
    """Take one file into a batch, or note why it was refused.

    Raises NotFound or NotAllowed when rights are gone, TooMany or Unavailable when the file may well be taken later.
    """
    level = Permission.CONTRIBUTE if batch.grants is None else Permission.MANAGE
    require(actor, level, batch.collection.scope_id)
    name = clean_name(file.name or "")
    entry = UploadedFile(batch=batch, name=name, size_bytes=file.size or 0)
    code, params = refusal(path or file.name or "", file.size or 0)
    if code:
        return _refused(entry, code, **params)
    require_place(actor)
    try:
        blob = store(file.chunks())
    except TooLarge:
        return _refused(entry, "too_large_file", limit=configuration.get(LARGEST_FILE))
    try:
        return _take(actor, entry, SourceFile(name=name, blob=blob, path=clean_path(path)))
    except KnowledgeBaseError as error:
        return _refused(entry, "not_taken", cause=str(error))


def refusal(name: str, size_bytes: int) -> tuple[str, dict[str, Any]]:
    """The reason and its parameters for refusing a file by its name and size; an empty reason when there is none."""
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    if len(base) > MAX_NAME or len(name) > MAX_PATH:
        return "name_too_long", {"limit": MAX_NAME}
    if size_bytes > configuration.get(LARGEST_FILE) * 1_000_000:
        return "too_large_file", {"limit": configuration.get(LARGEST_FILE)}
    if not size_bytes:
        return "empty", {}
    if kind := unsupported_name(base):
        return "unsupported", {"kind": kind, **hint_of(kind)}
    return "", {}


def _refused(entry: UploadedFile, code: str, **params: Any) -> UploadedFile:
    entry.outcome, entry.reason_code, entry.reason_params = Outcome.REFUSED, code, params
    entry.save()
    return entry


@transaction.atomic
def _take(actor: Principal, entry: UploadedFile, source: SourceFile) -> UploadedFile:
    copies = copies_of(actor, source.blob)
    other = copies.exclude(collection=entry.batch.collection, source_key=source.source_key)
    entry.same_as = other.first()
    upload = services.upload_document(actor=actor, collection=entry.batch.collection, file=source)
    apply_to(upload.document, MetadataChange.from_json(entry.batch.attributes))
    if entry.batch.grants is not None and upload.created:
        _keep_to_list(actor, upload, _grants_of(entry.batch))
    entry.outcome = Outcome.ACCEPTED if upload.created else Outcome.UNCHANGED
    entry.version = upload.version
    entry.save()
    return entry


def _keep_to_list(actor: Principal, upload: services.Upload, grants: Sequence[GrantRequest]) -> None:
    """Give a new document its list. Raises Conflict for a new version of one that others than those listed can see."""
    if upload.version.number == 1:
        services.share_document(actor=actor, document=upload.document, grants=grants)
        return
    listed = {grant.holder for grant in grants} | {Holder.user(actor.user_id)}
    if any(grant.holder not in listed for grant in grants_of(upload.document.scope)):
        raise Conflict(
            _(
                "A document of this name is here already, and others can see it. Rename the file, or change who sees that one."
            )
        )


def copies_of(principal: Principal, blob: Blob) -> QuerySet[Document]:
    """Documents open to the principal whose current or coming version is these bytes."""
    same = DocumentVersion.objects.filter(blob=blob.digest, state__in=[*IN_FORCE, *UNFINISHED])
    return Document.objects.filter(
        Q(active_version__in=same) | Q(latest_version__in=same),
        scope_id__in=visible_scopes(principal),
        archived_at=None,
    ).order_by("pk")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCounts:
    """How many files of a batch ended how. `duplicates` were here already; `refused` never became documents."""

    total: int
    unfinished: int
    live: int
    partly: int
    duplicates: int
    failed: int
    retryable: int
    refused: int
    chunks: int
    seconds: float

    @property
    def is_finished(self) -> bool:
        return not self.unfinished

    @property
    def not_taken(self) -> int:
        return self.failed + self.refused

    @property
    def with_problems(self) -> int:
        return self.not_taken + self.partly


def count_files(files: QuerySet[UploadedFile], batch: UploadBatch) -> BatchCounts:
    """One query."""

    def number(**conditions: Any) -> Count:
        return Count("pk", filter=Q(**conditions))

    found = (
        files.select_related(None)
        .order_by()
        .aggregate(
            total=Count("pk"),
            unfinished=number(version__state__in=UNFINISHED),
            live=number(
                outcome=Outcome.ACCEPTED, version__state__in=[VersionState.LIVE, VersionState.SUPERSEDED]
            ),
            partly=Count(
                "pk", filter=Q(version__state=VersionState.PARTLY_LIVE) & ~Q(outcome=Outcome.REFUSED)
            ),
            duplicates=number(
                outcome=Outcome.UNCHANGED, version__state__in=[VersionState.LIVE, VersionState.SUPERSEDED]
            ),
            failed=number(version__state__in=FAILED),
            retryable=Count(
                "pk",
                filter=Q(version__state__in=FAILED) & ~Q(version__reason_code__in=RETRY_IS_USELESS),
            ),
            refused=number(outcome=Outcome.REFUSED),
            chunks=Sum("version__chunk_count", filter=Q(outcome=Outcome.ACCEPTED), default=0),
            last=Max("version__job__ended_at"),
        )
    )
    last = found.pop("last")
    seconds = max((last - batch.created_at).total_seconds(), 0.0) if last else 0.0
    return BatchCounts(**found, seconds=seconds)


def unfinished_first(files: QuerySet[UploadedFile]) -> QuerySet[UploadedFile]:
    """What still moves stands on top, then what needs a person, then the rest as it was sent."""
    rank = Case(
        When(version__state__in=UNFINISHED, then=Value(0)),
        When(Q(outcome=Outcome.REFUSED) | Q(version__state__in=FAILED), then=Value(1)),
        When(version__state=VersionState.PARTLY_LIVE, then=Value(2)),
        default=Value(3),
        output_field=IntegerField(),
    )
    return files.alias(rank=rank).order_by("rank", "pk")


def with_problems(files: QuerySet[UploadedFile]) -> QuerySet[UploadedFile]:
    return files.filter(
        Q(outcome=Outcome.REFUSED) | Q(version__state__in=[*FAILED, VersionState.PARTLY_LIVE])
    )


def not_taken(files: QuerySet[UploadedFile]) -> QuerySet[UploadedFile]:
    return files.filter(Q(outcome=Outcome.REFUSED) | Q(version__state__in=FAILED))


def retry_failed(*, actor: Principal, batch: UploadBatch) -> int:
    """Try every failed file of a batch again that the actor may; returns how many."""
    failed = _jobs(actor, batch).filter(
        state__in=[IngestJob.State.FAILED, IngestJob.State.CANCELLED],
        version__document__latest_version=F("version"),
    )
    return sum(_did(services.retry_job, actor, job) for job in failed)


def cancel_unfinished(*, actor: Principal, batch: UploadBatch) -> int:
    """Cancel every file of a batch that is not finished; returns how many."""
    return sum(_did(services.cancel_job, actor, job) for job in _jobs(actor, batch).filter(ended_at=None))


def _jobs(actor: Principal, batch: UploadBatch) -> QuerySet[IngestJob]:
    scopes = visible_scopes(actor, at_least=Permission.CONTRIBUTE)
    jobs = IngestJob.objects.filter(
        version__uploaded_files__batch=batch, version__document__scope_id__in=scopes
    )
    return jobs.select_related("version__document").distinct().order_by("pk")


def _did(verb: Callable[..., IngestJob], actor: Principal, job: IngestJob) -> bool:
    try:
        verb(actor=actor, job=job)
    except KnowledgeBaseError:  # ended, or given a newer version, since it was listed
        return False
    return True
