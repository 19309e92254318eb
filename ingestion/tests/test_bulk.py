"""Many documents at once: each judged by rights, audited, and taken back where that is promised."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.permissions.grants import replace_grants
from accounts.principals import principal_of
from accounts.values import GrantRequest, Holder, Permission, SystemActor
from ingestion import bulk, ledger, services
from ingestion.blobs import store
from ingestion.indexing import moves
from ingestion.models import (
    BulkChange,
    Document,
    DocumentVersion,
    IngestJob,
    ScopeMove,
    VersionState,
)
from ingestion.selectors import DocumentFilters, documents_for, filter_documents
from ingestion.testing.rows import make_document
from ingestion.tests.conftest import run_jobs
from ingestion.values import SourceFile
from kb_platform.errors import Conflict, InvalidInput, NotAllowed, NotFound
from kb_platform.models import AuditEntry

pytestmark = pytest.mark.django_db


@pytest.fixture
def mine(owner):
    return services.create_collection(actor=principal_of(owner), name="Manuals")


@pytest.fixture
def theirs(owner, reader):
    """A collection that the owner may see, but not change."""
    made = services.create_collection(actor=principal_of(reader), name="Policies")
    grants = [GrantRequest(holder=Holder.user(owner.pk), permission=Permission.VIEW)]
    replace_grants(actor=principal_of(reader), scope=made.scope, grants=grants)
    return made


def test_only_what_one_manages_is_archived_and_the_rest_is_counted(owner, outsider, mine, theirs):
    make_document(mine, title="Mine")
    foreign = make_document(theirs, title="Foreign")
    actor = principal_of(owner)
    outcome = bulk.archive_documents(actor=actor, documents=documents_for(actor))
    assert (outcome.changed, outcome.refused, outcome.skipped) == (1, 1, 0)
    foreign.refresh_from_db()
    assert foreign.archived_at is None
    assert AuditEntry.objects.filter(action="document.archived").count() == 1
    stranger = principal_of(outsider)
    nothing = bulk.archive_documents(actor=stranger, documents=documents_for(stranger))
    assert (nothing.changed, nothing.refused, nothing.change) == (0, 0, None)


def test_archiving_leaves_the_index_and_undo_brings_it_back_searchable(owner, ingest, embedder):
    document = ingest("a.md", b"# A\n\nThe pump is oiled on Mondays.")
    actor = principal_of(owner)
    outcome = bulk.archive_documents(actor=actor, documents=documents_for(actor))
    moves.follow_all(seconds=5)
    assert not ScopeMove.objects.exists()
    bulk.undo(actor=actor, change=outcome.change)
    document.refresh_from_db()
    assert document.archived_at is None
    assert documents_for(actor).get().state == "processing"
    run_jobs(embedder)
    assert documents_for(actor).get().state == "live"
    with pytest.raises(Conflict):
        bulk.undo(actor=actor, change=outcome.change)


def test_moving_takes_on_the_new_sharing_and_undo_the_old(owner, mine, theirs):
    other = services.create_collection(actor=principal_of(owner), name="Archive")
    rows = [make_document(mine, title=f"Document {n}") for n in range(3)]
    services.share_document(actor=principal_of(owner), document=rows[0], grants=[])
    own_scope = Document.objects.get(pk=rows[0].pk).scope_id
    actor = principal_of(owner)
    outcome = bulk.move_documents(actor=actor, documents=documents_for(actor), collection=other)
    assert outcome.changed == 3
    assert set(Document.objects.values_list("scope_id", flat=True)) == {other.scope_id, own_scope}
    bulk.undo(actor=actor, change=outcome.change)
    assert set(Document.objects.values_list("collection", flat=True)) == {mine.pk}
    assert set(Document.objects.values_list("scope_id", flat=True)) == {mine.scope_id, own_scope}


def test_undoing_a_move_leaves_what_somebody_else_has_moved_on(owner, reader, mine, theirs):
    other = services.create_collection(actor=principal_of(owner), name="Archive")
    manage = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.MANAGE)]
    replace_grants(actor=principal_of(owner), scope=other.scope, grants=manage)
    moved_on = make_document(mine, title="Moved on")
    make_document(mine, title="Left there")
    actor = principal_of(owner)
    outcome = bulk.move_documents(actor=actor, documents=documents_for(actor), collection=other)
    third = services.create_collection(actor=actor, name="Third")
    manage = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.MANAGE)]
    replace_grants(actor=actor, scope=third.scope, grants=manage)
    services.move_document(actor=principal_of(reader), document=moved_on, collection=third)
    assert bulk.undo(actor=actor, change=outcome.change).changed == 1
    homes = dict(Document.objects.values_list("title", "collection__name"))
    assert homes == {"Moved on": "Third", "Left there": "Manuals"}


def test_a_document_from_the_same_source_stays_where_it_is(owner, mine):
    other = services.create_collection(actor=principal_of(owner), name="Archive")
    make_document(mine, title="Same")
    make_document(mine, title="Different")
    make_document(other, title="Same")
    actor = principal_of(owner)
    moving = documents_for(actor).filter(collection=mine)
    outcome = bulk.move_documents(actor=actor, documents=moving, collection=other)
    assert (outcome.changed, outcome.skipped) == (1, 1)


def test_moving_needs_the_right_to_contribute_to_the_target(owner, mine, theirs):
    make_document(mine)
    actor = principal_of(owner)
    with pytest.raises(NotAllowed):
        bulk.move_documents(actor=actor, documents=documents_for(actor), collection=theirs)


def test_reading_again_makes_new_versions_and_leaves_what_is_live(owner, mine):
    rows = [make_document(mine, title=f"Document {n}") for n in range(60)]
    busy = make_document(mine, title="Busy", state=VersionState.PARSING)
    actor = principal_of(owner)
    outcome = bulk.reread_documents(actor=actor, documents=documents_for(actor))
    assert (outcome.changed, outcome.skipped) == (60, 1)
    document = Document.objects.get(pk=rows[0].pk)
    assert document.latest_version.number == 2
    assert document.active_version.number == 1
    assert IngestJob.objects.filter(version__number=2, ended_at=None).count() == 60
    assert not DocumentVersion.objects.filter(document=busy, number=2).exists()


def test_deleted_documents_are_out_of_everybodys_sight_and_come_back(owner, administrator, mine):
    make_document(mine, title="Plan")
    actor = principal_of(owner)
    outcome = bulk.delete_documents(actor=actor, documents=documents_for(actor))
    for person in (owner, administrator):
        assert not documents_for(principal_of(person)).exists()
    assert bulk.trash_of(actor).get().title == "Plan"
    assert not bulk.trash_of(principal_of(administrator)).exists()
    with pytest.raises(NotFound):
        bulk.get_change(principal_of(administrator), str(outcome.change.uid))
    bulk.undo(actor=actor, change=outcome.change)
    assert documents_for(actor).get().title == "Plan"


def test_what_was_deleted_neither_comes_back_nor_goes_for_who_lost_the_right(browser, owner, mine):
    make_document(mine)
    actor = principal_of(owner)
    outcome = bulk.delete_documents(actor=actor, documents=documents_for(actor))
    assert "Travel policy" in browser(owner).get("/manage/documents/trash").content.decode()
    mine.scope.user_grants.all().delete()
    with pytest.raises(Conflict):
        bulk.undo(actor=actor, change=outcome.change)
    assert "Travel policy" not in browser(owner).get("/manage/documents/trash").content.decode()
    assert not bulk.purge_documents(actor=actor, documents=Document.objects.all()).changed
    assert not bulk.purge_due(seconds=5)
    assert Document.objects.exists()


def test_whoever_manages_the_scope_finds_it_in_the_trash_and_brings_it_back(
    api, browser, owner, reader, outsider, administrator, mine
):
    plain, private = make_document(mine, title="Plain"), make_document(mine, title="Private")
    services.share_document(actor=principal_of(owner), document=private, grants=[])
    grants = [
        GrantRequest(holder=Holder.user(reader.pk), permission=Permission.MANAGE),
        GrantRequest(holder=Holder.user(outsider.pk), permission=Permission.CONTRIBUTE),
    ]
    replace_grants(actor=principal_of(owner), scope=mine.scope, grants=grants)
    deletion = bulk.delete_documents(
        actor=principal_of(owner), documents=documents_for(principal_of(owner))
    ).change

    def trash(user):
        return [row["title"] for row in api(user).get("/api/v1/trash").json()["results"]]

    assert [trash(user) for user in (owner, reader, outsider, administrator)] == [
        ["Plain", "Private"],
        ["Plain"],  # no list of its own opens the other to them
        [],
        [],
    ]
    page = browser(reader).get("/manage/documents/trash").content.decode()
    assert ("Plain" in page, "Private" in page) == (True, False)
    for user in (outsider, administrator):
        assert api(user).post(f"/api/v1/trash/{plain.uid}/restore").status_code == 404
        assert api(user).delete(f"/api/v1/documents/{plain.uid}?permanent=true").status_code == 404
        browser(user).post("/manage/documents/trash/change", {"restore": str(plain.uid)})
        browser(user).post("/manage/documents/trash/change", {"all": "1", "purge": "", "confirmed": "1"})
        with pytest.raises(NotFound):
            bulk.get_change(principal_of(user), str(deletion.uid))
    browser(reader).post("/manage/documents/trash/change", {"restore": str(private.uid)})
    assert Document.objects.filter(trashed_from__isnull=False).count() == 2
    browser(reader).post("/manage/documents/trash/change", {"restore": "", "all": "1"})
    assert documents_for(principal_of(outsider)).get().title == "Plain"
    outcome = bulk.undo(actor=principal_of(owner), change=deletion)
    assert (outcome.changed, trash(owner)) == (1, [])
    assert Document.objects.get(title="Private").scope_id not in (mine.scope_id, deletion.scope_id)


def test_removing_for_good_takes_what_was_confirmed_and_manages_and_many_in_the_background(
    browser, owner, mine, monkeypatch
):
    monkeypatch.setattr(bulk, "PURGED_AT_ONCE", 2)
    rows = [make_document(mine, title=f"Document {n}") for n in range(4)]
    actor = principal_of(owner)
    bulk.delete_documents(actor=actor, documents=documents_for(actor))
    client, path = browser(owner), "/manage/documents/trash/change"
    asked = client.post(path, {"purge": str(rows[0].uid)}).content.decode()
    assert (str(rows[0].uid) in asked, Document.objects.count()) == (True, 4)
    client.post(path, {"purge": str(rows[0].uid), "ids": [str(rows[1].uid)], "confirmed": "1"})
    assert not Document.objects.filter(pk=rows[0].pk).exists()
    client.post(path, {"purge": "", "all": "1", "confirmed": "1"})
    assert not bulk.trash_of(actor).exists()
    assert not bulk.purge_due(seconds=5)
    assert not Document.objects.exists()


@pytest.mark.parametrize("wanted", ["collection", "-1", "//evil.example", "https://evil.example/", "\x00"])
def test_after_an_undo_only_a_page_of_this_site_is_opened(browser, owner, mine, wanted):
    make_document(mine)
    actor = principal_of(owner)
    change = bulk.archive_documents(actor=actor, documents=documents_for(actor)).change
    answer = browser(owner).post(f"/manage/changes/{change.uid}/undo", {"next": wanted})
    assert (answer.status_code, answer["Location"]) == (302, "/manage/documents")


def test_the_trash_is_emptied_after_thirty_days_and_its_collection_can_go(owner, mine):
    document = make_document(mine)
    services.share_document(actor=principal_of(owner), document=document, grants=[])
    actor = principal_of(owner)
    outcome = bulk.delete_documents(actor=actor, documents=documents_for(actor))
    assert not bulk.purge_due(seconds=5)
    assert Document.objects.exists()
    BulkChange.objects.update(purge_after=timezone.now() - timedelta(seconds=1))
    assert not bulk.purge_due(seconds=5)
    assert not Document.objects.exists()
    outcome.change.refresh_from_db()
    assert outcome.change.scope is None
    services.delete_collection(actor=actor, collection=mine)


def test_a_file_of_a_deleted_documents_name_becomes_a_new_document(owner, ingest, collection):
    ingest("a.md", b"# A\n\nOld.")
    actor = principal_of(owner)
    bulk.delete_documents(actor=actor, documents=documents_for(actor))
    ingest("a.md", b"# A\n\nNew.")
    assert documents_for(actor).count() == 1
    assert Document.objects.count() == 2
    bulk.undelete_documents(actor=actor, documents=bulk.trash_of(actor))
    assert documents_for(actor).count() == 2
    bulk.delete_documents(actor=actor, documents=documents_for(actor))
    services.upload_document(
        actor=SystemActor(name="import"),
        collection=collection,
        file=SourceFile(name="a.md", blob=store([b"# A"])),
    )
    assert documents_for(actor).get().latest_version.number == 1


def test_a_selection_that_is_too_large_is_refused_whole(owner, mine, monkeypatch):
    monkeypatch.setattr(bulk, "MOST", 1)
    make_document(mine, title="One")
    make_document(mine, title="Two")
    actor = principal_of(owner)
    with pytest.raises(InvalidInput):
        bulk.archive_documents(actor=actor, documents=documents_for(actor))
    assert not Document.objects.exclude(archived_at=None).exists()


def test_built_in_views(owner, mine):
    make_document(mine, title="Plain")
    make_document(mine, title="Broken", state=VersionState.REJECTED)
    secret = make_document(mine, title="Secret")
    services.share_document(actor=principal_of(owner), document=secret, grants=[])
    Document.objects.filter(title="Plain").update(owner=owner)
    visible = documents_for(principal_of(owner))

    def titles(view):
        wanted = DocumentFilters(view=view, user_id=owner.pk)
        return set(filter_documents(visible, wanted).values_list("title", flat=True))

    assert titles("mine") == {"Plain"}
    assert titles("attention") == {"Broken"}
    assert titles("restricted") == {"Secret"}
    assert titles("archived") == set()
    assert titles("nonsense") == set()


def _fail(uploaded, code):
    job = IngestJob.objects.select_related("version").get(pk=uploaded.job.pk)
    ledger.end(job, IngestJob.State.FAILED, VersionState.QUARANTINED, code)


def test_what_failed_is_tried_again_where_that_can_help(upload, owner):
    crashed, locked, waiting = upload("a.md", b"# A"), upload("b.md", b"# B"), upload("c.md", b"# C")
    _fail(crashed, "crashed")
    _fail(locked, "encrypted")
    outcome = bulk.retry_documents(actor=principal_of(owner), documents=Document.objects.all())
    assert (outcome.changed, outcome.skipped) == (1, 2)
    assert [IngestJob.objects.get(pk=row.job.pk).state for row in (crashed, locked, waiting)] == [
        "queued",
        "failed",
        "queued",
    ]
    with pytest.raises(Conflict, match="has a password"):
        services.retry_job(actor=principal_of(owner), job=locked.job)


def test_many_are_cancelled_at_once_and_tried_again(upload, owner):
    upload("a.md", b"# A")
    upload("b.md", b"# B")
    everything = Document.objects.all()
    assert bulk.cancel_documents(actor=principal_of(owner), documents=everything).changed == 2
    assert ledger.claim(IngestJob.Stage.PARSE) == []
    assert bulk.cancel_documents(actor=principal_of(owner), documents=everything).changed == 0
    assert bulk.retry_documents(actor=principal_of(owner), documents=everything).changed == 2
    assert len(ledger.claim(IngestJob.Stage.PARSE, limit=5)) == 2
