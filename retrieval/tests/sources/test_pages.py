"""The pages and the API of sources, by hand of an administrator; everybody else is refused by the policies."""

import pytest

from accounts.selectors import all_staff
from kb_platform.models import AuditEntry
from kb_platform.testing.http_server import free_port
from retrieval.sources.models import ExternalSource

pytestmark = pytest.mark.django_db
KEY = "a-key-for-tests-9f2c"


def form(url, **changes):
    given = {
        "name": "Wiki", "option.url": url, "option.knowledge_id": "kb-1", "secret": KEY, "filter_field": "", "group": str(all_staff().pk),
        "try_ms": "400", "total_ms": "400", "tries": "1", "concurrency": "4",
    }  # fmt: skip
    return given | changes


def test_from_the_empty_list_to_an_answer(administrator, browser, wiki, make_source):
    client = browser(administrator)
    assert "No external sources yet" in client.get("/manage/sources").content.decode()
    assert client.get("/manage/sources/new").status_code == 200
    made = client.post("/manage/sources/new?kind=dify", form(wiki.url))
    assert made.status_code == 302
    source = ExternalSource.objects.get()
    client.post("/system/settings/network", {
        "seen.network.internal_hosts": '""', "network.internal_hosts": wiki.address,
    })  # fmt: skip
    page = client.post(f"{made['Location']}/try", {"question": "torque", "as": ""}).content.decode()
    assert "Torque of pumps" in page
    assert "2 results in" in page
    assert KEY not in page
    assert source.secret not in page
    assert "All staff" in client.get("/manage/sources").content.decode()
    edited = form(wiki.url, name="Renamed", secret="")
    assert client.post(made["Location"], edited).status_code == 302
    assert client.post(f"{made['Location']}/switch", {"active": "0"}).status_code == 302
    assert "Switched off" in client.get("/manage/sources").content.decode()
    assert client.post(f"{made['Location']}/delete", {"typed": "wrong"}).status_code == 200
    assert client.post(f"{made['Location']}/delete", {"typed": "Renamed"}).status_code == 302
    assert not ExternalSource.objects.exists()
    assert AuditEntry.objects.filter(action__startswith="source.").count() == 4


def test_what_is_refused_stands_at_its_field_and_nothing_typed_is_lost(administrator, browser):
    client = browser(administrator)
    response = client.post("/manage/sources/new?kind=dify", form("ftp://x", name="Typed name", tries="9"))
    page = response.content.decode()
    assert response.status_code == 400
    assert "Typed name" in page
    assert KEY not in page
    for hostile in ({"name": "\x00"}, {"group": ["x", "-1", "9" * 40]}, {"option.url": "x" * 9_000}):
        assert client.post("/manage/sources/new?kind=dify", form("https://x", **hostile)).status_code in (
            302,
            400,
        )
    assert client.get("/manage/sources/new?kind=nonsense").status_code == 200
    assert client.get("/manage/sources/nonsense").status_code == 404


def test_a_try_says_plainly_what_is_wrong(administrator, browser, make_source):
    source = make_source(f"127.0.0.1:{free_port()}")
    client = browser(administrator)
    page = client.post(f"/manage/sources/{source.uid}/try", {"question": "torque"}).content.decode()
    assert "cannot be reached" in page
    page = client.post(f"/manage/sources/{source.uid}/try", {"question": " "}).content.decode()
    assert "Type a question" in page
    assert client.post(f"/manage/sources/{source.uid}/try", {"question": "q", "as": "77"}).status_code == 200


def test_the_api_keeps_sources_without_telling_secrets(administrator, api, wiki, make_source):
    client = api(administrator)
    make_source(wiki, name="First")
    body = {
        "name": "Second", "kind": "dify", "options": {"url": wiki.url, "knowledge_id": "kb-1"}, "secret": KEY,
        "access": [{"group": all_staff().pk}],
    }  # fmt: skip
    made = client.post("/api/v1/sources", body, format="json")
    assert made.status_code == 201
    assert made.json()["has_secret"]
    assert KEY not in made.content.decode()
    url = f"/api/v1/sources/{made.json()['id']}"
    assert client.get(url).json()["circuit"]["state"] == "closed"
    assert client.patch(url, {"tries": 3, "active": False}, format="json").json()["active"] is False
    assert client.patch(url, {"kind": "sql"}, format="json").status_code == 400
    assert [one["name"] for one in client.get("/api/v1/sources").json()["results"]] == ["First", "Second"]
    tried = client.post(f"{url}/try", {"question": "torque"}, format="json").json()
    assert [one["title"] for one in tried["results"]] == ["Torque of pumps", "Pump oil"]
    assert client.delete(url).status_code == 204
    assert client.get(url).status_code == 404
    assert client.post("/api/v1/sources", {"name": "x"}, format="json").status_code == 400
