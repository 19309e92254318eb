"""Changes of many documents at once: a few set-based statements, each document judged by the actor's rights on it.

Every function takes documents that were read as the actor, locks those it may change, and counts the rest. What can be
taken back is kept as a `BulkChange`. The indexes follow in the background; readers are right at once, because texts are
only given out for documents that are in search and open to them.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import AccessScope
from accounts.permissions.visibility import require, visible_scopes
from accounts.values import Actor, Permission, Principal
from ingestion import bulk_metadata, families, ledger, services, turns
from ingestion.models import (
    UNFINISHED,
    BulkChange,
    Collection,
    Document,
    DocumentVersion,
    IngestJob,
    ProcessingEvent,
    ScopeMove,
    VersionState,
)
from ingestion.reasons import RETRY_IS_USELESS
from ingestion.selectors import parse_uid
from ingestion.values import MetadataChange
from kb_platform.audit import record_each
from kb_platform.errors import Conflict, InvalidInput, NotFound
from kb_platform.jobs import enqueue

MOST = 20_000
KEPT = timedelta(days=30)  # how long deleted documents can be brought back
PURGED_AT_ONCE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkOutcome:
    """`refused`: documents that the actor may see but not change; `skipped`: those for which there was nothing to do.

    `changed_keys`: the documents that were changed, of verbs that work on chosen ones.
    """

    changed: int = 0
    refused: int = 0
    skipped: int = 0
    change: BulkChange | None = None
    changed_keys: frozenset[int] = frozenset()


@transaction.atomic
def move_documents(*, actor: Principal, documents: QuerySet[Document], collection: Collection) -> BulkOutcome:
    """Put documents into a collection, with all that is below them.

    Those it holds already, or holds from the same source, stay where they are; so does one that is part of another file.
    """
    require(actor, Permission.CONTRIBUTE, collection.scope_id)
    rows, refused = _locked(actor, documents, Permission.MANAGE)
    moving = [row for row in rows if row.collection_id != collection.pk and row.parent_id is None]
    before = {row.pk: row.collection_id for row in moving}
    clean, colliding = _apart(moving, collection)
    _move_clean(actor, clean, collection)
    moved = [*clean, *(row for row in colliding if _moved_alone(actor, row, collection))]
    change = _remember(
        actor, BulkChange.Action.MOVE, {row.pk: [before[row.pk], collection.pk] for row in moved}
    )
    return _outcome(rows, moved, refused, change)


def _apart(rows: Sequence[Document], collection: Collection) -> tuple[list[Document], list[Document]]:
    """The rows whose source is new to the collection, and those that need a look of their own."""
    digests = [row.source_digest for row in rows]
    seen = set(collection.documents.filter(source_digest__in=digests).values_list("source_digest", flat=True))
    clean: list[Document] = []
    colliding: list[Document] = []
    for row in rows:
        (colliding if row.source_digest in seen else clean).append(row)
        seen.add(row.source_digest)
    return clean, colliding


def _move_clean(actor: Principal, rows: Sequence[Document], collection: Collection) -> None:
    former = {
        pk: (name, scope)
        for pk, name, scope in Collection.objects.filter(
            pk__in={row.collection_id for row in rows}
        ).values_list("pk", "name", "scope_id")
    }
    following = [row for row in rows if row.scope_id == former[row.collection_id][1]]
    changed = Document.objects.filter(pk__in=_keys(rows))
    changed.update(collection=collection, updated_at=timezone.now())
    Document.objects.filter(pk__in=_keys(following)).update(scope_id=collection.scope_id)
    families.move(_keys(rows), collection)
    families.change_scope(_keys(following), collection.scope)
    _let_indexes_follow(following)
    record_each(
        actor,
        "document.moved",
        ((row, {"before": former[row.collection_id][0]}) for row in rows),
        after=collection.name,
    )


def _moved_alone(actor: Principal, document: Document, collection: Collection) -> bool:
    try:
        with transaction.atomic():
            services.move_document(actor=actor, document=document, collection=collection)
    except Conflict:
        return False
    return True


@transaction.atomic
def archive_documents(*, actor: Principal, documents: QuerySet[Document]) -> BulkOutcome:
    """Take documents out of search, with all that is below them; they keep everything."""
    rows, refused = _locked(actor, documents, Permission.MANAGE)
    archived = [row for row in _with_below(rows) if row.archived_at is None]
    done = len(set(_keys(rows)).intersection(_keys(archived)))
    now = timezone.now()
    Document.objects.filter(pk__in=_keys(archived)).update(archived_at=now, updated_at=now)
    _let_indexes_follow(archived)
    record_each(actor, "document.archived", ((row, {}) for row in archived))
    change = _remember(actor, BulkChange.Action.ARCHIVE, dict.fromkeys(_keys(archived), 0))
    return BulkOutcome(
        changed=done,
        refused=refused,
        skipped=len(rows) - done,
        change=change,
        changed_keys=frozenset(_keys(archived)),
    )


@transaction.atomic
def restore_documents(*, actor: Principal, documents: QuerySet[Document]) -> BulkOutcome:
    """Bring archived documents back into search: what was read is embedded again, mostly from the cache.

    What is below them comes along; what is below one that stays archived stays too.
    """
    rows, refused = _locked(actor, documents, Permission.MANAGE)
    family = _with_below(rows)
    held_back = _below_archived(family)
    restored = [row for row in family if row.archived_at is not None and row.pk not in held_back]
    done = len(set(_keys(rows)).intersection(_keys(restored)))
    services.bring_back(restored)
    record_each(actor, "document.restored", ((row, {}) for row in restored))
    change = _remember(actor, BulkChange.Action.RESTORE, dict.fromkeys(_keys(restored), 0))
    return BulkOutcome(
        changed=done,
        refused=refused,
        skipped=len(rows) - done,
        change=change,
        changed_keys=frozenset(_keys(restored)),
    )


def _below_archived(family: Sequence[Document]) -> set[int]:
    """Those whose parent is archived and not among them."""
    among = set(_keys(family))
    outside = {row.pk: row.parent_id for row in family if row.parent_id and row.parent_id not in among}
    archived = Document.objects.filter(pk__in=outside.values(), archived_at__isnull=False)
    parents = set(archived.values_list("pk", flat=True))
    roots = [key for key, parent in outside.items() if parent in parents]
    return {*roots, *families.below(roots)}


@transaction.atomic
def reread_documents(*, actor: Principal, documents: QuerySet[Document]) -> BulkOutcome:
    """Read the newest file of each again, as a new version. Archived documents and those being read are skipped."""
    rows, refused = _locked(actor, documents, Permission.CONTRIBUTE)
    latest = {
        version.document_id: version
        for version in DocumentVersion.objects.filter(pk__in=[row.latest_version_id for row in rows]).exclude(
            state__in=UNFINISHED
        )
    }
    wanted = [row for row in rows if row.pk in latest and row.archived_at is None]
    versions = DocumentVersion.objects.bulk_create(
        [_successor(latest[row.pk], actor) for row in wanted], batch_size=1000
    )
    places = {row.pk: row.collection_id for row in wanted}
    is_bulk = len(versions) > turns.SMALL_BATCH
    priority = turns.priority_for(actor.user_id, is_bulk=is_bulk)
    IngestJob.objects.bulk_create(
        [
            ledger.new_job(version, collection_id=places[version.document_id], priority=priority)
            for version in versions
        ],
        batch_size=1000,
    )
    ProcessingEvent.objects.bulk_create(
        [
            ProcessingEvent(version=version, kind=ProcessingEvent.Kind.RECEIVED, reason_code="reread")
            for version in versions
        ],
        batch_size=1000,
    )
    newest = DocumentVersion.objects.filter(document=OuterRef("pk")).order_by("-number").values("pk")[:1]
    Document.objects.filter(pk__in=_keys(wanted)).update(
        latest_version=Subquery(newest), updated_at=timezone.now()
    )
    for _version in versions[: ledger.BELLS_AT_ONCE]:
        ledger.ring(IngestJob.Stage.PARSE)
    numbers = {version.document_id: version.number for version in versions}
    record_each(actor, "document.reparsed", ((row, {"version": numbers[row.pk]}) for row in wanted))
    return _outcome(rows, wanted, refused)


def _successor(version: DocumentVersion, actor: Principal) -> DocumentVersion:
    return DocumentVersion(
        document_id=version.document_id,
        number=version.number + 1,
        blob=version.blob,
        size_bytes=version.size_bytes,
        file_name=version.file_name,
        created_by_id=actor.user_id,
    )


@transaction.atomic
def delete_documents(*, actor: Principal, documents: QuerySet[Document]) -> BulkOutcome:
    """Put documents into the trash, with all that is below them: out of everybody's sight at once, removed for good
    after `KEPT`.
    """
    rows, refused = _locked(actor, documents, Permission.MANAGE)
    if not rows:
        return BulkOutcome(refused=refused)
    change = put_into_trash(actor, _with_below(rows))
    return _outcome(rows, rows, refused, change)


def put_into_trash(actor: Actor, rows: Sequence[Document]) -> BulkChange | None:
    """The same for locked documents that are whole families. Needs a transaction."""
    grave = AccessScope.objects.create()  # granted to nobody
    now = timezone.now()
    _cancel_work(rows)
    record_each(actor, "document.deleted", ((row, {"trash": True}) for row in rows))
    chosen = Document.objects.filter(pk__in=_keys(rows))
    chosen.filter(archived_at=None).update(archived_at=now)
    chosen.update(trashed_from=F("scope_id"), scope=grave, updated_at=now)
    _let_indexes_follow(rows)
    before = {row.pk: [row.scope_id, row.archived_at is not None] for row in rows}
    return _remember(actor, BulkChange.Action.DELETE, before, scope=grave, purge_after=now + KEPT)


def _cancel_work(rows: Sequence[Document]) -> None:
    versions = DocumentVersion.objects.filter(document__in=_keys(rows), state__in=UNFINISHED)
    IngestJob.objects.filter(version__in=versions, ended_at=None).update(
        fence=F("fence") + 1,
        cancel_requested=True,
        state=IngestJob.State.CANCELLED,
        ended_at=timezone.now(),
        lease_until=None,
        deadline=None,
    )
    cancelled = list(versions.values_list("pk", flat=True))
    versions.update(state=VersionState.CANCELLED, reason_code="cancelled")
    ledger.drop_drafts(cancelled)


@transaction.atomic
def change_metadata(
    *, actor: Principal, documents: QuerySet[Document], change: MetadataChange, is_trial: bool = False
) -> BulkOutcome:
    """Change type, department, security level, tags and own fields. A trial counts what would change, and changes nothing.

    Raises InvalidInput for a value that does not fit its field, before anything is changed.
    """
    rows, refused = _locked(actor, documents, Permission.CONTRIBUTE, deferred=())
    plan = bulk_metadata.planned(rows, change)
    outcome = BulkOutcome(
        changed=len(plan), refused=refused, skipped=len(rows) - len(plan), changed_keys=frozenset(plan)
    )
    if is_trial:
        return outcome
    kept = bulk_metadata.before(rows, plan)
    _write_metadata(actor, rows, kept)
    return replace(outcome, change=_remember(actor, BulkChange.Action.METADATA, kept))


def _write_metadata(
    actor: Principal, rows: Sequence[Document], changes: Mapping[int, dict[str, dict[str, Any]]]
) -> None:
    bulk_metadata.write({pk: change["now"] for pk, change in changes.items()})
    told = (
        (row, {"before": changes[row.pk]["was"], "after": changes[row.pk]["now"]})
        for row in rows
        if row.pk in changes
    )
    record_each(actor, "document.updated", told)


@transaction.atomic
def retry_documents(*, actor: Principal, documents: QuerySet[Document]) -> BulkOutcome:
    """Try the newest version of each again where it failed or was cancelled, and where that can help."""
    rows, refused = _locked(actor, documents, Permission.CONTRIBUTE)
    failed = _jobs_of(rows).filter(
        state__in=[IngestJob.State.FAILED, IngestJob.State.CANCELLED],
        version__document__archived_at=None,
    )
    again = list(failed.exclude(version__reason_code__in=RETRY_IS_USELESS).select_related("version"))
    is_bulk = len(again) > turns.SMALL_BATCH
    for job in again:
        services.restart(job, priority=turns.priority_for(actor.user_id, is_bulk=is_bulk))
    return _worked_on(actor, "job.retried", rows, again, refused)


@transaction.atomic
def cancel_documents(*, actor: Principal, documents: QuerySet[Document]) -> BulkOutcome:
    """Stop reading the newest version of each. What is live stays so."""
    rows, refused = _locked(actor, documents, Permission.CONTRIBUTE)
    unfinished = list(_jobs_of(rows).filter(ended_at=None).select_related("version"))
    for job in unfinished:
        services.give_up(job, "cancelled")
    return _worked_on(actor, "job.cancelled", rows, unfinished, refused)


def _jobs_of(rows: Sequence[Document]) -> QuerySet[IngestJob]:
    newest = [row.latest_version_id for row in rows]
    jobs = IngestJob.objects.filter(version_id__in=newest)
    return jobs.select_for_update(of=("self",)).order_by("pk")


def _worked_on(
    actor: Principal, action: str, rows: Sequence[Document], jobs: Sequence[IngestJob], refused: int
) -> BulkOutcome:
    numbers = {job.version.document_id: job.version.number for job in jobs}
    touched = [row for row in rows if row.pk in numbers]
    record_each(actor, action, ((row, {"version": numbers[row.pk]}) for row in touched))
    return _outcome(rows, touched, refused)


# --- taking back ------------------------------------------------------------------------------------------


@transaction.atomic
def undo(*, actor: Principal, change: BulkChange) -> BulkOutcome:
    """Make a change not have been, as far as the actor's rights of now reach. Works once, but for what is left in the trash."""
    change = BulkChange.objects.select_for_update(of=("self",)).get(pk=change.pk)
    if change.undone_at or (change.purge_after and change.purge_after <= timezone.now()):
        raise Conflict(_("This has been undone already, or it is too late for it."), code="ended")
    outcome = UNDO[BulkChange.Action(change.action)](actor, change)
    if not outcome.changed:
        raise Conflict(_("Nothing could be brought back. Your rights may have changed."), code="nothing")
    if (
        change.action != BulkChange.Action.DELETE
    ):  # a deletion is undone when nothing of it is left in the trash
        change.undone_at = timezone.now()
        change.save(update_fields=["undone_at"])
    return outcome


