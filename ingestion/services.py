"""Everything that changes collections and documents. One verb each, one transaction, the audit row inside."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import AccessScope, User
from accounts.permissions.grants import require_version, take_turns
from accounts.permissions.visibility import require, visible_scopes
from accounts.principals import principal_of
from accounts.services import create_scope, replace_grants
from accounts.values import Actor, GrantRequest, Permission, Principal
from ingestion import families, ledger, rechunking, turns
from ingestion.access import access_version
from ingestion.allowed_types import refuse_disallowed
from ingestion.blobs import Blob
from ingestion.fields import clean_values, fields_of, merged
from ingestion.indexing import tables
from ingestion.models import (
    IN_FORCE,
    UNFINISHED,
    Collection,
    Document,
    DocumentVersion,
    IndexGeneration,
    IngestJob,
    ProcessingEvent,
    ScopeMove,
    VersionState,
)
from ingestion.reasons import reason_text, retry_helps
from ingestion.values import Attributes, SourceFile
from kb_platform.audit import record
from kb_platform.errors import Conflict, InvalidInput, NotAllowed, NotFound
from kb_platform.jobs import enqueue

MAX_SOURCE_KEY = 2000
MAX_VALUES, MAX_METADATA = 100, 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """What an upload came to. `created` is False when these bytes are the newest version already."""

    document: Document
    version: DocumentVersion
    job: IngestJob
    created: bool


# --- collections ------------------------------------------------------------------------------------------


@transaction.atomic
def create_collection(*, actor: Actor, name: str, description: str = "", language: str = "") -> Collection:
    """A collection with an access scope of its own, which its creator manages by an ordinary grant.

    Raises NotAllowed for a token that is limited to collections: the new one would be none of them.
    """
    if isinstance(actor, Principal) and actor.token and actor.token.collections:
        raise NotAllowed()
    collection = Collection.objects.create(
        name=_required(name, "name", 200),
        description=description,
        language=language,
        scope=create_scope(actor=actor),
        created_by_id=actor.user_id,
    )
    record(actor, "collection.created", collection)
    return collection


@transaction.atomic
def update_collection(*, actor: Principal, collection: Collection, **changes: str) -> Collection:
    """Change `name`, `description` or `language`."""
    require(actor, Permission.MANAGE, collection.scope_id)
    if "name" in changes:
        changes["name"] = _required(changes["name"], "name", 200)
    before = {field: getattr(collection, field) for field in changes}
    for field, value in changes.items():
        setattr(collection, field, value)
    collection.save()
    record(actor, "collection.updated", collection, before=before, after=changes)
    return collection


@transaction.atomic
def delete_collection(*, actor: Principal, collection: Collection) -> None:
    """Remove an empty collection. Its documents must be moved or deleted first; what is in the trash goes with it."""
    require(actor, Permission.MANAGE, collection.scope_id)
    trashed = collection.documents.filter(trashed_from__isnull=False)
    if collection.documents.exclude(pk__in=trashed).exists():
        raise Conflict(
            _("The collection still holds documents. Move or delete them first."), code="not_empty"
        )
    remove_documents(list(trashed))
    scope = collection.scope
    record(actor, "collection.deleted", collection)
    collection.delete()
    scope.delete()


@transaction.atomic
def share_collection(
    *, actor: Principal, collection: Collection, grants: Sequence[GrantRequest], version: str = ""
) -> None:
    """Replace who may see, contribute to and manage the collection.

    version: of the list that was read before. Raises Conflict when somebody has changed it since.
    """
    require(actor, Permission.MANAGE, collection.scope_id)
    replace_grants(actor=actor, scope=collection.scope, grants=grants, subject=collection, version=version)


# --- documents --------------------------------------------------------------------------------------------


@transaction.atomic
def upload_document(
    *,
    actor: Actor,
    collection: Collection,
    file: SourceFile,
    attributes: Attributes | None = None,
    priority: int | None = None,
) -> Upload:
    """A new document, or a new version of the one with the same source in this collection.

    priority: of a bulk load, or that of the file it came in; None judges by how many files the actor has waiting.
    """
    if isinstance(actor, Principal):
        require(actor, Permission.CONTRIBUTE, collection.scope_id)
        refuse_disallowed(file.name, file.blob)
    attributes = attributes or Attributes()
    document, is_new = Document.objects.get_or_create(
        collection=collection,
        source_digest=_source_digest(actor, collection, file.source_key),
        defaults={
            "source_key": _short_enough(file.source_key),
            "source_uri": file.source_uri,
            "scope_id": collection.scope_id,
            "title": file.name,
            "owner_id": actor.user_id,
        },
    )
    document = locked(document)
    if isinstance(actor, Principal):
        require(actor, Permission.CONTRIBUTE, document.scope_id)
    _refuse_faq(document)
    before = document.title
    for field, value in _cleaned(document, attributes).items():
        setattr(document, field, value)
    document.source_modified_at = file.modified_at or document.source_modified_at
    latest = document.latest_version
    is_same = bool(latest and latest.blob == file.blob.digest and latest.state in (*IN_FORCE, *UNFINISHED))
    if document.archived_at is not None:
        _back_from_archive(document, with_itself=is_same)
    if latest and is_same:
        latest.refresh_from_db()
        document.save()
        if document.title != before:
            _let_title_follow(document)
        return Upload(document=document, version=latest, job=latest.job, created=False)
    version, job = add_version(document, file, actor, priority)
    record(actor, "document.uploaded", document, version=version.number, new=is_new, file=file.name)
    return Upload(document=document, version=version, job=job, created=True)


def bring_back(rows: Sequence[Document]) -> None:
    """Locked documents out of the archive, and into the index again by a new run of the embedding stage."""
    keys = [row.pk for row in rows]
    Document.objects.filter(pk__in=keys).update(archived_at=None, updated_at=timezone.now())
    versions = [row.active_version_id for row in rows if row.active_version_id]
    waiting = IngestJob.objects.filter(version_id__in=versions, ended_at__isnull=False)
    waiting = waiting.filter(version__chunks__isnull=False)
    again = list(waiting.order_by("pk").distinct().values_list("version_id", flat=True))
    IngestJob.objects.filter(version_id__in=again).update(
        state=IngestJob.State.QUEUED,
        stage=IngestJob.Stage.EMBED,
        failures=0,
        fence=F("fence") + 1,
        lease_until=None,
        deadline=None,
        cancel_requested=False,
        ended_at=None,
        progress_done=0,
        progress_total=0,
        rung_at=timezone.now(),
    )
    DocumentVersion.objects.filter(pk__in=again).update(
        state=VersionState.EMBEDDING, reason_code="", reason_params={}
    )
    if again:
        ledger.ring(IngestJob.Stage.EMBED)


def _back_from_archive(document: Document, *, with_itself: bool) -> None:
    """A locked document whose file comes again, with all below it that went into the archive at the same moment."""
    keys = families.below([document.pk], locked=True)
    along = Document.objects.filter(pk__in=keys, archived_at=document.archived_at, trashed_from=None)
    bring_back([*([document] if with_itself else []), *along])
    document.archived_at = None


def _cleaned(document: Document, attributes: Attributes) -> dict[str, Any]:
    """What was said about the document, its own fields checked. Raises InvalidInput naming `metadata.<key>`."""
    given = attributes.given()
    if "metadata" in given:
        values = given["metadata"]
        if len(values) > MAX_VALUES or len(json.dumps(values)) > MAX_METADATA:
            limits = {"most": MAX_VALUES, "size": f"{MAX_METADATA:,}"}
            reason = _("At most %(most)d values of %(size)s characters together.") % limits
            raise InvalidInput(reason, fields={"metadata": reason})
        stored = document.metadata if isinstance(document.metadata, dict) else {}
        given["metadata"] = merged({}, clean_values(fields_of(document.collection), values, stored=stored))
    return given


def _let_title_follow(document: Document) -> None:
    """The title stands before every passage as it is embedded: those are made anew from what was read, and nothing is
    parsed. A version that is still being read may have the old title: it is looked at again when it is published.
    """
    if document.active_version_id:
        rechunking.request(document, by_person=True)
    if document.latest_version and document.latest_version.state in UNFINISHED:
        document.retitled_at = timezone.now()
        document.save(update_fields=["retitled_at"])


def _source_digest(actor: Actor, collection: Collection, source_key: str) -> str:
    """What names the source within the collection.

    A document from the same source that is in the trash, hidden from the actor, or part of another file is passed over, so
    that it is neither changed nor given away: the actor's becomes another document, under the next digest of a chain.
    """
    digest = hashlib.sha256(source_key.encode("utf-8", "surrogatepass")).hexdigest()
    hidden = Q(trashed_from__isnull=False)
    if isinstance(actor, Principal):
        hidden = ~Q(scope_id__in=visible_scopes(actor))
    passed_over = collection.documents.filter(hidden | Q(parent__isnull=False))
    while passed_over.filter(source_digest=digest).exists():
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return digest


def locked(document: Document) -> Document:
    """The document as it is now, kept from all other writers until commit. Raises NotFound when it is gone."""
    rows = Document.objects.select_for_update(of=("self",)).select_related("collection", "latest_version")
    found = rows.filter(pk=document.pk).first()
    if found is None:
        raise NotFound()
    return found


def _refuse_faq(document: Document) -> None:
    """Raises Conflict for a document that is a question with its answer: its file is made from those."""
    if document.is_faq:
        raise Conflict(
            _("This is a question of the FAQ. Change it on the FAQ page of its collection."), code="is_faq"
        )


def add_version(
    document: Document, file: SourceFile, actor: Actor, priority: int | None = None
) -> tuple[DocumentVersion, IngestJob]:
    """The next version with its job, and the bell for it. An unfinished older version gives way."""
    latest = document.latest_version
    if latest and latest.state in UNFINISHED:
        give_up(latest.job, "newer_version")
    version = DocumentVersion.objects.create(
        document=document,
        number=latest.number + 1 if latest else 1,
        blob=file.blob.digest,
        size_bytes=file.blob.size_bytes,
        file_name=file.name,
        created_by_id=actor.user_id,
    )
    chosen = turns.priority_for(actor.user_id or 0) if priority is None else priority
    job = ledger.new_job(version, collection_id=document.collection_id, priority=chosen)
    job.save()
    ledger.tell(version.pk, ProcessingEvent.Kind.RECEIVED)
    document.latest_version = version
    document.save()
    ledger.ring(IngestJob.Stage.PARSE)
    return version, job


@transaction.atomic
def update_document(*, actor: Principal, document: Document, attributes: Attributes) -> Document:
    """Change what people say about a document. A new title is soon in the index too; nothing is read again for it."""
    document = locked(document)
    require(actor, Permission.CONTRIBUTE, document.scope_id)
    changes = _cleaned(document, attributes)
    if "title" in changes:
        changes["title"] = _required(changes["title"], "title", 500)
    before = {field: getattr(document, field) for field in changes}
    for field, value in changes.items():
        setattr(document, field, value)
    document.save()
    record(actor, "document.updated", document, before=before, after=changes)
    if before.get("title", document.title) != document.title:
        _let_title_follow(document)
    return document


@transaction.atomic
def reparse_document(*, actor: Principal, document: Document) -> Upload:
    """Read the newest file again, as a new version, so that what is live stays untouched until it is replaced."""
    require(actor, Permission.CONTRIBUTE, document.scope_id)
    upload = _read_again(actor, document)
    record(actor, "document.reparsed", document, version=upload.version.number)
    return upload


@transaction.atomic
def restore_version(*, actor: Principal, document: Document, number: int) -> Upload:
    """Make the file of an older version the newest again: it is read anew, and what is live stays until then."""
    document = locked(document)
    require(actor, Permission.MANAGE, document.scope_id)
    _refuse_faq(document)
    old = document.versions.filter(number=number).first()
    if old is None:
        raise NotFound()
    latest = document.latest_version
    if old.pk in (document.active_version_id, latest and latest.pk):
        raise Conflict(_("This version is the current one already."), code="current")
    blob = Blob(digest=old.blob, size_bytes=old.size_bytes)
    version, job = add_version(document, SourceFile(name=old.file_name, blob=blob), actor)
    record(actor, "document.version_restored", document, restored=number, version=version.number)
    return Upload(document=document, version=version, job=job, created=True)


@transaction.atomic
def give_document(*, actor: Principal, document: Document, owner_email: str) -> Document:
    """Name another person as the one who answers for the document: somebody who may read it."""
    document = locked(document)
    require(actor, Permission.MANAGE, document.scope_id)
    owner = User.objects.filter(email=owner_email.replace("\x00", "").strip().lower(), is_active=True).first()
    if owner is None or document.scope_id not in visible_scopes(principal_of(owner)):
        reason = _("Nobody with this e-mail address can see the document. Share it with them first.")
        raise InvalidInput(reason, fields={"owner": reason})
    if owner.pk != document.owner_id:
        before = str(document.owner) if document.owner else ""
        document.owner = owner
        document.save(update_fields=["owner", "updated_at"])
        record(actor, "document.owner_changed", document, before=before, after=str(owner))
    return document


def _read_again(actor: Principal, document: Document) -> Upload:
    document = locked(document)
    latest = document.latest_version
    if latest is None:
        raise Conflict(_("The document has no file yet."))
    if latest.state in UNFINISHED:
        return Upload(document=document, version=latest, job=latest.job, created=False)
    blob = Blob(digest=latest.blob, size_bytes=latest.size_bytes)
    version, job = add_version(document, SourceFile(name=latest.file_name, blob=blob), actor)
    return Upload(document=document, version=version, job=job, created=True)


@transaction.atomic
def move_document(*, actor: Principal, document: Document, collection: Collection) -> Document:
    """Put a document into another collection. Who may see it changes at once, its index rows follow."""
    document = locked(document)
    require(actor, Permission.MANAGE, document.scope_id)
    require(actor, Permission.CONTRIBUTE, collection.scope_id)
    require_own(document)
    if document.collection_id == collection.pk:
        return document
    source_digest = _source_digest(actor, collection, document.source_key)
    if collection.documents.filter(source_digest=source_digest).exists():
        raise Conflict(
            _("“%(collection)s” already holds a document from the same source.") % {"collection": collection},
            code="source_exists",
        )
    before = document.collection
    follows = document.scope_id == before.scope_id
    document.collection, document.source_digest = collection, source_digest
    document.save()
    families.move([document.pk], collection)
    record(actor, "document.moved", document, before=before.name, after=collection.name)
    if follows:
        _change_scope(document, collection.scope)
    return document


@transaction.atomic
def share_document(
    *, actor: Principal, document: Document, grants: Sequence[GrantRequest] | None, version: str = ""
) -> None:
    """Give a document a list of its own, or with None, for who manages both, let it follow its collection again.

    version: `access_version` of what was read before. Raises Conflict when somebody has changed it since.
    """
    take_turns()
    document = locked(document)
    require(actor, Permission.MANAGE, document.scope_id)
    require_own(document)
    require_version(version, access_version(document))
    own = document.scope if document.scope_id != document.collection.scope_id else None
    if grants is None:
        require(actor, Permission.MANAGE, document.collection.scope_id)
        if own:
            _change_scope(document, document.collection.scope)
            record(actor, "document.follows_collection", document)
        return
    if own is None:
        own = create_scope(actor=actor)
        _change_scope(document, own)
    replace_grants(actor=actor, scope=own, grants=grants, subject=document)


def _change_scope(document: Document, scope: AccessScope) -> None:
    document.scope = scope
    document.save(update_fields=["scope", "updated_at"])
    ScopeMove.objects.get_or_create(document=document)
    if families.change_scope([document.pk], scope):
        enqueue("ingestion.tasks.follow_scopes")
    else:
        enqueue("ingestion.tasks.follow_scope", document_id=document.pk)


def require_own(document: Document) -> None:
    """Raises Conflict for a document that is part of another one's file: it goes where that goes."""
    if document.parent_id is not None:
        raise Conflict(
            _("This file came inside “%(parent)s” and goes with it. Change that document instead.")
            % {"parent": document.parent},
            code="has_parent",
        )


