"""The REST API of bulk changes and upload batches does what the pages do."""

from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.principals import principal_of
from accounts.values import GrantRequest, Holder, Permission
from ingestion import ledger, services
from ingestion.models import Document, IngestJob, VersionState
from ingestion.testing.rows import make_document


@pytest.fixture
def shelf(owner, db):
    made = services.create_collection(actor=principal_of(owner), name="Manuals")
    return made, [make_document(made, title=f"Document {n}") for n in range(3)]


def test_by_ids_and_by_filters_and_back(api, owner, shelf):
    _made, rows = shelf
    client = api(owner)
    body = {"action": "archive", "ids": [str(rows[0].uid)]}
    assert client.post("/api/v1/documents/bulk", body, format="json").json()["changed"] == 1
    body = {"action": "archive", "filters": {"q": "Document"}}
    answer = client.post("/api/v1/documents/bulk", body, format="json").json()
    assert (answer["changed"], answer["skipped"]) == (2, 1)
    undone = client.post(f"/api/v1/changes/{answer['change']}/undo").json()
    assert undone["changed"] == 2
    other = services.create_collection(actor=principal_of(owner), name="Other")
    body = {"action": "move", "filters": {}, "collection": str(other.uid)}
    assert client.post("/api/v1/documents/bulk", body, format="json").json()["changed"] == 3
    body = {"action": "delete", "ids": [str(row.uid) for row in rows]}
    assert client.post("/api/v1/documents/bulk", body, format="json").json()["changed"] == 3
    assert client.get("/api/v1/documents").json()["count"] == 0


def test_an_outsider_changes_nothing_and_learns_nothing(api, outsider, shelf):
    body = {"action": "delete", "ids": [str(row.uid) for row in shelf[1]]}
    answer = api(outsider).post("/api/v1/documents/bulk", body, format="json").json()
    assert {row["outcome"] for row in answer.pop("results")} == {"not_found"}
    assert answer == {"changed": 0, "refused": 0, "skipped": 0, "change": None}
    assert Document.objects.filter(archived_at=None).count() == 3


@pytest.mark.parametrize(
    "body",
    [
        {"action": "archive"},
        {"action": "archive", "ids": [], "filters": {}},
        {"action": "burn", "ids": []},
        {"action": "archive", "filters": {"state": "odd"}},
        {"action": "archive", "filters": {"metadata": {f"key {number}": 1 for number in range(21)}}},
    ],
)
def test_what_is_not_clear_is_refused(api, owner, shelf, body):
    assert api(owner).post("/api/v1/documents/bulk", body, format="json").status_code == 400


def test_a_batch_takes_files_one_by_one_and_tells_its_state(api, owner, generation):
    made = services.create_collection(actor=principal_of(owner), name="Manuals")
    client = api(owner)
    batch = client.post("/api/v1/uploads", {"collection": str(made.uid)}, format="json").json()
    files = f"/api/v1/uploads/{batch['id']}/files"
    good = client.post(files, {"file": SimpleUploadedFile("a.md", b"# A\n\ntext")}, format="multipart")
    bad = client.post(files, {"file": SimpleUploadedFile("a.exe", b"x")}, format="multipart")
    assert (good.status_code, bad.status_code) == (201, 422)
    assert "not supported" in bad.json()["text"]
    state = client.get(f"/api/v1/uploads/{batch['id']}").json()
    assert (state["total"], state["unfinished"], state["refused"]) == (2, 1, 1)
    assert [row["name"] for row in client.get(files).json()["results"]] == ["a.md", "a.exe"]


