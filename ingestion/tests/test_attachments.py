"""Files inside a file: documents below it, seen by exactly those who see it, gone and back together with it."""

import hashlib
import io
import zipfile
from email.message import EmailMessage

import pytest
from django.db import connection

from accounts.permissions.grants import replace_grants
from accounts.principals import principal_of
from accounts.values import GrantRequest, Holder, Permission
from ingestion import attachments, blobs, bulk, families, ledger, pipeline, services, turns, uploads
from ingestion.blobs import store
from ingestion.indexing import moves
from ingestion.models import Document, IngestJob, VersionState
from ingestion.parsing.errors import warning_text
from ingestion.reasons import refusal_text
from ingestion.selectors import documents_for
from ingestion.tests.conftest import latest, run_jobs
from ingestion.values import SourceFile
from kb_platform.errors import Conflict

pytestmark = pytest.mark.django_db

RULE = "The relief valve opens at six bar."


def mail(files: dict[str, bytes], subject: str = "Valve rules") -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "ada@example.com", "bob@example.com", subject
    message.set_content("See the files.")
    for name, data in files.items():
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()


def titles(user) -> set[str]:
    return {row.title for row in documents_for(principal_of(user)) if row.archived_at is None}


@pytest.fixture
def sent(ingest, embedder) -> Document:
    """A mail with two texts, one of them in a mail of its own."""
    inner = mail({"deep.txt": b"The deepest rule."}, subject="Inner")
    document = ingest("rules.eml", mail({"rule.txt": RULE.encode(), "inner.eml": inner}))
    run_jobs(embedder)
    run_jobs(embedder)
    return document


def test_attachments_become_documents_below_and_are_read(sent, owner):
    assert titles(owner) == {"Valve rules", "rule.txt", "Inner", "deep.txt"}
    rule = Document.objects.get(title="rule.txt")
    assert (rule.parent, rule.source_key, rule.scope_id) == (sent, "rules.eml/rule.txt", sent.scope_id)
    assert rule.active_version.state == VersionState.LIVE
    deep = Document.objects.get(title="deep.txt")
    assert [row.title for row in families.above(deep)] == ["Valve rules", "Inner"]


def test_a_file_that_failed_calls_no_work_for_those_inside_it(upload, embedder, monkeypatch):
    """Not when it is read, not when it is given up, and not when the ledger is compared with the world."""
    upload("rules.eml", mail({"rule.txt": RULE.encode()}))
    (lease,) = ledger.claim(IngestJob.Stage.PARSE)
    pipeline.read(lease, embedder)
    for _ in range(ledger.MAX_FAILURES):
        (lease,) = ledger.claim(IngestJob.Stage.EMBED)
        ledger.release(lease, code="failed_once")
        IngestJob.objects.update(not_before=None)
    assert ledger.claim(IngestJob.Stage.EMBED) == []
    ledger.reconcile()
    run_jobs(embedder)
    assert list(Document.objects.values_list("title", flat=True)) == ["Valve rules"]
    job = IngestJob.objects.get()  # and no other
    assert (job.state, job.version.state) == ("failed", VersionState.QUARANTINED)


def test_the_same_again_changes_nothing_and_a_new_version_follows_its_file(sent, upload, embedder, owner):
    before = dict(Document.objects.values_list("pk", "latest_version_id"))
    version = sent.latest_version
    attachments_again(sent)
    assert dict(Document.objects.values_list("pk", "latest_version_id")) == before
    upload("rules.eml", mail({"rule.txt": b"Now seven bar.", "new.txt": b"A new file."}))
    run_jobs(embedder)
    run_jobs(embedder)
    assert titles(owner) == {"Valve rules", "rule.txt", "new.txt"}
    assert latest(Document.objects.get(title="rule.txt")).number == 2
    gone = Document.objects.filter(trashed_from__isnull=False)
    assert {row.title for row in gone} == {"Inner", "deep.txt"}
    assert version.number == 1


def attachments_again(document: Document) -> None:
    document.refresh_from_db()
    job = IngestJob.objects.get(version=document.active_version)
    attachments.follow(document, document.active_version, job)


def test_what_cannot_be_read_is_named_with_its_reason(ingest):
    files = {
        "clip.mp4": b"\x00\x00\x00\x20ftypisom" + bytes(40),
        "old.7z": b"7z\xbc\xaf\x27\x1c" + bytes(40),
        "void.txt": b"  ",
    }
    version = ingest("rules.eml", mail({**files, "rule.txt": RULE.encode()})).active_version
    assert version.state == VersionState.PARTLY_LIVE
    assert version.quality["warnings"] == [
        "attachments_media:clip.mp4",
        "attachments_unsupported:old.7z",
        "attachments_empty:void.txt",
    ]
    assert "subtitles" in warning_text(version.quality["warnings"][0])


