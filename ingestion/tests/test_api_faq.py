import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.principals import principal_of
from accounts.values import GrantRequest, Holder, Permission
from ingestion import services

PAYDAY = {"question": "When is payday?", "answer": "On the 25th.", "phrasings": ["工资什么时候发？"]}


@pytest.fixture
def shared(collection, owner, reader):
    grant = GrantRequest(holder=Holder.user(reader.pk), permission=Permission.VIEW)
    services.share_collection(actor=principal_of(owner), collection=collection, grants=[grant])
    return collection


def test_a_question_lives_through_the_api(shared, owner, reader, api):
    place = f"/api/v1/collections/{shared.uid}/faq"
    made = api(owner).post(place, PAYDAY, format="json")
    assert made.status_code == 201
    assert made.json()["phrasings"] == ["工资什么时候发？"]
    assert made.json()["state"] == "processing"
    assert api(owner).post(place, PAYDAY, format="json").status_code == 409
    one = f"/api/v1/faq/{made.json()['id']}"
    changed = api(owner).patch(one, {"answer": "On the 1st.", "valid": False}, format="json").json()
    assert (changed["answer"], changed["valid"], changed["question"]) == (
        "On the 1st.",
        False,
        PAYDAY["question"],
    )
    assert api(reader).get(one).json()["answer"] == "On the 1st."
    assert api(reader).get(place + "?q=payday").json()["results"][0]["id"] == made.json()["id"]
    for refused in (api(reader).patch(one, {"answer": "No."}, format="json"), api(reader).delete(one)):
        assert refused.status_code == 403
    assert api(owner).patch(one, {"answer": ""}, format="json").status_code == 400
    assert api(owner).delete(one).status_code == 204
    assert api(owner).get(one).status_code == 404


def test_a_file_is_tried_then_taken_and_several_are_deleted(shared, owner, reader, api):
    place = f"/api/v1/collections/{shared.uid}/faq"

    def send(**more):
        file = SimpleUploadedFile("faq.csv", b"question,answer\nA?,1.\nB?,\n")
        return api(owner).post(f"{place}/import", {"file": file, **more})

    tried = send(preview="true").json()
    assert (tried["preview"], tried["added"], tried["refused"]) == (True, 1, 1)
    assert api(owner).get(place).json()["results"] == []
    taken = send().json()
    assert [line["action"] for line in taken["lines"]] == ["add", "refused"]
    (row,) = api(owner).get(place).json()["results"]
    ids = {"ids": [row["id"], "00000000-0000-0000-0000-000000000000"]}
    assert api(reader).post(f"{place}/delete", ids, format="json").json() == {"deleted": 0, "refused": 2}
    assert api(owner).post(f"{place}/delete", ids, format="json").json() == {"deleted": 1, "refused": 1}
    assert api(owner).post(f"{place}/delete", {"ids": ["x"]}, format="json").status_code == 400
