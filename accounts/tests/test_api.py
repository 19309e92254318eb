import pytest
from rest_framework.test import APIClient

from accounts.models import ApiToken, User
from accounts.selectors import administrators, all_staff
from accounts.services import create_group
from accounts.values import SystemActor

SYSTEM = SystemActor(name="tests")


@pytest.fixture
def admin(api, administrator):
    return api(administrator)


def fields(response):
    assert response.status_code == 400, response.json()
    return set(response.json()["error"]["fields"])


# --- people -----------------------------------------------------------------------------------------------


def test_a_person_made_with_groups_is_given_back_with_opaque_ids(admin):
    group = admin.post("/api/v1/groups", {"name": "Readers"}, format="json").json()
    body = {"email": "New@Example.com", "name": "New", "groups": [group["id"]]}
    response = admin.post("/api/v1/users", body, format="json")
    assert response.status_code == 201
    made = response.json()
    assert (made["email"], made["name"], made["is_active"], made["is_administrator"]) == (
        "new@example.com",
        "New",
        True,
        False,
    )
    assert isinstance(made["id"], str)
    assert set(made["groups"]) == {group["id"], str(all_staff().pk)}
    assert "password" not in made
    assert admin.get(f"/api/v1/users/{made['id']}").json() == made


def test_people_are_listed_page_by_page(admin, reader, outsider):
    first = admin.get("/api/v1/users?page_size=2").json()
    assert (first["count"], len(first["results"]), first["previous"]) == (3, 2, None)
    second = admin.get(first["next"]).json()
    assert {row["email"] for row in first["results"] + second["results"]} == {
        "administrator@example.com",
        "reader@example.com",
        "outsider@example.com",
    }


def test_a_person_changes(admin, reader):
    group = create_group(actor=SYSTEM, name="Readers")
    body = {"name": "Other", "groups": [str(group.pk)], "password": "a rather long phrase"}
    answer = admin.patch(f"/api/v1/users/{reader.pk}", body, format="json")
    assert answer.status_code == 200
    assert answer.json()["name"] == "Other"
    reader.refresh_from_db()
    assert reader.check_password("a rather long phrase")


def test_deleting_a_person_deactivates(admin, reader, api):
    client = api(reader)
    assert admin.delete(f"/api/v1/users/{reader.pk}").status_code == 204
    assert client.get("/api/v1/me").status_code == 401
    assert admin.get(f"/api/v1/users/{reader.pk}").json()["is_active"] is False
    assert admin.patch(f"/api/v1/users/{reader.pk}", {"is_active": True}, format="json").status_code == 200
    assert client.get("/api/v1/me").status_code == 401


def test_the_last_administrator_cannot_be_deleted(admin, administrator):
    response = admin.delete(f"/api/v1/users/{administrator.pk}")
    assert (response.status_code, response.json()["error"]["code"]) == (409, "last_administrator")


@pytest.mark.parametrize("value", ["true", 1, "on", True, [True], {"a": 1}, None])
@pytest.mark.parametrize("field", ["is_superuser", "is_administrator", "is_staff", "user_permissions", "id"])
def test_no_field_raises_a_person(admin, reader, field, value):
    body = {"email": "new@example.com", "name": "x", field: value}
    assert fields(admin.post("/api/v1/users", body, format="json")) == {field}
    assert fields(admin.patch(f"/api/v1/users/{reader.pk}", {field: value}, format="json")) == {field}
    assert User.objects.filter(is_superuser=True).count() == 1
    assert not User.objects.filter(email="new@example.com").exists()


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, {"email"}),
        ({"email": 5}, {"email"}),
        ({"email": ["a@example.com"]}, {"email"}),
        ({"email": "a@example.com", "name": "x\x00y"}, {"name"}),
        ({"email": "a@example.com", "name": "x" * 151}, {"name"}),
        ({"email": "a@example.com", "password": "short"}, {"password"}),
        ({"email": "a@example.com", "password": 123456789012}, {"password"}),
        ({"email": "a@example.com", "groups": ["999999999"]}, {"groups"}),
        ({"email": "a@example.com", "groups": ["x"]}, {"groups"}),
        ({"email": "a@example.com", "groups": "1"}, {"groups"}),
        ({"email": "a@example.com", "groups": ["9" * 60]}, {"groups"}),
    ],
)
def test_bad_input_names_its_field(admin, body, named):
    assert fields(admin.post("/api/v1/users", body, format="json")) == named


@pytest.mark.parametrize("body", ["[]", "5", '"x"', "null", "{", "[1]"])
@pytest.mark.parametrize("path", ["users", "groups"])
def test_a_body_that_is_no_object_is_refused(admin, path, body):
    response = admin.post(f"/api/v1/{path}", body, content_type="application/json")
    assert response.status_code == 400
    assert response.json()["error"]["code"]