def test_depth_and_number_are_limited(ingest, embedder, monkeypatch):
    monkeypatch.setattr(attachments, "MAX_BELOW", 2)
    version = ingest("a.eml", mail({f"{n}.txt": b"Words." for n in range(4)})).active_version
    assert version.quality["warnings"] == ["attachments_too_many:2.txt, 3.txt"]
    monkeypatch.setattr(attachments, "MAX_BELOW", 100)
    monkeypatch.setattr(families, "MAX_DEPTH", 1)
    ingest("b.eml", mail({"c.eml": mail({"d.txt": b"Words."}, subject="Second")}, subject="First"))
    run_jobs(embedder)
    assert Document.objects.get(title="Second").active_version.quality["warnings"] == [
        "attachments_too_deep:d.txt"
    ]


def test_nobody_sees_an_attachment_who_does_not_see_its_mail(sent, owner, reader, outsider, collection):
    actor = principal_of(owner)
    whole = titles(owner)
    view = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.VIEW)]
    replace_grants(actor=actor, scope=collection.scope, grants=view)
    assert (titles(reader), titles(outsider)) == (whole, set())
    services.share_document(actor=actor, document=sent, grants=[])
    assert (titles(owner), titles(reader)) == (whole, set())
    services.share_document(actor=actor, document=sent, grants=view)
    assert titles(reader) == whole
    other = services.create_collection(actor=actor, name="Closed")
    services.share_document(actor=actor, document=sent, grants=None)
    services.move_document(actor=actor, document=sent, collection=other)
    assert (titles(owner), titles(reader), titles(outsider)) == (whole, set(), set())
    assert set(Document.objects.values_list("collection__name", "scope_id")) == {("Closed", other.scope_id)}
    outcome = bulk.move_documents(
        actor=actor, documents=Document.objects.filter(pk=sent.pk), collection=collection
    )
    assert (outcome.changed, titles(reader)) == (1, whole)
    bulk.undo(actor=actor, change=outcome.change)
    assert titles(reader) == set()
    moves.follow_all(seconds=5)


def test_an_attachment_cannot_be_moved_or_shared_by_itself(sent, owner, collection):
    actor, rule = principal_of(owner), Document.objects.get(title="rule.txt")
    other = services.create_collection(actor=actor, name="Other")
    with pytest.raises(Conflict, match="Valve rules"):
        services.share_document(actor=actor, document=rule, grants=[])
    with pytest.raises(Conflict):
        services.move_document(actor=actor, document=rule, collection=other)
    outcome = bulk.move_documents(
        actor=actor, documents=Document.objects.filter(pk=rule.pk), collection=other
    )
    assert (outcome.changed, outcome.skipped) == (0, 1)


def test_archive_and_trash_take_the_attachments_along_and_bring_them_back(sent, owner, embedder):
    actor, whole = principal_of(owner), titles(owner)
    chosen = Document.objects.filter(pk=sent.pk)
    archived = bulk.archive_documents(actor=actor, documents=chosen)
    assert (archived.changed, titles(owner)) == (1, set())
    rule = Document.objects.filter(title="rule.txt")
    assert bulk.restore_documents(actor=actor, documents=rule).changed == 0
    bulk.undo(actor=actor, change=archived.change)
    run_jobs(embedder)
    assert titles(owner) == whole
    deleted = bulk.delete_documents(actor=actor, documents=chosen)
    assert titles(owner) == set()
    assert [row.title for row in bulk.trash_of(actor)] == ["Valve rules"]
    assert bulk.undelete_documents(actor=actor, documents=rule).changed == 0
    bulk.undo(actor=actor, change=deleted.change)
    run_jobs(embedder)
    assert titles(owner) == whole


def test_an_attachment_in_the_trash_comes_back_to_those_who_see_the_mail_now(sent, owner, reader, collection):
    actor = principal_of(owner)
    view = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.VIEW)]
    replace_grants(actor=actor, scope=collection.scope, grants=view)
    rule = Document.objects.filter(title="rule.txt")
    deleted = bulk.delete_documents(actor=actor, documents=rule)
    attachments_again(sent)
    assert "rule.txt" not in titles(owner)
    services.share_document(actor=actor, document=sent, grants=[])
    bulk.undo(actor=actor, change=deleted.change)
    assert rule.get().scope_id == Document.objects.get(pk=sent.pk).scope_id
    assert titles(reader) == set()


def test_removal_for_good_leaves_nothing_of_the_attachments(sent, owner):
    actor = principal_of(owner)
    bulk.delete_documents(actor=actor, documents=Document.objects.filter(pk=sent.pk))
    bulk.purge_documents(actor=actor, documents=bulk.trash_of(actor))
    assert not Document.objects.exists()


