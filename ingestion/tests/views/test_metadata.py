"""Metadata on the pages: fields of a collection, upload, one document, many documents; all of it by plain forms."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.permissions.grants import replace_grants
from accounts.principals import principal_of
from accounts.values import GrantRequest, Holder, Permission
from ingestion import fields, services
from ingestion.models import Collection, Document
from ingestion.testing.rows import make_document

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection(owner, reader):
    made = services.create_collection(actor=principal_of(owner), name="Contracts")
    grants = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.CONTRIBUTE)]
    replace_grants(actor=principal_of(owner), scope=made.scope, grants=grants)
    for label, kind, choices in (
        ("Region", "choice", ["EU", "US"]),
        ("Value", "number", ()),
        ("Signed", "boolean", ()),
    ):
        fields.define_field(
            actor=principal_of(owner), collection=made, label=label, kind=kind, choices=choices
        )
    return made


def test_a_manager_adds_renames_removes_and_brings_back_a_field(browser, owner, reader, collection):
    client, path = browser(owner), f"/manage/collections/{collection.uid}/fields"
    refused = client.post(path, {"label": "Region", "kind": "text", "choices": ""}).content.decode()
    assert "of this name already" in refused
    page = client.post(path, {"label": "End", "kind": "date", "choices": ""}, follow=True).content.decode()
    assert "metadata.end" in page
    page = client.post(f"{path}/end", {"label": "Ends on"}, follow=True).content.decode()
    assert "Ends on" in page
    page = client.post(f"{path}/end/remove", follow=True).content.decode()
    assert "Removed fields" in page
    assert (
        "Removed fields"
        not in client.post(f"{path}/end/remove", {"restore": "1"}, follow=True).content.decode()
    )
    assert browser(reader).get(path).status_code == 403


def test_an_upload_gives_metadata_to_every_file_and_keeps_what_was_typed(browser, reader, collection):
    client = browser(reader)
    own = f"own-{collection.uid}"
    form = {
        "collection": str(collection.uid),
        "department": "Legal",
        "tags": "deal，2026",
        f"{own}-region": "EU",
        f"{own}-value": "many",
    }
    files = {"files": [SimpleUploadedFile("a.md", b"# A"), SimpleUploadedFile("b.md", b"# B")]}
    refused = client.post("/manage/documents/upload", {**form, **files})
    page = refused.content.decode()
    assert refused.status_code == 400
    assert "“Value” must be a number" in page
    assert 'value="Legal"' in page
    assert not Document.objects.exists()
    files = {"files": [SimpleUploadedFile("a.md", b"# A"), SimpleUploadedFile("b.md", b"# B")]}
    client.post("/manage/documents/upload", {**form, **files, f"{own}-value": "1,200"})
    told = Document.objects.values_list("department", "metadata")
    assert list(told) == [("Legal", {"region": "EU", "value": 1200})] * 2
    assert Document.objects.filter(tags=["deal", "2026"]).count() == 2


def test_editing_one_document_checks_values_and_keeps_what_no_field_defines(browser, owner, collection):
    document = make_document(collection)
    Document.objects.filter(pk=document.pk).update(metadata={"legacy": [1], "region": "Asia"})
    client, path = browser(owner), f"/manage/documents/{document.uid}/edit"
    page = client.get(path).content.decode()
    assert '<option value="Asia" selected>' in page
    form = {
        "title": "Travel policy",
        "tags": "",
        "own-region": "Asia",
        "own-value": "x",
        "own-signed": "true",
    }
    assert "must be a number" in client.post(path, form).content.decode()
    client.post(path, {**form, "own-value": "7"})
    document.refresh_from_db()
    assert document.metadata == {"legacy": [1], "region": "Asia", "value": 7, "signed": True}
    page = client.get(f"/manage/documents/{document.uid}").content.decode()
    assert "<dt>Signed</dt><dd>Yes</dd>" in page


def test_many_are_changed_after_a_preview_and_it_can_be_undone(browser, owner, collection):
    rows = [make_document(collection, title=f"Contract {n}") for n in range(2)]
    client, path = browser(owner), "/manage/documents/bulk"
    form = {"action": "metadata", "ids": [str(row.uid) for row in rows]}
    assert "Edit metadata of 2 documents" in client.post(path, form).content.decode()
    form |= {"confirmed": "1", "own-region": "US", "add_tags": "deal"}
    page = client.post(path, form).content.decode()
    assert "2 documents would change" in page
    assert not Document.objects.filter(tags=["deal"]).exists()
    page = client.post(path, {**form, "apply": "1"}, follow=True).content.decode()
    assert "Metadata of 2 documents changed." in page
    assert Document.objects.filter(tags=["deal"], metadata={"region": "US"}).count() == 2
    page = client.post(path, {**form, "clear": ["own-region"]}).content.decode()
    assert "not both" in page
    assert (
        "Nothing is changed yet"
        in client.post(path, {"action": "metadata", "ids": form["ids"], "confirmed": "1"}).content.decode()
    )


def test_lists_are_narrowed_by_own_fields_and_offer_only_what_is_visible(browser, owner, reader, collection):
    hidden = services.create_collection(actor=principal_of(owner), name="Mergers")
    fields.define_field(
        actor=principal_of(owner), collection=hidden, label="Codename", kind="choice", choices=["Falcon"]
    )
    for made, title, values in (
        (collection, "Cheap", {"region": "EU", "value": 5}),
        (collection, "Dear", {"region": "US", "value": 5000, "signed": True}),
        (hidden, "Secret", {"region": "Mars", "codename": "Falcon"}),
    ):
        row = make_document(made, title=title)
        Document.objects.filter(pk=row.pk).update(metadata=values)
    client = browser(reader)
    page = client.get("/manage/documents").content.decode()
    assert "EU (1)" in page
    for word in ("Mars", "Falcon", "Codename", "Secret"):
        assert word not in page
    found = client.get("/manage/documents?metadata.value.gte=1,000&metadata.signed=true").content.decode()
    assert "Value ≥ 1,000" in found
    assert "Dear" in found
    narrowed = client.get("/manage/documents?metadata.value.gte=1000&metadata.signed=true").content.decode()
    assert "Dear" in narrowed
    assert ">Cheap<" not in narrowed
    assert "Falcon" in browser(owner).get("/manage/documents").content.decode()
    assert Collection.objects.count() == 2