@transaction.atomic
def delete_document(*, actor: Principal, document: Document) -> None:
    """Remove a document that is in use, all its versions and every trace of it in the indexes, at once and for good.

    `bulk.delete_documents` is the way that can be taken back.
    """
    document = locked(document)
    require(actor, Permission.MANAGE, document.scope_id)
    record(actor, "document.deleted", document, collection=document.collection.name)
    is_own = document.scope_id != document.collection.scope_id and document.parent_id is None
    own = document.scope if is_own else None
    remove_documents([document])
    if own:
        own.delete()


@transaction.atomic
def remove_documents(documents: Sequence[Document]) -> None:
    """Remove documents for good, with all that is below them. Their deletion has been audited."""
    keys = [document.pk for document in documents]
    for key in [*keys, *families.below(keys, locked=True)]:
        _leave_indexes(key)
    for document in documents:
        document.delete()


def _leave_indexes(document_id: int) -> None:
    for generation in IndexGeneration.objects.exclude(state=IndexGeneration.State.RETIRED):
        tables.delete_rows(generation.number, document_id)


# --- jobs -------------------------------------------------------------------------------------------------


@transaction.atomic
def cancel_job(*, actor: Principal, job: IngestJob) -> IngestJob:
    """Stop a job: at once when it waits, at its next step when it runs. What was live before stays live."""
    require(actor, Permission.CONTRIBUTE, job.version.document.scope_id)
    job = IngestJob.objects.select_for_update(of=("self",)).select_related("version__document").get(pk=job.pk)
    if job.ended_at:
        raise Conflict(_("The job has already ended."), code="ended")
    give_up(job, "cancelled")
    record(actor, "job.cancelled", job.version.document, version=job.version.number)
    return job