def test_a_file_named_like_an_attachment_does_not_reach_it(sent, upload, owner):
    rule = Document.objects.get(title="rule.txt")
    digest = hashlib.sha256(b"rule.eml").hexdigest()
    Document.objects.filter(pk=rule.pk).update(source_digest=digest)
    made = upload("rule.eml", b"Subject: x\n\nWords.")
    assert made.document.pk != rule.pk


def test_attachments_are_rows_of_the_upload(owner, collection, generation, embedder):
    from django.core.files.uploadedfile import SimpleUploadedFile

    actor = principal_of(owner)
    batch = uploads.open_batch(actor=actor, collection=collection)
    data = mail({"rule.txt": RULE.encode(), "old.7z": b"7z\xbc\xaf\x27\x1c" + bytes(40)})
    uploads.add_file(actor=actor, batch=batch, file=SimpleUploadedFile("rules.eml", data))
    run_jobs(embedder)
    run_jobs(embedder)
    files = uploads.files_of(actor, batch)
    assert [(row.name, row.outcome) for row in files] == [
        ("rules.eml", "accepted"),
        ("rules.eml/rule.txt", "accepted"),
        ("rules.eml/old.7z", "refused"),
    ]
    counts = uploads.count_files(files, batch)
    assert (counts.total, counts.live, counts.partly, counts.refused) == (3, 1, 1, 1)


def test_pages_lead_from_the_mail_to_its_files_and_back(sent, owner, outsider, browser):
    rule = Document.objects.get(title="rule.txt")
    page = browser(owner).get(f"/manage/documents/{sent.uid}").content.decode()
    assert f'href="/manage/documents/{rule.uid}"' in page
    child = browser(owner).get(f"/manage/documents/{rule.uid}").content.decode()
    assert f'<a href="/manage/documents/{sent.uid}">Valve rules</a>' in child
    assert "As “Valve rules”, in which it came." in child
    assert "in “Valve rules”" in browser(owner).get("/manage/documents").content.decode()
    assert f"/d/{sent.uid}" in browser(owner).get(f"/d/{rule.uid}").content.decode()
    moved = browser(owner).get(f"/manage/documents/{rule.uid}/sharing")
    assert moved.headers["Location"] == f"/manage/documents/{sent.uid}/sharing"
    for path in (f"/manage/documents/{rule.uid}", f"/d/{rule.uid}"):
        assert browser(outsider).get(path).status_code == 404


def test_a_zip_is_a_batch_and_a_renamed_archive_in_it_stops_no_neighbour(
    owner, collection, generation, embedder
):
    from django.core.files.uploadedfile import SimpleUploadedFile

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        target.writestr("plans/a.txt", RULE)
        target.writestr("plans/b.pdf", b"7z\xbc\xaf\x27\x1c" + bytes(40))
        target.writestr("c.md", "# Third\n\nWords.")
    actor = principal_of(owner)
    batch = uploads.open_batch(actor=actor, collection=collection)
    uploads.add_file(actor=actor, batch=batch, file=SimpleUploadedFile("plans.zip", file.getvalue()))
    run_jobs(embedder)
    run_jobs(embedder)
    rows = {row.name: row for row in uploads.files_of(actor, batch)}
    assert {name: row.outcome for name, row in rows.items()} == {
        "plans.zip": "accepted",
        "plans.zip/plans/a.txt": "accepted",
        "plans.zip/plans/b.pdf": "refused",
        "plans.zip/c.md": "accepted",
    }
    assert "7z archive" in refusal_text(rows["plans.zip/plans/b.pdf"])
    assert titles(owner) == {"plans.zip", "a.txt", "Third"}
    assert Document.objects.get(title="a.txt").source_key == "plans.zip/plans/a.txt"


def test_a_video_beside_its_subtitles_is_kept_with_them_for_download(
    ingest, embedder, owner, outsider, browser
):
    video = b"\x00\x00\x00\x20ftypisom" + bytes(40)
    srt = b"1\n00:00:01,000 --> 00:00:03,000\nClose the valve.\n"
    files = {"talk.mp4": video, "talk.en.srt": srt, "other.mp4": video + b"x"}
    sent = ingest("talk.eml", mail(files))
    run_jobs(embedder)
    assert sent.active_version.quality["warnings"] == ["attachments_media:other.mp4"]
    subtitles = Document.objects.get(title="talk.en.srt")
    [part] = subtitles.active_version.parts.all()
    path = f"/api/v1/documents/{subtitles.uid}/recordings/{part.blob}"
    assert path in browser(owner).get(f"/d/{subtitles.uid}").content.decode()
    assert b"".join(browser(owner).get(path).streaming_content) == video
    assert browser(outsider).get(path).status_code == 404
    services.reparse_document(actor=principal_of(owner), document=subtitles)
    run_jobs(embedder)
    subtitles.refresh_from_db()
    assert [part.name for part in subtitles.active_version.parts.all()] == ["talk.mp4"]


