import re
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from accounts.permissions.grants import replace_grants
from accounts.principals import principal_of
from accounts.values import GrantRequest, Holder, Permission
from ingestion import services
from ingestion.models import Collection, Document, DocumentVersion, IngestJob, VersionState
from ingestion.testing.rows import make_document
from kb_platform.runtime_config.declarations import LARGEST_FILE

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection(owner, reader):
    made = services.create_collection(actor=principal_of(owner), name="Finance policy")
    grants = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.VIEW)]
    replace_grants(actor=principal_of(owner), scope=made.scope, grants=grants, subject=made)
    return made


@pytest.fixture
def document(collection):
    return make_document(collection)


OBJECT_PAGES = ["", "/edit", "/move", "/sharing", "/delete"]


def assert_calm(response):
    """What every page keeps: the policy against inline code, and nothing that would break it."""
    page = response.content.decode()
    assert "script-src 'self'" in response["Content-Security-Policy"]
    assert "style=" not in page
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"\son\w+=", page)
    return page


def test_owner_opens_every_page_of_collections_and_documents(browser, owner, collection, document):
    client = browser(owner)
    paths = ["/manage/collections", "/manage/collections/new", "/manage/documents"]
    paths += [f"/manage/collections/{collection.uid}/{page}" for page in ("edit", "delete", "sharing")]
    paths += [f"/manage/documents/{document.uid}{page}" for page in OBJECT_PAGES]
    for path in paths:
        response = client.get(path)
        assert response.status_code == 200, path
        assert_calm(response)


def test_reader_sees_the_document_but_may_not_change_it(browser, reader, document):
    client = browser(reader)
    page = assert_calm(client.get("/manage/documents"))
    assert "Travel policy" in page
    assert "Choose files" not in page
    assert client.get(f"/manage/documents/{document.uid}").status_code == 200
    assert [client.get(f"/manage/documents/{document.uid}{end}").status_code for end in OBJECT_PAGES[1:]] == [
        403
    ] * 4


def test_outsider_gets_the_page_of_a_missing_thing(browser, outsider, collection, document):
    client = browser(outsider)
    assert "Finance policy" not in client.get("/manage/collections").content.decode()
    assert "Travel policy" not in client.get("/manage/documents").content.decode()
    for path in [f"/manage/documents/{document.uid}{page}" for page in OBJECT_PAGES]:
        assert client.get(path).status_code == 404
    assert client.get(f"/manage/collections/{collection.uid}/sharing").status_code == 404


def test_who_else_may_see_a_document_is_told_to_those_who_manage_it(browser, owner, reader, document):
    assert "Owner, Reader" in browser(owner).get("/manage/documents").content.decode()
    page = browser(reader).get("/manage/documents").content.decode()
    assert "As its collection" in page
    assert "Owner, Reader" not in page


def test_making_a_collection_leads_to_its_sharing(browser, owner):
    response = browser(owner).post("/manage/collections/new", {"name": "人事制度", "description": ""})
    made = Collection.objects.get()
    assert response.url == f"/manage/collections/{made.uid}/sharing"
    assert made.name == "人事制度"


def test_a_collection_that_holds_documents_is_not_deleted(browser, owner, collection, document):
    path = f"/manage/collections/{collection.uid}/delete"
    response = browser(owner).post(path, {"typed": "Finance policy"})
    assert response.status_code == 409
    assert "It still holds 1 document" in response.content.decode()
    assert Collection.objects.filter(pk=collection.pk).exists()


def test_an_empty_collection_is_deleted_after_typing_its_name(browser, owner, collection):
    path = f"/manage/collections/{collection.uid}/delete"
    assert "This is not the name" in browser(owner).post(path, {"typed": "Other"}).content.decode()
    assert browser(owner).post(path, {"typed": "Finance policy"}).status_code == 302
    assert not Collection.objects.exists()


