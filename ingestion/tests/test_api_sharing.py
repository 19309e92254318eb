"""The REST API of sharing: dry runs, lists changed meanwhile, why a person has access."""

import pytest

from accounts.models import User
from accounts.principals import principal_of
from ingestion import services
from ingestion.testing.rows import make_document

pytestmark = pytest.mark.django_db


@pytest.fixture
def shared(owner, reader):
    made = services.create_collection(actor=principal_of(owner), name="Finance policy")
    make_document(made)
    return made


def test_a_dry_run_tells_who_would_gain_and_changes_nothing(api, owner, reader, shared):
    path = f"/api/v1/collections/{shared.uid}/grants"
    body = {"grants": [{"user": str(reader.pk), "permission": "view"}]}
    told = api(owner).post(f"{path}/preview", body, format="json").json()
    assert (told["gaining"], told["losing"], told["documents"]) == (1, 0, 1)
    (change,) = told["changes"]
    assert (change["name"], change["before"], change["after"]["permission"]) == ("Reader", None, "view")
    assert {grant["name"] for grant in told["grants"]} == {"Owner", "Reader"}
    now = api(owner).get(path).json()
    assert [grant["name"] for grant in now["grants"]] == ["Owner"]
    assert now["version"] == told["version"]


def test_a_list_that_has_changed_since_it_was_read_is_not_overwritten(api, owner, reader, shared):
    path = f"/api/v1/collections/{shared.uid}/grants"
    version = api(owner).get(path).json()["version"]
    body = {"grants": [{"user": str(reader.pk), "permission": "view"}], "version": version}
    assert api(owner).put(path, body, format="json").status_code == 200
    refused = api(owner).put(path, {"grants": [], "version": version}, format="json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "changed_meanwhile")


def test_access_of_a_person_is_explained_to_managers_alone(api, owner, reader, outsider, shared):
    document = shared.documents.get()
    left = User.objects.create(email="left@example.com", name="Left", is_active=False)
    for path in (f"/api/v1/collections/{shared.uid}", f"/api/v1/documents/{document.uid}"):
        told = api(owner).get(f"{path}/access?user={owner.pk}").json()
        assert (told["permission"], told["paths"][0]["name"]) == ("manage", "Owner")
        assert api(owner).get(f"{path}/access?user={reader.pk}").json()["permission"] is None
        assert api(owner).get(f"{path}/access?user=nobody").status_code == 404
        assert api(outsider).get(f"{path}/access?user={owner.pk}").status_code == 404
        assert api(owner).get(f"{path}/access?user={left.pk}").status_code == 404
    found = api(owner).get("/api/v1/holders?q=read").json()["results"]
    assert [holder["name"] for holder in found] == ["Reader"]
    assert api(outsider).get("/api/v1/holders?q=read").status_code == 403


def test_giving_a_document_its_collection_list_back_can_be_tried_first(api, owner, reader, shared):
    document = shared.documents.get()
    path = f"/api/v1/documents/{document.uid}/grants"
    body = {"grants": [{"user": str(reader.pk), "permission": "view"}]}
    assert api(owner).post(f"{path}/preview", body, format="json").json()["gaining"] == 1
    api(owner).put(path, body, format="json")
    told = api(owner).post(f"{path}/preview", {"grants": None}, format="json").json()
    assert (told["gaining"], told["losing"]) == (0, 1)


def test_the_list_of_a_collection_is_not_told_to_who_manages_only_a_document_in_it(
    api, browser, owner, reader, shared
):
    document = shared.documents.get()
    path = f"/api/v1/documents/{document.uid}/grants"
    managed = {"grants": [{"user": str(reader.pk), "permission": "manage"}]}
    assert api(owner).put(path, managed, format="json").status_code == 200
    follow = {"grants": None}
    assert api(reader).post(f"{path}/preview", follow, format="json").status_code == 404
    assert api(reader).put(path, follow, format="json").status_code == 404
    page = browser(reader).get(f"/manage/documents/{document.uid}/sharing?mode=collection")
    assert page.context["mode"] == "own"
    assert [row.name for row in page.context["rows"]] == ["Owner", "Reader"]  # of the document's own list
    assert 'value="collection"' not in page.content.decode()