def _affected(change: BulkChange) -> QuerySet[Document]:
    return Document.objects.filter(pk__in=[int(pk) for pk in change.before])


def _undo_move(actor: Principal, change: BulkChange) -> BulkOutcome:
    """Only what still stands where the change put it: a later move by somebody else holds."""
    back: dict[int, list[int]] = defaultdict(list)
    there = dict(_affected(change).values_list("pk", "collection_id"))
    for pk, (home_id, target_id) in change.before.items():
        if there.get(int(pk)) == target_id:
            back[home_id].append(int(pk))
    open_to_actor = visible_scopes(actor, at_least=Permission.CONTRIBUTE)
    homes = Collection.objects.filter(pk__in=back, scope_id__in=open_to_actor)
    done = [
        move_documents(actor=actor, documents=Document.objects.filter(pk__in=back[home.pk]), collection=home)
        for home in homes
    ]
    changed = sum(part.changed for part in done)
    return BulkOutcome(changed=changed, refused=len(change.before) - changed)


def _undo_archive(actor: Principal, change: BulkChange) -> BulkOutcome:
    return restore_documents(actor=actor, documents=_affected(change))


def _undo_restore(actor: Principal, change: BulkChange) -> BulkOutcome:
    return archive_documents(actor=actor, documents=_affected(change))


