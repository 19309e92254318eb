"""The API of chunking and corrections, and who may use it."""

import pytest

from accounts.principals import principal_of
from accounts.values import GrantRequest, Holder, Permission
from ingestion import pipeline, rechunking, services
from ingestion.models import Correction

TEXT = (
    "# Plan\n\n" + "\n\n".join(f"Paragraph {n} says what has to be said here." for n in range(90))
).encode()


@pytest.fixture
def plan(ingest):
    return ingest("plan.md", TEXT)


def test_a_profile_is_previewed_then_used_and_documents_follow(plan, collection, owner, api, embedder):
    client, url = api(owner), f"/api/v1/collections/{collection.uid}/chunking"
    assert client.get(url).json()["profile"] == "general"
    wish = {"profile": "manual", "target_tokens": 64, "max_tokens": 96, "overlap_tokens": 0}
    seen = client.post(f"{url}/preview", {**wish, "document": str(plan.uid)}, format="json").json()
    assert seen["then"]["count"] > seen["now"]["count"]
    assert seen["then"]["largest"] <= 96
    assert not seen["is_partial"]
    assert client.get(url).json()["profile"] == "general"
    assert client.put(url, wish, format="json").json()["waiting"] == 1
    while turn := rechunking.take_turn():
        pipeline.rechunk(turn, embedder)
    after = client.get(url).json()
    assert (after["waiting"], after["max_tokens"], after["documents"]) == (0, 96, 1)
    chunks = client.get(f"/api/v1/documents/{plan.uid}/chunks?page_size=100").json()
    assert chunks["count"] == seen["then"]["count"]


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"profile": "nothing"}, "profile"),
        ({"profile": "qa", "max_tokens": 9000}, "max_tokens"),
        ({"profile": "qa", "target_tokens": 500}, "target_tokens"),
        ({"profile": "qa", "overlap_tokens": "many"}, "overlap_tokens"),
    ],
)
def test_a_size_that_cannot_be_is_refused_by_name(wish, field, collection, owner, api):
    answer = api(owner).put(f"/api/v1/collections/{collection.uid}/chunking", wish, format="json")
    assert answer.status_code == 400
    assert list(answer.json()["error"]["fields"]) == [field]


def test_corrections_are_made_listed_and_undone(plan, owner, api, embedder):
    client, url = api(owner), f"/api/v1/documents/{plan.uid}"
    first, second = client.get(f"{url}/chunks").json()["results"][:2]
    made = [
        client.post(f"{url}/corrections", {"chunk": first["id"], **wish}, format="json")
        for wish in ({"action": "edit", "text": "It says this."}, {"action": "split", "at": 10**9})
    ]
    assert [answer.status_code for answer in made] == [201, 400]
    assert client.post(f"{url}/corrections", {"action": "exclude", "chunk": second["id"]}).status_code == 201
    assert client.post(f"{url}/corrections", {"action": "exclude", "chunk": second["id"]}).status_code == 409
    while turn := rechunking.take_turn():
        pipeline.rechunk(turn, embedder)
    corrected = client.get(f"{url}/chunks").json()["results"][0]
    assert (corrected["text"], corrected["correction"]) == ("It says this.", made[0].json()["id"])
    listed = client.get(f"{url}/corrections").json()["results"]
    assert [(row["action"], row["fits"]) for row in listed] == [("exclude", True), ("edit", True)]
    undone = client.post(f"{url}/corrections/{listed[0]['id']}/undo")
    assert undone.json()["undone_at"]


def test_readers_and_outsiders_correct_and_choose_nothing(plan, collection, owner, reader, outsider, api):
    grants = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.VIEW)]
    services.share_collection(actor=principal_of(owner), collection=collection, grants=grants)
    chunk = plan.chunks.first().pk
    for person, status in ((reader, 403), (outsider, 404)):
        client = api(person)
        document, shelf = f"/api/v1/documents/{plan.uid}", f"/api/v1/collections/{collection.uid}"
        wish = {"action": "exclude", "chunk": chunk}
        assert client.post(f"{document}/corrections", wish).status_code == status
        assert client.get(f"{document}/corrections").status_code == status
        assert client.put(f"{shelf}/chunking", {"profile": "qa"}).status_code == status
        assert client.get(f"{shelf}/chunking").status_code == status
        preview = {"profile": "qa", "document": str(plan.uid)}
        assert client.post(f"{shelf}/chunking/preview", preview).status_code == status
    assert not Correction.objects.exists()


def test_a_manager_is_not_told_of_documents_that_it_does_not_see(plan, collection, owner, reader, api):
    me, other = (Holder.user(user.pk) for user in (owner, reader))
    both = [GrantRequest(holder=holder, permission=Permission.MANAGE) for holder in (me, other)]
    services.share_collection(actor=principal_of(owner), collection=collection, grants=both)
    services.share_document(actor=principal_of(owner), document=plan, grants=both[:1])
    url = f"/api/v1/collections/{collection.uid}/chunking"
    wish = {"profile": "manual", "target_tokens": 64, "max_tokens": 96, "overlap_tokens": 0}
    told = api(reader).put(url, wish, format="json").json()
    assert (told["documents"], told["waiting"]) == (0, 0)
    told = api(owner).get(url).json()
    assert (told["documents"], told["waiting"]) == (1, 1)