def give_up(job: IngestJob, reason: str) -> None:
    """End a job that the caller has locked. The fence is raised, so whoever works on it can write nothing any more."""
    job.fence += 1
    job.cancel_requested = True
    ledger.end(job, IngestJob.State.CANCELLED, VersionState.CANCELLED, reason)


@transaction.atomic
def retry_job(*, actor: Principal, job: IngestJob) -> IngestJob:
    """Try a failed or cancelled version again from the start."""
    require(actor, Permission.CONTRIBUTE, job.version.document.scope_id)
    job = IngestJob.objects.select_for_update(of=("self",)).select_related("version__document").get(pk=job.pk)
    if job.state not in (IngestJob.State.FAILED, IngestJob.State.CANCELLED):
        raise Conflict(_("Only a failed or cancelled job can be tried again."), code="not_ended")
    if job.version.document.latest_version_id != job.version_id:
        raise Conflict(_("There is a newer version of this document."), code="superseded")
    if not retry_helps(job.version.reason_code):
        raise Conflict(reason_text(job.version), code="retry_is_useless")
    restart(job)
    record(actor, "job.retried", job.version.document, version=job.version.number)
    return job


def restart(job: IngestJob, *, priority: int = IngestJob.Priority.FIRST) -> None:
    """Queue an ended job again from its first stage, and ring for it. The caller has locked it and may do so."""
    version = job.version
    job.priority = priority
    job.state, job.stage, job.failures = IngestJob.State.QUEUED, IngestJob.Stage.PARSE, 0
    job.cancel_requested, job.ended_at, job.lease_until = False, None, None
    job.progress_done = job.progress_total = 0
    job.rung_at, job.not_before, job.claimed_at = timezone.now(), None, None
    job.save()
    version.state, version.reason_code, version.reason_params = VersionState.QUEUED, "", {}
    version.save()
    ledger.tell(version.pk, ProcessingEvent.Kind.RECEIVED, reason_code="retried")
    ledger.ring(IngestJob.Stage.PARSE)


def _required(value: str, field: str, limit: int) -> str:
    text = value.replace("\x00", "").strip()
    if not text:
        raise InvalidInput(fields={field: _("This may not be empty.")})
    if len(text) > limit:
        raise InvalidInput(fields={field: _("At most %(limit)d characters.") % {"limit": limit}})
    return text


def _short_enough(source_key: str) -> str:
    if len(source_key) > MAX_SOURCE_KEY:
        raise InvalidInput(
            fields={"source_uri": _("At most %(limit)d characters.") % {"limit": MAX_SOURCE_KEY}}
        )
    return source_key