@pytest.mark.parametrize("value", ["false", 0, "off"])
def test_activity_is_true_or_false_only(admin, reader, value):
    assert fields(admin.patch(f"/api/v1/users/{reader.pk}", {"is_active": value}, format="json")) == {
        "is_active"
    }


@pytest.mark.parametrize("key", ["999999999", "x", "-1", "0", "１", "9" * 40, "1;drop", "%00"])
@pytest.mark.parametrize("path", ["users", "groups"])
def test_an_id_that_names_nothing_is_not_found(admin, path, key):
    response = admin.get(f"/api/v1/{path}/{key}")
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")


# --- groups -----------------------------------------------------------------------------------------------


def test_a_group_with_members(admin, reader, outsider):
    made = admin.post(
        "/api/v1/groups", {"name": "Readers", "members": [str(reader.pk)]}, format="json"
    ).json()
    assert (made["name"], made["builtin"], made["members"], made["member_count"]) == (
        "Readers",
        None,
        [str(reader.pk)],
        1,
    )
    path = f"/api/v1/groups/{made['id']}"
    changed = admin.patch(path, {"members": [str(outsider.pk)], "name": "Other"}, format="json").json()
    assert (changed["name"], changed["members"]) == ("Other", [str(outsider.pk)])
    assert admin.delete(path).status_code == 204
    assert admin.get(path).status_code == 404


def test_a_name_taken_is_refused(admin):
    assert fields(admin.post("/api/v1/groups", {"name": "all staff"}, format="json")) == {"name"}


def test_the_builtin_groups_are_listed_as_such_and_stay(admin):
    rows = {row["builtin"]: row["id"] for row in admin.get("/api/v1/groups").json()["results"]}
    assert set(rows) == {"all_staff", "administrators"}
    for key in rows.values():
        assert admin.delete(f"/api/v1/groups/{key}").status_code == 409
        assert admin.patch(f"/api/v1/groups/{key}", {"name": "x"}, format="json").status_code == 409


def test_the_administrators_group_makes_administrators(admin, administrator, reader):
    path = f"/api/v1/groups/{administrators().pk}"
    body = {"members": [str(administrator.pk), str(reader.pk)]}
    assert admin.patch(path, body, format="json").status_code == 200
    reader.refresh_from_db()
    assert reader.is_superuser


# --- tokens and me ----------------------------------------------------------------------------------------


def test_a_session_makes_lists_and_ends_its_own_tokens(browser, reader):
    client = browser(reader)
    made = client.post(
        "/api/v1/tokens", {"name": "bot", "scopes": ["search"], "days": 5}, content_type="application/json"
    )
    assert made.status_code == 201
    token = made.json()
    listed = client.get("/api/v1/tokens").json()["results"]
    assert [row["id"] for row in listed] == [token["id"]]
    assert "token" not in listed[0]
    program = APIClient(headers={"Authorization": f"Bearer {token['token']}"})
    assert program.get("/api/v1/me").json()["token_scopes"] == ["search"]
    assert client.delete(f"/api/v1/tokens/{token['id']}").status_code == 204
    assert program.get("/api/v1/me").status_code == 401
    assert client.get("/api/v1/tokens").json()["count"] == 0


def test_no_token_makes_another(api, administrator):
    client = api(administrator)
    before = ApiToken.objects.count()
    assert client.post("/api/v1/tokens", {"name": "x", "scopes": ["admin"]}, format="json").status_code == 403
    assert ApiToken.objects.count() == before


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"name": "x", "scopes": ["admin"]}, {"scopes"}),
        ({"name": "x", "scopes": ["root"]}, {"scopes.0"}),
        ({"name": "x", "scopes": []}, {"scopes"}),
        ({"name": "x", "scopes": ["search"], "days": 366}, {"days"}),
        ({"name": "x", "scopes": ["search"], "user": "1"}, {"user"}),
        ({"scopes": ["search"]}, {"name"}),
    ],
)
def test_a_token_beyond_the_limits_is_refused(browser, reader, body, named):
    answer = browser(reader).post("/api/v1/tokens", body, content_type="application/json")
    assert fields(answer) == named


def test_me_says_who_one_is_and_what_the_token_may(api, browser, administrator):
    narrow = api(administrator, scopes=("ask",)).get("/api/v1/me").json()
    assert (narrow["email"], narrow["is_administrator"], narrow["token_scopes"]) == (
        administrator.email,
        False,
        ["ask"],
    )
    session = browser(administrator).get("/api/v1/me").json()
    assert (session["is_administrator"], session["token_scopes"]) == (True, None)


def test_the_description_of_the_api_is_complete(browser, reader):
    response = browser(reader).get("/api/schema?format=json")
    assert response.status_code == 200
    description = response.json()
    assert {"/api/v1/users", "/api/v1/groups/{group}", "/api/v1/me"} <= set(description["paths"])
    assert description["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