def test_a_source_named_by_a_person_never_takes_the_place_of_an_attachment(sent, upload, owner, embedder):
    """Whoever may contribute knows the id of the mail, and may name any source."""
    other = services.create_collection(actor=principal_of(owner), name="Other")
    for name in ("rule.txt", "new.txt"):
        for collection in (sent.collection, other):
            services.upload_document(
                actor=principal_of(owner),
                collection=collection,
                file=SourceFile(name=name, blob=store([b"Not it."]), source_uri=f"{sent.uid}/{name}"),
            )
    upload("rules.eml", mail({"rule.txt": RULE.encode(), "new.txt": b"A new file."}))
    run_jobs(embedder)
    run_jobs(embedder)
    below = sent.attached.filter(trashed_from=None)
    assert {row.title for row in below} == {"rule.txt", "new.txt"}
    services.move_document(actor=principal_of(owner), document=sent, collection=other)
    assert set(below.values_list("collection", flat=True)) == {other.pk}


def test_an_archived_mail_that_is_sent_again_is_searchable_with_all_its_files(sent, upload, embedder, owner):
    actor = principal_of(owner)
    deep = Document.objects.get(title="deep.txt")
    bulk.archive_documents(actor=actor, documents=Document.objects.filter(pk=deep.pk))
    bulk.archive_documents(actor=actor, documents=Document.objects.filter(pk=sent.pk))
    moves.follow_all(seconds=5)
    with blobs.path_of(sent.latest_version.blob).open("rb") as file:
        again = upload("rules.eml", file.read())
    assert (again.created, again.version.state) == (False, VersionState.EMBEDDING)
    run_jobs(embedder)
    assert titles(owner) == {"Valve rules", "rule.txt", "Inner"}, "what was archived by itself stays so"
    assert indexed_documents() == set(Document.objects.exclude(pk=deep.pk).values_list("pk", flat=True))


def indexed_documents() -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute("select document_id from lexical_g1")
        return {row[0] for row in cursor.fetchall()}


def test_what_is_below_is_locked_before_the_next_level_is_looked_for(sent, django_assert_num_queries):
    with django_assert_num_queries(3) as told:
        assert len(families.below([sent.pk], locked=True)) == 3
    assert all("FOR UPDATE" in query["sql"] for query in told)


def test_a_file_that_came_inside_another_is_taken_when_it_is_uploaded_by_itself(
    owner, collection, generation, embedder
):
    """The one inside goes with the mail; what a person uploaded stays."""
    from django.core.files.uploadedfile import SimpleUploadedFile

    actor = principal_of(owner)
    batch = uploads.open_batch(actor=actor, collection=collection)
    uploads.add_file(
        actor=actor, batch=batch, file=SimpleUploadedFile("m.eml", mail({"rule.txt": RULE.encode()}))
    )
    run_jobs(embedder)
    run_jobs(embedder)
    entry = uploads.add_file(actor=actor, batch=batch, file=SimpleUploadedFile("rule.txt", RULE.encode()))
    assert entry.outcome == "accepted"
    assert entry.same_as.parent.title == "Valve rules"


def test_an_archive_of_archives_fills_no_disk(ingest, embedder, monkeypatch):
    def packed(files: dict[str, bytes]) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return out.getvalue()

    monkeypatch.setattr(attachments, "MAX_BELOW_BYTES", 20_000)
    inner = {f"{n}.zip": packed({"a.txt": b"%d words " % n * 1_000}) for n in range(1, 5)}
    ingest("bomb.zip", packed(inner))
    run_jobs(embedder)
    states = [latest(Document.objects.get(title=name)) for name in inner]
    assert [row.state for row in states[:2]] == [VersionState.LIVE] * 2
    assert [(row.state, row.reason_code) for row in states[2:]] == [(VersionState.REJECTED, "too_large")] * 2
    stored = sum(path.stat().st_size for path in blobs.path_of("0" * 64).parents[2].glob("??/??/*"))
    assert stored < 20_000


def test_many_files_in_one_are_a_bulk_load_and_few_are_not(ingest, monkeypatch):
    monkeypatch.setattr(turns, "SMALL_BATCH", 2)
    for name, number in (("few.eml", 2), ("many.eml", 3)):
        ingest(name, mail({f"{n}.txt": b"Words." for n in range(number)}, subject=name))
    asked = IngestJob.objects.filter(version__document__parent__isnull=False)
    told = {job.version.document.parent.title: job.priority for job in asked}
    assert told == {"few.eml": IngestJob.Priority.FIRST, "many.eml": IngestJob.Priority.LATER}