def _undo_delete(actor: Principal, change: BulkChange) -> BulkOutcome:
    return undelete_documents(actor=actor, documents=_trashed(change))


@transaction.atomic
def undelete_documents(*, actor: Principal, documents: QuerySet[Document]) -> BulkOutcome:
    """Bring documents back from the trash, to those who could see them, as far as the actor manages what they were in.

    What was deleted along with them comes too. One whose parent stays in the trash stays there as well.
    """
    chosen = list(restorable(documents, actor).select_for_update(of=("self",)).order_by("pk"))
    rows = _with_parents_back(_trashed_along(chosen))
    graves = {row.scope_id for row in rows}
    changes = {change.scope_id: change for change in BulkChange.objects.filter(scope__in=graves)}
    Document.objects.filter(pk__in=_keys(rows)).update(
        scope_id=F("trashed_from_id"), trashed_from=None, updated_at=timezone.now()
    )
    searchable = [row for row in rows if not changes[row.scope_id].before[str(row.pk)][1]]
    held_back = _below_archived(searchable)
    services.bring_back([row for row in searchable if row.pk not in held_back])
    record_each(actor, "document.undeleted", ((row, {}) for row in rows))
    emptied = BulkChange.objects.filter(scope__in=graves, scope__documents=None)
    emptied.update(undone_at=timezone.now())
    return BulkOutcome(changed=len(set(_keys(rows)).intersection(_keys(chosen))))


