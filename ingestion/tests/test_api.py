"""The REST API of collections and documents as its contract gives it, and as an outsider sees it."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from accounts.principals import principal_of
from accounts.tokens import create_token
from accounts.values import TokenScope
from ingestion.models import Collection, Document, DocumentVersion, VersionState
from ingestion.tests.conftest import run_jobs

POLICY = b"# Visitors\n\nVisitors sign in at gate 4 with form VK-77B.\n"


@pytest.fixture
def post(api, owner, collection):
    """`post(name, content, **fields)`: an upload by the owner; the answer."""

    def send(name: str, content: bytes, **fields):
        file = SimpleUploadedFile(name, content)
        data = {"collection": str(collection.uid), "file": file, **fields}
        return api(owner).post("/api/v1/documents", data, format="multipart")

    return send


def share(api, owner, collection, user, permission="view"):
    body = {"grants": [{"user": str(user.pk), "permission": permission}]}
    return api(owner).put(f"/api/v1/collections/{collection.uid}/grants", body, format="json")


def test_an_upload_becomes_live_and_says_so(post, api, owner, embedder):
    answer = post("visitors.md", POLICY, tags="gate,safety", metadata='{"site": "Lyon"}', doc_type="policy")
    assert answer.status_code == 201
    made = answer.json()
    assert made["state"] == "queued"
    job = api(owner).get(f"/api/v1/jobs/{made['job']}").json()
    assert (job["state"], job["document"], job["attempt"]) == ("queued", made["id"], 1)
    run_jobs(embedder)
    job = api(owner).get(f"/api/v1/jobs/{made['job']}").json()
    assert (job["state"], job["reason"]) == ("succeeded", "")
    document = api(owner).get(f"/api/v1/documents/{made['id']}").json()
    assert document["state"] == "live"
    assert document["tags"] == ["gate", "safety"]
    assert document["metadata"] == {"site": "Lyon"}
    assert document["version"]["number"] == 1
    assert document["version"]["chunks"] == 1
    chunks = api(owner).get(f"/api/v1/documents/{made['id']}/chunks").json()
    assert "VK-77B" in chunks["results"][0]["text"]


def test_a_rejected_file_names_the_reason_and_ends_as_failed(post, api, owner, embedder):
    made = post("empty.docx", b"").json()
    run_jobs(embedder)
    job = api(owner).get(f"/api/v1/jobs/{made['job']}").json()
    assert job["state"] == "failed"
    assert "empty" in job["reason"]
    document = api(owner).get(f"/api/v1/documents/{made['id']}").json()
    assert document["state"] == "rejected"
    assert document["version"] is None
    assert document["latest_version"]["reason"] == job["reason"]


def test_a_reader_sees_but_may_not_change(post, api, owner, reader, collection, embedder):
    made = post("visitors.md", POLICY).json()
    run_jobs(embedder)
    assert share(api, owner, collection, reader).status_code == 200
    client = api(reader)
    assert client.get(f"/api/v1/documents/{made['id']}").status_code == 200
    assert client.get(f"/api/v1/collections/{collection.uid}").json()["scope"] == {}
    assert client.delete(f"/api/v1/documents/{made['id']}").status_code == 403
    assert client.patch(f"/api/v1/documents/{made['id']}", {"title": "x"}, format="json").status_code == 403
    assert client.post(f"/api/v1/documents/{made['id']}/reparse").status_code == 403
    assert client.post(f"/api/v1/jobs/{made['job']}/cancel").status_code == 403
    file = SimpleUploadedFile("new.md", b"# new")
    data = {"collection": str(collection.uid), "file": file}
    assert client.post("/api/v1/documents", data, format="multipart").status_code == 403


def test_an_outsider_cannot_tell_hidden_from_missing(post, api, outsider, collection, embedder):
    made = post("visitors.md", POLICY).json()
    run_jobs(embedder)
    client = api(outsider)
    hidden, missing = made["id"], made["id"][:-4] + "0000"
    for tail in ("", "/versions", "/chunks", "/file", "/pages/1.webp", "/grants"):
        answers = [client.get(f"/api/v1/documents/{uid}{tail}") for uid in (hidden, missing)]
        assert [answer.status_code for answer in answers] == [404, 404], tail
        bodies = [answer.json()["error"] | {"trace_id": ""} for answer in answers]
        assert bodies[0] == bodies[1]
    assert client.get(f"/api/v1/jobs/{made['job']}").status_code == 404
    assert client.get(f"/api/v1/collections/{collection.uid}").status_code == 404
    assert client.get("/api/v1/documents").json()["count"] == 0
    assert client.get("/api/v1/collections").json()["count"] == 0


def test_uploading_bytes_that_exist_out_of_sight_tells_nothing(post, api, outsider, embedder):
    from accounts.principals import principal_of
    from ingestion import services

    post("visitors.md", POLICY)
    run_jobs(embedder)
    own = services.create_collection(actor=principal_of(outsider), name="Mine")
    data = {"collection": str(own.uid), "file": SimpleUploadedFile("visitors.md", POLICY)}
    answer = api(outsider).post("/api/v1/documents", data, format="multipart")
    assert (answer.status_code, answer.json()["version"], answer.json()["state"]) == (201, 1, "queued")


def test_a_document_with_a_list_of_its_own_leaves_the_collection_s(
    post, api, owner, reader, collection, embedder
):
    made = post("visitors.md", POLICY).json()
    run_jobs(embedder)
    share(api, owner, collection, reader)
    path = f"/api/v1/documents/{made['id']}/grants"
    own = api(owner).put(path, {"grants": []}, format="json")
    assert own.status_code == 200
    assert [grant["permission"] for grant in own.json()["grants"]] == ["manage"]
    assert api(reader).get(f"/api/v1/documents/{made['id']}").status_code == 404
    assert api(reader).get(f"/api/v1/collections/{collection.uid}").json()["document_count"] == 0
    assert api(owner).put(path, {"grants": None}, format="json").json()["grants"] is None
    assert api(reader).get(f"/api/v1/documents/{made['id']}").status_code == 200


def test_a_contributor_cannot_touch_or_notice_a_hidden_document_of_the_same_name(
    post, api, owner, reader, collection, embedder
):
    made = post("pay.md", POLICY, title="Pay").json()
    run_jobs(embedder)
    share(api, owner, collection, reader, "contribute")
    api(owner).put(f"/api/v1/documents/{made['id']}/grants", {"grants": []}, format="json")

    def upload(content: bytes):
        data = {
            "collection": str(collection.uid),
            "file": SimpleUploadedFile("pay.md", content),
            "title": "X",
        }
        return api(reader).post("/api/v1/documents", data, format="multipart").json()

    first, again = upload(POLICY), upload(b"# Other\n\nAnother text.\n")
    assert first["id"] != made["id"]
    assert (first["version"], again["id"], again["version"]) == (1, first["id"], 2)
    hidden = api(owner).get(f"/api/v1/documents/{made['id']}").json()
    assert (hidden["title"], hidden["latest_version"]["number"]) == ("Pay", 1)


def test_a_move_beside_a_hidden_document_of_the_same_name_tells_nothing(
    post, api, owner, reader, collection, embedder
):
    made = post("pay.md", POLICY).json()
    share(api, owner, collection, reader, "contribute")
    api(owner).put(f"/api/v1/documents/{made['id']}/grants", {"grants": []}, format="json")
    client = api(reader)
    mine = client.post("/api/v1/collections", {"name": "Mine"}, format="json").json()["id"]
    data = {"collection": mine, "file": SimpleUploadedFile("pay.md", b"# Other\n\nText.\n")}
    uid = client.post("/api/v1/documents", data, format="multipart").json()["id"]
    moved = client.patch(f"/api/v1/documents/{uid}", {"collection": str(collection.uid)}, format="json")
    assert moved.status_code == 200


def test_a_new_version_needs_the_right_to_change_the_document(post, api, owner, reader, collection, embedder):
    made = post("visitors.md", POLICY).json()
    share(api, owner, collection, reader, "contribute")
    path = f"/api/v1/documents/{made['id']}/grants"
    grants = [{"user": str(reader.pk), "permission": "view"}]
    assert api(owner).put(path, {"grants": grants}, format="json").status_code == 200
    data = {"collection": str(collection.uid), "file": SimpleUploadedFile("visitors.md", b"# New")}
    assert api(reader).post("/api/v1/documents", data, format="multipart").status_code == 403


def test_a_change_refused_in_one_part_changes_nothing(post, api, owner, collection, embedder):
    made = post("visitors.md", POLICY).json()
    client = api(owner)
    other = client.post("/api/v1/collections", {"name": "Archive"}, format="json").json()["id"]
    body = {"collection": other, "tags": [str(n) for n in range(60)]}
    assert client.patch(f"/api/v1/documents/{made['id']}", body, format="json").status_code == 400
    assert client.get(f"/api/v1/documents/{made['id']}").json()["collection"] == str(collection.uid)


def test_a_move_needs_rights_on_both_sides(post, api, owner, collection, embedder):
    made = post("visitors.md", POLICY).json()
    run_jobs(embedder)
    other = api(owner).post("/api/v1/collections", {"name": "Archive"}, format="json").json()
    client = api(owner)
    moved = client.patch(f"/api/v1/documents/{made['id']}", {"collection": other["id"]}, format="json")
    assert moved.json()["collection"] == other["id"]
    assert client.get(f"/api/v1/collections/{collection.uid}").json()["document_count"] == 0
    gone = client.patch(f"/api/v1/documents/{made['id']}", {"collection": "nonsense"}, format="json")
    assert gone.status_code == 404


def test_a_waiting_job_can_be_cancelled_and_tried_again(post, api, owner, embedder):
    made = post("visitors.md", POLICY).json()
    client = api(owner)
    assert client.post(f"/api/v1/jobs/{made['job']}/cancel").json()["state"] == "cancelled"
    assert client.post(f"/api/v1/jobs/{made['job']}/cancel").status_code == 409
    run_jobs(embedder)
    assert client.get(f"/api/v1/documents/{made['id']}").json()["version"] is None
    assert client.post(f"/api/v1/jobs/{made['job']}/retry").json()["state"] == "queued"
    run_jobs(embedder)
    assert client.get(f"/api/v1/documents/{made['id']}").json()["state"] == "live"


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"tags": ",".join(map(str, range(60)))}, "tags"),
        ({"metadata": "[1]"}, "metadata"),
        ({"metadata": "{"}, "metadata"),
        ({"metadata": "[" * 100_000}, "metadata"),
        ({"metadata": '{"a": NaN}'}, "metadata"),
        ({"metadata": '{"a": "\\u0000"}'}, "metadata"),
        ({"metadata": '{"a": ["\\ud800"]}'}, "metadata"),
        ({"title": "x" * 501}, "title"),
        ({"source_uri": "x" * 2001}, "source_uri"),
        ({"modified_at": "yesterday"}, "modified_at"),
    ],
)
def test_bad_fields_are_named_and_nothing_is_stored(post, fields, named):
    answer = post("visitors.md", POLICY, **fields)
    assert answer.status_code == 400
    assert named in answer.json()["error"]["fields"]
    assert not Document.objects.exists()


@pytest.mark.parametrize("tags", [5, True, {"a": 1}, {}, [[]], "\x00"])
def test_tags_of_another_shape_are_refused(post, api, owner, tags):
    made = post("visitors.md", POLICY).json()
    answer = api(owner).patch(f"/api/v1/documents/{made['id']}", {"tags": tags}, format="json")
    assert answer.status_code == 400
    assert any(name.startswith("tags") for name in answer.json()["error"]["fields"])


@pytest.mark.parametrize("query", ["tag=%00", "doc_type=%00", "state=%00", "q=a%00b"])
def test_a_filter_that_no_document_can_have_matches_none(post, api, owner, query):
    post("visitors.md", POLICY)
    assert api(owner).get(f"/api/v1/documents?{query}").json()["count"] == 0


def test_a_version_number_of_any_length_is_only_a_number(post, api, owner):
    made = post("visitors.md", POLICY).json()
    path = f"/api/v1/documents/{made['id']}/pages/1.webp"
    assert api(owner).get(f"{path}?version={'9' * 5000}").status_code == 404


def test_a_very_long_or_hostile_file_name_is_kept_readable(post, api, owner, embedder):
    made = post("章" * 300 + ".md", POLICY).json()
    hostile = post("..\\..//etc/\u202epasswd\x07.md", POLICY).json()
    run_jobs(embedder)
    versions = api(owner).get(f"/api/v1/documents/{made['id']}/versions").json()["results"]
    assert versions[0]["state"] == VersionState.LIVE
    assert versions[0]["file_name"].endswith("章.md")
    assert Document.objects.get(uid=hostile["id"]).latest_version.file_name == "passwd.md"


def test_the_original_comes_back_as_an_attachment_byte_for_byte(post, api, owner):
    made = post("手册.html", b"<script>alert(1)</script><p>x</p>").json()
    answer = api(owner).get(f"/api/v1/documents/{made['id']}/file")
    assert b"".join(answer.streaming_content) == b"<script>alert(1)</script><p>x</p>"
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["Content-Type"] == "application/octet-stream"
    assert "sandbox" in answer["Content-Security-Policy"]
    assert answer["X-Content-Type-Options"] == "nosniff"


def test_a_reader_downloads_only_what_has_been_in_force(post, api, owner, reader, collection, embedder):
    made = post("empty.docx", b"").json()
    run_jobs(embedder)
    share(api, owner, collection, reader)
    path = f"/api/v1/documents/{made['id']}/file"
    assert api(owner).get(path).status_code == 200
    assert api(reader).get(path).status_code == 404


def test_pages_of_a_pdf_are_images_and_stop_where_it_ends(post, api, owner, embedder):
    import pymupdf

    pdf = pymupdf.open()
    pdf.new_page().insert_text((72, 72), "The valve V-77 is red.")
    made = post("valve.pdf", pdf.tobytes()).json()
    run_jobs(embedder)
    client = api(owner)
    page = client.get(f"/api/v1/documents/{made['id']}/pages/1.webp")
    assert page.status_code == 200
    assert page.content[:4] == b"RIFF"
    assert page["Cache-Control"].startswith("private")
    assert page["Cache-Control"] == "private, no-cache"
    again = client.get(
        f"/api/v1/documents/{made['id']}/pages/1.webp", headers={"If-None-Match": page["ETag"]}
    )
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(f"/api/v1/documents/{made['id']}/pages/2.webp").status_code == 404


def test_no_page_is_drawn_of_a_version_that_was_never_in_force(post, api, owner, embedder):
    import pymupdf

    pdf = pymupdf.open()
    pdf.new_page().insert_text((72, 72), "The valve V-77 is red.")
    made = post("valve.pdf", pdf.tobytes()).json()
    DocumentVersion.objects.update(media_type="application/pdf", state=VersionState.EMBEDDING)
    path = f"/api/v1/documents/{made['id']}/pages/1.webp"
    assert [api(owner).get(path + tail).status_code for tail in ("", "?version=1")] == [404, 404]


def test_a_search_token_reads_but_does_not_write(post, api, owner):
    made = post("visitors.md", POLICY).json()
    client = api(owner, scopes=(TokenScope.SEARCH,))
    assert client.get(f"/api/v1/documents/{made['id']}").status_code == 200
    assert client.delete(f"/api/v1/documents/{made['id']}").status_code == 403


def test_lists_filter_by_collection_state_text_and_tag(post, api, owner, collection, embedder):
    post("visitors.md", POLICY, tags="gate")
    post("empty.docx", b"")
    run_jobs(embedder)
    client = api(owner)

    def names(query: str) -> list[str]:
        found = client.get(f"/api/v1/documents?{query}").json()["results"]
        return [row["latest_version"]["state"] for row in found]

    assert names("state=live") == ["live"]
    assert names("state=rejected") == ["rejected"]
    assert names("q=visit") == ["live"]
    assert names("tag=gate") == ["live"]
    assert names("tag=other") == []
    assert len(names(f"collection={collection.uid}")) == 2
    assert client.get("/api/v1/documents?collection=nonsense").status_code == 404


def test_a_collection_is_deleted_only_when_empty(post, api, owner, collection):
    made = post("visitors.md", POLICY).json()
    client = api(owner)
    path = f"/api/v1/collections/{collection.uid}"
    assert client.delete(path).status_code == 409
    assert client.delete(f"/api/v1/documents/{made['id']}").status_code == 204
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404


def test_deleting_moves_to_the_trash_and_only_permanent_removes(post, api, owner, embedder):
    made = post("visitors.md", POLICY).json()
    run_jobs(embedder)
    client, path = api(owner), f"/api/v1/documents/{made['id']}"
    assert client.delete(f"{path}?permanent=yes").status_code == 400
    assert client.delete(path).status_code == 204
    assert [client.get(path).status_code, client.delete(path).status_code] == [404, 404]
    (row,) = client.get("/api/v1/trash").json()["results"]
    assert (row["id"], row["deleted_by"]["name"]) == (made["id"], "Owner")
    assert client.post(f"/api/v1/trash/{made['id']}/restore").json()["id"] == made["id"]
    run_jobs(embedder)
    assert client.get(path).json()["state"] == "live"
    client.delete(path)
    assert api(owner, scopes=(TokenScope.SEARCH,)).delete(f"{path}?permanent=true").status_code == 403
    assert client.delete(f"{path}?permanent=true").status_code == 204
    assert not Document.objects.exists()
    other = post("again.md", POLICY).json()
    assert client.delete(f"/api/v1/documents/{other['id']}?permanent=true").status_code == 204
    assert not Document.objects.exists()


def test_the_schema_can_be_made_and_tells_of_no_collection(api, owner, collection):
    answer = api(owner).get("/api/schema", HTTP_ACCEPT="application/json")
    assert answer.status_code == 200
    assert "/api/v1/documents" in json.loads(answer.content)["paths"]
    assert collection.name.encode() not in answer.content


def test_a_token_limited_to_a_collection_makes_no_other(owner, collection):
    limits = {"scopes": [TokenScope.INGEST], "collections": [collection.scope_id]}
    _row, text = create_token(actor=principal_of(owner), user=owner, name="robot", **limits)
    robot = APIClient(headers={"Authorization": f"Bearer {text}"})
    assert robot.get(f"/api/v1/collections/{collection.uid}").status_code == 200
    assert robot.post("/api/v1/collections", {"name": "More"}, format="json").status_code == 403
    assert Collection.objects.count() == 1


def test_the_summary_counts_states_verdicts_and_values_of_what_is_open_to_the_caller(
    post, api, owner, outsider, embedder
):
    post("visitors.md", POLICY, tags="gate,safety", department="Site", metadata='{"site": "Lyon", "no": 4}')
    post("empty.docx", b"")
    run_jobs(embedder)
    body = api(owner).get("/api/v1/documents/summary").json()
    assert (body["documents"], body["passages"], body["states"]["live"], body["states"]["rejected"]) == (
        2,
        1,
        1,
        1,
    )
    assert (body["verdicts"]["well"], body["verdicts"]["badly"]) == (1, 0)
    assert body["facets"]["department"] == [{"value": "Site", "count": 1}]
    assert {row["value"] for row in body["facets"]["tags"]} == {"gate", "safety"}
    assert body["facets"]["metadata.site"] == [{"value": "Lyon", "count": 1}]
    assert api(owner).get("/api/v1/documents/summary?department=Other").json()["documents"] == 0
    hidden = api(outsider).get("/api/v1/documents/summary").content.decode()
    assert "Lyon" not in hidden
    assert "gate" not in hidden
    assert '"documents":0' in hidden


def test_documents_are_filtered_by_verdict_and_own_values(post, api, owner, embedder):
    post("visitors.md", POLICY, metadata='{"site": "Lyon", "floor": 4, "until": "2026-05-01", "open": true}')
    run_jobs(embedder)

    def count(query):
        return api(owner).get(f"/api/v1/documents?{query}").json()["count"]

    found = ["verdict=well", "metadata.site=Lyon", "metadata.floor=4", "metadata.open=true"]
    found += [
        "metadata.floor.gte=4&metadata.floor.lt=5",
        "metadata.until.gte=2026-04-30",
        "metadata.site.contains=YO",
    ]
    found += ["metadata.site=Paris&metadata.site=Lyon"]
    assert [query for query in found if count(query) != 1] == []
    missed = ["verdict=badly", "metadata.site=Paris", "metadata.floor.gt=4", "metadata.until.lte=2026"]
    missed += ["metadata.site.contains=%25", "metadata.site.gte=5", "metadata.x%22y=1", "metadata.%00=1"]
    missed += ["metadata.site.contains=a%00%22%5C", "metadata.floor.gte=NaN", "metadata.floor=1e400"]
    assert [query for query in missed if count(query) != 0] == []