def test_metadata_of_many_is_previewed_set_and_taken_back(api, owner, shelf):
    made, _rows = shelf
    client = api(owner)
    body = {"label": "Region", "kind": "choice", "choices": ["EU", "US"]}
    field = client.post(f"/api/v1/collections/{made.uid}/fields", body, format="json")
    assert (field.status_code, field.json()["key"]) == (201, "region")
    wanted = {"department": "Legal", "add_tags": ["deal"], "metadata": {"region": "EU"}}
    body = {"action": "set_metadata", "filters": {}, "set": wanted, "preview": True}
    assert client.post("/api/v1/documents/bulk", body, format="json").json()["changed"] == 3
    assert not Document.objects.filter(department="Legal").exists()
    done = client.post("/api/v1/documents/bulk", {**body, "preview": False}, format="json").json()
    found = {"filters": {"department": "Legal", "metadata": {"region": ["EU"]}}, "action": "archive"}
    assert client.post("/api/v1/documents/bulk", found, format="json").json()["changed"] == 3
    assert client.post(f"/api/v1/changes/{done['change']}/undo").json()["changed"] == 3
    assert Document.objects.filter(department="", tags=[], metadata={}).count() == 3
    body["set"] = {"metadata": {"region": "CN"}}
    refused = client.post("/api/v1/documents/bulk", body, format="json")
    assert (refused.status_code, list(refused.json()["error"]["fields"])) == (400, ["metadata.region"])
    assert client.post("/api/v1/documents/bulk", {**body, "set": {}}, format="json").status_code == 400


def test_fields_are_renamed_removed_and_brought_back(api, owner, outsider, shelf):
    made, _rows = shelf
    client, path = api(owner), f"/api/v1/collections/{made.uid}/fields"
    client.post(path, {"label": "Ends", "kind": "date"}, format="json")
    assert client.patch(f"{path}/ends", {"label": "Expiry"}, format="json").json()["label"] == "Expiry"
    assert client.delete(f"{path}/ends").status_code == 204
    assert client.get(path).json()["results"][0]["removed"] is True
    assert client.patch(f"{path}/ends", {"removed": False}, format="json").json()["removed"] is False
    assert client.patch(f"{path}/other", {"label": "X"}, format="json").status_code == 404
    assert client.patch(f"{path}/ends", {"choices": ["a"]}, format="json").status_code == 400
    assert api(outsider).get(path).status_code == 404


def test_a_batch_gives_its_metadata_to_every_file(api, owner, shelf):
    made, _rows = shelf
    client = api(owner)
    client.post(f"/api/v1/collections/{made.uid}/fields", {"label": "No", "kind": "number"}, format="json")
    body = {"collection": str(made.uid), "department": "Site", "tags": ["x"], "metadata": {"no": "7"}}
    batch = client.post("/api/v1/uploads", body, format="json").json()
    file = SimpleUploadedFile("a.md", b"# A\n\nText.")
    client.post(f"/api/v1/uploads/{batch['id']}/files", {"file": file}, format="multipart")
    document = Document.objects.get(source_key="a.md")
    assert (document.department, document.tags, document.metadata) == ("Site", ["x"], {"no": 7})
    body["metadata"] = {"no": "many"}
    assert client.post("/api/v1/uploads", body, format="json").status_code == 400


def test_one_bad_id_stops_nothing_and_every_id_is_answered(api, owner, reader, upload):
    """Failed documents are read again by API, however often that is asked for."""
    failed, waiting = upload("a.md", b"# A"), upload("b.md", b"# B")
    ledger.end(failed.job, IngestJob.State.FAILED, VersionState.QUARANTINED, "crashed")
    ids = [str(failed.document.uid), "nonsense", str(uuid4()), str(waiting.document.uid)]
    for outcomes in (
        ["changed", "not_found", "not_found", "skipped"],
        ["skipped", "not_found", "not_found", "skipped"],
    ):
        answer = api(owner).post("/api/v1/documents/bulk", {"action": "reread", "ids": ids}, format="json")
        assert [row["outcome"] for row in answer.json()["results"]] == outcomes
    grants = [
        GrantRequest(holder=Holder.user(owner.pk), permission=Permission.MANAGE),
        GrantRequest(holder=Holder.user(reader.pk), permission=Permission.VIEW),
    ]
    services.share_collection(actor=principal_of(owner), collection=failed.document.collection, grants=grants)
    answer = api(reader).post("/api/v1/documents/bulk", {"action": "cancel", "ids": ids[:2]}, format="json")
    assert [row["outcome"] for row in answer.json()["results"]] == ["refused", "not_found"]