def _trashed_along(chosen: Sequence[Document]) -> list[Document]:
    """The chosen documents and those below them that went into the trash together with them."""
    graves = {row.scope_id for row in chosen}
    below = Document.objects.filter(pk__in=families.below(_keys(chosen)), scope_id__in=graves)
    along = below.select_for_update(of=("self",)).order_by("pk")
    return sorted({row.pk: row for row in [*chosen, *along]}.values(), key=lambda row: row.pk)


def _with_parents_back(rows: Sequence[Document]) -> list[Document]:
    """Without those below a document that stays in the trash. Parents have the lower numbers."""
    outside = {row.parent_id for row in rows if row.parent_id} - set(_keys(rows))
    trashed = Document.objects.filter(pk__in=outside, trashed_from__isnull=False)
    staying = set(trashed.values_list("pk", flat=True))
    back = []
    for row in rows:
        if row.parent_id in staying:
            staying.add(row.pk)
        else:
            back.append(row)
    return back


def _undo_metadata(actor: Principal, change: BulkChange) -> BulkOutcome:
    """Only what still stands as the change left it: a later change by somebody else holds."""
    rows, refused = _locked(actor, _affected(change), Permission.CONTRIBUTE, deferred=())
    plan = bulk_metadata.taken_back(rows, change.before)
    _write_metadata(actor, rows, bulk_metadata.before(rows, plan))
    return BulkOutcome(changed=len(plan), refused=refused, skipped=len(rows) - len(plan))


