"""Requests that no client of ours sends: refused with the error's usual shape, never a fault of the server."""

import pytest

pytestmark = pytest.mark.django_db

DEEP = "[" * 100_000


def assert_refused(response, status=400):
    assert response.status_code == status
    assert response.json()["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        DEEP,
        DEEP + "]" * 100_000,
        '{"a":' * 100_000,
        '{"query": "x", "filters": {"metadata.a": 1e999}}',
        '{"query": "x", "filters": {"metadata.\\u0000": 1}}',
        '{"query": "x", "filters": {"\\ud800": 1}}',
        '{"query": "x", "mode": "\\ud800"}',
        '{"query": "x"',
        b"\xff\xfe",
    ],
)
def test_a_json_body_that_cannot_be_used(api, outsider, body):
    assert_refused(api(outsider).post("/api/v1/search", body, content_type="application/json"))


def test_a_body_beyond_the_limit(api, outsider, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    body = '{"query": "' + "x" * 200 + '"}'
    assert_refused(api(outsider).post("/api/v1/search", body, content_type="application/json"), 413)


def test_a_form_of_too_many_fields(api, outsider, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 3
    fields = {f"f{n}": "1" for n in range(5)}
    assert_refused(api(outsider).post("/api/v1/documents", fields, format="multipart"))


def test_a_host_that_is_not_this_site(client):
    assert_refused(client.get("/api/v1/me", headers={"Host": "evil.example"}))
    page = client.get("/login", headers={"Host": "evil.example"})
    assert page.status_code == 400
    assert "This cannot be used" in page.content.decode()


@pytest.mark.parametrize("charset", ["hex", "rot13", "undefined", "utf-16"])
def test_a_form_is_utf_8_whatever_it_claims(client, charset):
    kind = f"application/x-www-form-urlencoded; charset={charset}"
    response = client.generic("POST", "/language", b"language=zh-hans&next=/login", content_type=kind)
    assert (response.status_code, response["Location"]) == (302, "/login")


def test_a_cookie_that_no_table_can_look_up_is_nobody_s(client):
    response = client.get("/api/v1/me", headers={"Cookie": 'sessionid="\\000aaaaaaaaaaaaaaaaaaaaaaaa"'})
    assert response.status_code == 401


def test_a_fragment_with_an_address_that_is_none_leads_to_the_start(client):
    headers = {"HX-Request": "true", "HX-Current-URL": "http://[bad"}
    assert client.get("/manage/documents/processing", headers=headers)["HX-Redirect"] == "/login?next=/"


@pytest.mark.parametrize("kind", ["image/webp", "text/html", "nonsense"])
def test_whatever_a_program_accepts_it_gets_the_one_form_there_is(api, outsider, kind):
    response = api(outsider).get("/api/v1/me", HTTP_ACCEPT=kind)
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")