def test_plain_form_uploads_several_files_and_names_the_ones_refused(browser, owner, collection, configure):
    configure(LARGEST_FILE, 1)
    files = [
        SimpleUploadedFile("a.md", b"# A\n\nText."),
        SimpleUploadedFile("../../b.md", b"# B\n\nText."),
        SimpleUploadedFile("big.txt", b"x" * 1_000_001),
    ]
    form = {"collection": str(collection.uid), "files": files}
    page = browser(owner).post("/manage/documents/upload", form, follow=True).content.decode()
    assert set(Document.objects.values_list("title", flat=True)) == {"a.md", "b.md"}
    assert "3 files, 2 in processing" in page
    assert "big.txt" in page
    assert "larger than 1 MB" in page


def test_a_reader_cannot_upload_and_an_outsider_finds_no_collection(browser, reader, outsider, collection):
    form = {"collection": str(collection.uid), "files": [SimpleUploadedFile("a.md", b"# A")]}
    assert browser(reader).post("/manage/documents/upload", form).status_code == 403
    form["files"] = [SimpleUploadedFile("a.md", b"# A")]
    assert browser(outsider).post("/manage/documents/upload", form).status_code == 404


def test_the_tray_polls_while_something_is_unfinished_and_then_stops(browser, owner, collection):
    working = make_document(collection, title="New", state=VersionState.EMBEDDING)
    client = browser(owner)
    page = client.get("/manage/documents/processing").content.decode()
    assert 'hx-trigger="every 2s"' in page
    assert "Waiting for the embedder" in page
    working.latest_version.state = VersionState.LIVE
    working.latest_version.created_by = owner
    working.latest_version.save()
    response = client.get("/manage/documents/processing?seen=old")
    assert "hx-trigger" not in response.content.decode()
    assert response["HX-Trigger"] == "documents-changed"


def test_the_tray_counts_what_ended_as_long_as_files_that_came_with_it_are_left(browser, owner, collection):
    long_ago = timezone.now() - timedelta(hours=1)
    done = make_document(collection, title="Done").latest_version
    left = make_document(collection, title="Left", state=VersionState.EMBEDDING).latest_version
    DocumentVersion.objects.update(created_by=owner)
    IngestJob.objects.filter(version=done).update(ended_at=long_ago)
    IngestJob.objects.filter(version=left).update(created_at=long_ago - timedelta(minutes=1))
    assert "1 searchable" in browser(owner).get("/manage/documents/processing").content.decode()
    IngestJob.objects.filter(version=left).update(created_at=timezone.now())
    assert "searchable" not in browser(owner).get("/manage/documents/processing").content.decode()


def test_filters_narrow_the_list(browser, owner, collection, document):
    make_document(collection, title="Rejected one", file_name="r.md", state=VersionState.REJECTED)
    client = browser(owner)
    assert "Travel policy" not in client.get("/manage/documents?state=rejected").content.decode()
    assert "Rejected one" not in client.get("/manage/documents?q=travel").content.decode()
    assert "No document matches" in client.get("/manage/documents?q=zebra").content.decode()


def test_deleting_a_document_needs_its_name(browser, owner, document):
    path = f"/manage/documents/{document.uid}/delete"
    browser(owner).post(path, {"typed": "no"})
    assert Document.objects.exists()
    page = browser(owner).post(path, {"typed": "Travel policy"}, follow=True).content.decode()
    assert "1 document moved to the trash." in page
    assert browser(owner).get(f"/manage/documents/{document.uid}").status_code == 404


def test_editing_splits_tags_at_either_comma(browser, owner, document):
    form = {"title": "Travel policy", "tags": "travel，finance、2026, travel"}
    browser(owner).post(f"/manage/documents/{document.uid}/edit", form)
    document.refresh_from_db()
    assert document.tags == ["travel", "finance", "2026"]


def test_pages_come_in_the_language_of_the_profile(browser, owner, collection):
    client = browser(owner)
    response = client.post("/language", {"language": "zh-hans", "next": "/manage/collections"})
    assert response.url == "/manage/collections"
    assert '<html lang="zh-Hans"' in client.get("/manage/collections").content.decode()