def _undo_nothing(actor: Principal, change: BulkChange) -> BulkOutcome:
    return BulkOutcome()


UNDO = {
    BulkChange.Action.MOVE: _undo_move,
    BulkChange.Action.ARCHIVE: _undo_archive,
    BulkChange.Action.RESTORE: _undo_restore,
    BulkChange.Action.DELETE: _undo_delete,
    BulkChange.Action.REREAD: _undo_nothing,
    BulkChange.Action.METADATA: _undo_metadata,
}


def get_change(principal: Principal, uid: str) -> BulkChange:
    """A change that the principal made itself, or a deletion of what it manages. Raises NotFound."""
    found = BulkChange.objects.filter(uid=parse_uid(uid)).first()
    if found is None:
        raise NotFound()
    if found.actor_id != principal.user_id and not restorable(_trashed(found), principal).exists():
        raise NotFound()
    return found


# --- the trash --------------------------------------------------------------------------------------------


def trash_of(principal: Principal) -> QuerySet[Document]:
    """What was deleted of what the principal manages, newest first; who deleted it makes no difference.

    What went along with its parent is not told by itself.
    """
    return (
        restorable(Document.objects.exclude(parent__scope=F("scope")), principal)
        .select_related("collection", "latest_version", "scope__bulk_change__actor")
        .order_by("-scope__bulk_change__pk", "title", "pk")
    )


def get_trashed(principal: Principal, uid: str) -> Document:
    """A document in the trash that the principal may bring back. Raises NotFound."""
    found = trash_of(principal).filter(uid=parse_uid(uid)).first()
    if found is None:
        raise NotFound()
    return found


def restorable(documents: QuerySet[Document], principal: Principal) -> QuerySet[Document]:
    """Those of the documents that wait in the trash and whose former scope the principal manages now."""
    return documents.filter(
        trashed_from__in=visible_scopes(principal, at_least=Permission.MANAGE),
        scope__bulk_change__purge_after__gt=timezone.now(),
    )


@transaction.atomic
def purge_documents(*, actor: Principal, documents: QuerySet[Document]) -> BulkOutcome:
    """Remove documents in the trash for good before their time is over, as far as the actor manages what they were in."""
    rows = list(restorable(documents, actor).select_for_update(of=("self",)).order_by("pk"))
    record_each(actor, "document.purged", ((row, {}) for row in rows))
    if len(rows) <= PURGED_AT_ONCE:
        services.remove_documents(rows)
    else:
        _purge_later(actor, rows)
    return BulkOutcome(changed=len(rows))


