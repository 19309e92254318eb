"""Batches of uploads: refusals at the door, copies that are told, rights, retry and cancel."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.permissions.grants import grants_of, replace_grants
from accounts.principals import principal_of
from accounts.values import GrantRequest, Holder, Permission
from ingestion import services, uploads
from ingestion.models import Document, DocumentVersion, UploadedFile
from ingestion.reasons import outcome_text
from ingestion.tests.conftest import run_jobs
from kb_platform.errors import NotAllowed, NotFound

Outcome = UploadedFile.Outcome


@pytest.fixture
def send(collection, owner):
    """`send(name, content)`: a file into a batch of the owner."""
    batch = uploads.open_batch(actor=principal_of(owner), collection=collection)

    def send_file(name: str, content: bytes = b"# A\n\ntext", *, path: str = "", into=batch) -> UploadedFile:
        file = SimpleUploadedFile(name, content)
        return uploads.add_file(actor=principal_of(owner), batch=into, file=file, path=path)

    send_file.batch = batch
    return send_file


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("clip.mp4", b"x", "unsupported"),
        ("empty.md", b"", "empty"),
        ("x" * 300 + ".md", b"text", "name_too_long"),
    ],
)
def test_refused_at_the_door_with_a_reason(send, name, content, code):
    path = name if len(name) > 255 else ""  # Django shortens the names of files
    entry = send(name, content, path=path)
    assert (entry.outcome, entry.reason_code) == (Outcome.REFUSED, code)
    assert not Document.objects.exists()


def test_files_of_one_name_in_two_folders_are_two_documents(send):
    send("index.md", b"# One\n\ntext", path="a/index.md")
    send("index.md", b"# Two\n\ntext", path="b/index.md")
    assert Document.objects.count() == 2


def test_the_same_file_again_changes_nothing_and_under_another_name_or_path_it_is_taken_and_told(send):
    first = send("a.md")
    again, copy, elsewhere = send("a.md"), send("copy.md"), send("a.md", path="other folder/a.md")
    assert again.outcome == Outcome.UNCHANGED
    original = first.version.document
    for entry in (copy, elsewhere):
        assert (entry.outcome, entry.same_as) == (Outcome.ACCEPTED, original)
        assert "“a.md”" in outcome_text(entry, {original.scope_id})
        assert "“a.md”" not in outcome_text(entry, set())
    assert Document.objects.count() == 3
    assert uploads.count_files(UploadedFile.objects.all(), first.batch).refused == 0


def test_a_copy_elsewhere_is_taken_and_told(send, owner):
    first = send("a.md")
    other = services.create_collection(actor=principal_of(owner), name="Other")
    entry = send("b.md", into=uploads.open_batch(actor=principal_of(owner), collection=other))
    assert (entry.outcome, entry.same_as) == (Outcome.ACCEPTED, first.version.document)


def test_a_copy_that_is_hidden_is_not_told(send, collection, reader):
    send("a.md")
    mine = services.create_collection(actor=principal_of(reader), name="Mine")
    batch = uploads.open_batch(actor=principal_of(reader), collection=mine)
    file = SimpleUploadedFile("a.md", b"# A\n\ntext")
    entry = uploads.add_file(actor=principal_of(reader), batch=batch, file=file)
    assert (entry.outcome, entry.same_as) == (Outcome.ACCEPTED, None)


def test_a_list_of_their_own_needs_manage_and_is_given_to_new_documents(send, collection, owner, reader):
    grants = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.VIEW)]
    batch = uploads.open_batch(actor=principal_of(owner), collection=collection, grants=grants)
    entry = send("a.md", into=batch)
    document = entry.version.document
    document.refresh_from_db()
    assert document.scope_id != collection.scope_id
    assert {grant.holder for grant in grants_of(document.scope)} == {
        Holder.user(owner.pk),
        Holder.user(reader.pk),
    }
    contribute = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.CONTRIBUTE)]
    replace_grants(actor=principal_of(owner), scope=collection.scope, grants=contribute)
    with pytest.raises(NotAllowed):
        uploads.open_batch(actor=principal_of(reader), collection=collection, grants=[])


def test_a_batch_is_hidden_from_outsiders_and_from_who_lost_the_collection(send, collection, owner, outsider):
    uid = str(send.batch.uid)
    assert uploads.get_batch(principal_of(owner), uid) == send.batch
    with pytest.raises(NotFound):
        uploads.get_batch(principal_of(outsider), uid)
    collection.scope.user_grants.all().delete()
    with pytest.raises(NotFound):
        uploads.get_batch(principal_of(owner), uid)


def test_counts_add_up_and_failures_are_tried_again_together(send, owner, embedder):
    send("good.md")
    send("bad.pdf", b"%PDF-1.7 broken")
    send("clip.mp4", b"x")
    run_jobs(embedder)
    files = uploads.files_of(principal_of(owner), send.batch)
    counts = uploads.count_files(files, send.batch)
    assert (counts.total, counts.live, counts.failed, counts.refused, counts.unfinished) == (3, 1, 1, 1, 0)
    assert counts.with_problems == uploads.with_problems(files).count() == 2
    assert counts.retryable == uploads.retry_failed(actor=principal_of(owner), batch=send.batch) == 0
    DocumentVersion.objects.filter(reason_code="truncated").update(reason_code="crashed")
    assert uploads.count_files(files, send.batch).retryable == 1
    assert uploads.retry_failed(actor=principal_of(owner), batch=send.batch) == 1
    assert uploads.count_files(files, send.batch).unfinished == 1
    assert uploads.cancel_unfinished(actor=principal_of(owner), batch=send.batch) == 1
    assert uploads.count_files(files, send.batch).unfinished == 0


def test_a_batch_with_a_list_of_its_own_is_its_makers_alone(send, collection, owner, reader):
    both = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.MANAGE)]
    replace_grants(actor=principal_of(owner), scope=collection.scope, grants=both)
    private = uploads.open_batch(actor=principal_of(owner), collection=collection, grants=[])
    send("dismissals.xlsx", b"x", into=private)
    assert uploads.get_batch(principal_of(reader), str(send.batch.uid)) == send.batch
    assert uploads.get_batch(principal_of(owner), str(private.uid)) == private
    with pytest.raises(NotFound):
        uploads.get_batch(principal_of(reader), str(private.uid))


def test_a_list_of_its_own_is_not_lost_on_a_document_that_others_see(send, collection, owner, reader):
    grants = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.VIEW)]
    replace_grants(actor=principal_of(owner), scope=collection.scope, grants=grants)
    send("pay.md")
    private = uploads.open_batch(actor=principal_of(owner), collection=collection, grants=[])
    entry = send("pay.md", b"# Pay\n\nsecret", into=private)
    assert entry.outcome == Outcome.REFUSED
    assert "others can see it" in entry.reason_params["cause"]
    assert Document.objects.get().latest_version.number == 1


def test_a_copy_is_not_named_once_it_is_hidden(send, collection, api, owner):
    copied = send("a.md").version.document
    send("copy.md")
    path = f"/api/v1/uploads/{send.batch.uid}/files"
    assert "“a.md”" in api(owner).get(path).json()["results"][-1]["text"]
    services.share_document(actor=principal_of(owner), document=copied, grants=[])
    Document.objects.get(pk=copied.pk).scope.user_grants.all().delete()
    assert "a.md" not in api(owner).get(path).json()["results"][-1]["text"]


def test_nobody_is_looked_up_for_who_may_not_share(browser, collection, owner, reader):
    grants = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.CONTRIBUTE)]
    replace_grants(actor=principal_of(owner), scope=collection.scope, grants=grants)
    form = {"collection": str(collection.uid), "access": "own"}
    for name in ("owner@example.com", "nobody@example.com"):
        sent = browser(reader).post(
            "/manage/documents/upload", form | {"viewers": name}, headers={"Accept": "application/json"}
        )
        assert sent.status_code == 403