def _purge_later(actor: Principal, rows: Sequence[Document]) -> None:
    """Gathered under a deletion whose time is over, and removed in the background."""
    grave = AccessScope.objects.create()
    before = {str(row.pk): [row.trashed_from_id, True] for row in rows}
    BulkChange.objects.create(
        actor_id=actor.user_id,
        action=BulkChange.Action.DELETE,
        before=before,
        scope=grave,
        purge_after=timezone.now(),
    )
    Document.objects.filter(pk__in=_keys(rows)).update(scope=grave)
    enqueue("ingestion.tasks.purge_deleted")


def purge_due(*, seconds: float) -> bool:
    """Remove documents whose time in the trash is over, until time is up; whether any are left."""
    end = time.monotonic() + seconds
    due = BulkChange.objects.filter(scope__isnull=False, purge_after__lte=timezone.now())
    for change in due:
        while batch := list(_trashed(change)[:PURGED_AT_ONCE]):
            services.remove_documents(batch)
            if time.monotonic() > end:
                return True
        _forget(change)
    return False


def _trashed(change: BulkChange) -> QuerySet[Document]:
    return Document.objects.filter(scope_id=change.scope_id, scope__bulk_change=change).order_by("pk")


@transaction.atomic
def _forget(change: BulkChange) -> None:
    """The change's scope, and the lists of their own that its documents had, are needed no more."""
    own = {scope for scope, _archived in change.before.values()}
    grave = change.scope
    change.scope, change.before = None, {}
    change.save(update_fields=["scope", "before"])
    unused = AccessScope.objects.filter(
        pk__in=own, collection=None, documents=None, trashed_documents=None, bulk_change=None
    )
    unused.delete()
    if grave:
        grave.delete()


# --- shared -----------------------------------------------------------------------------------------------


def _locked(
    actor: Principal,
    documents: QuerySet[Document],
    level: Permission,
    *,
    deferred: Sequence[str] = ("metadata", "tags", "source_uri"),
) -> tuple[list[Document], int]:
    """The documents that the actor may change, locked in a fixed order, and how many it may only see."""
    seen = list(documents.order_by("pk").values_list("pk", flat=True)[: MOST + 1])
    if len(seen) > MOST:
        raise InvalidInput(
            _("At most %(most)s documents at once. Narrow the list by a filter.") % {"most": f"{MOST:,}"}
        )
    scopes = visible_scopes(actor, at_least=level)
    rows = list(
        Document.objects.filter(pk__in=seen, scope_id__in=scopes)
        .select_for_update(of=("self",))
        .order_by("pk")
        .defer(*deferred)
    )
    return rows, len(seen) - len(rows)


def _with_below(rows: Sequence[Document]) -> list[Document]:
    """The locked documents and all below them that are not in the trash, locked too, in the order of their numbers."""
    keys = set(_keys(rows))
    below = [key for key in families.below(list(keys), locked=True) if key not in keys]
    locked = Document.objects.filter(pk__in=below, trashed_from=None).select_for_update(of=("self",))
    along = locked.order_by("pk").defer("metadata", "tags", "source_uri")
    return sorted([*rows, *along], key=lambda row: row.pk)


def _outcome(
    rows: Sequence[Document], changed: Sequence[Document], refused: int, change: BulkChange | None = None
) -> BulkOutcome:
    return BulkOutcome(
        changed=len(changed),
        refused=refused,
        skipped=len(rows) - len(changed),
        change=change,
        changed_keys=frozenset(_keys(changed)),
    )


def _keys(rows: Iterable[Document]) -> list[int]:
    return [row.pk for row in rows]


def _let_indexes_follow(rows: Sequence[Document]) -> None:
    if rows:
        ScopeMove.objects.bulk_create(
            [ScopeMove(document=row) for row in rows], ignore_conflicts=True, batch_size=1000
        )
        enqueue("ingestion.tasks.follow_scopes")


def _remember(
    actor: Actor, action: BulkChange.Action, before: Mapping[int, object], **columns: object
) -> BulkChange | None:
    if not before:
        return None
    kept = {str(pk): value for pk, value in before.items()}
    return BulkChange.objects.create(actor_id=actor.user_id, action=action, before=kept, **columns)
