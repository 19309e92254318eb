import re

import pytest
from django.test import Client
from django.utils import translation

from accounts.models import AccessScope, ApiToken, User
from accounts.principals import principal_of
from accounts.selectors import administrators, all_staff
from accounts.services import create_group, create_scope
from accounts.tokens import open_token
from accounts.values import SystemActor

SYSTEM = SystemActor(name="tests")


def pay_scope(owner):
    """The access scope of a collection that only this person sees; accounts reaches collections by the reverse side."""
    scope = create_scope(actor=principal_of(owner))
    AccessScope._meta.get_field("collection").related_model.objects.create(name="Pay policy", scope=scope)
    return scope.pk


@pytest.fixture
def admin(browser, administrator):
    return browser(administrator)


def body(response, status=200):
    assert response.status_code == status
    text = response.content.decode()
    assert " style=" not in text
    assert "<script>" not in text
    assert not re.search(r"\son\w+=", text)
    for form in re.findall(r'<form[^>]*method="post".*?</form>', text, re.S):
        assert "csrfmiddlewaretoken" in form
    return text


def follow(client, response):
    assert response.status_code == 302, response.content.decode()
    return body(client.get(response["Location"]))


@pytest.mark.parametrize(
    "path",
    [
        "/system/users",
        "/system/users?q=%00",
        "/system/users/new",
        "/system/groups",
        "/system/groups/new",
        "/system/audit?page=x",
        "/account",
        "/account/tokens",
        "/account/tokens/new",
    ],
)
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_page_opens_in_both_languages(admin, administrator, path, language):
    User.objects.update(language=language)
    text = body(admin.get(path))
    assert f'<html lang="{ {"en": "en", "zh-hans": "zh-Hans"}[language] }"' in text
    translation.activate("en")


@pytest.mark.parametrize("path", ["/login", "/first-start/x"])
def test_pages_before_signing_in_open(db, path):
    body(Client().get(path), 410 if "first" in path else 200)


def test_a_person_is_made_changed_and_found(admin):
    group = create_group(actor=SYSTEM, name="Sales")
    form = {"name": "Ada", "email": "ada@example.com", "password": "", "groups": [group.pk]}
    text = follow(admin, admin.post("/system/users/new", form))
    assert "ada@example.com" in text
    ada = User.objects.get(email="ada@example.com")
    assert set(ada.groups.all()) == {group, all_staff()}
    assert not ada.has_usable_password()
    follow(admin, admin.post(f"/system/users/{ada.pk}", form | {"name": "Ada L", "groups": []}))
    ada.refresh_from_db()
    assert (ada.name, list(ada.groups.all())) == ("Ada L", [all_staff()])
    assert "Ada L" in body(admin.get("/system/users?q=ada"))
    assert "Ada L" not in body(admin.get("/system/users?q=nobody"))


def test_errors_stand_at_their_fields(admin, reader):
    form = {"name": "x", "email": reader.email, "password": "short"}
    text = body(admin.post("/system/users/new", form), 400)
    assert 'id="id_email_error"' in text
    assert re.search(r'<input type="email"[^>]*aria-describedby="id_email_error"', text)
    assert 'role="alert"' in text


def test_a_person_is_deactivated_after_asking_and_activated_again(admin, reader):
    assert "Signs out everywhere" in body(admin.get(f"/system/users/{reader.pk}/deactivate"))
    assert "Deactivated" in follow(admin, admin.post(f"/system/users/{reader.pk}/deactivate"))
    follow(admin, admin.post(f"/system/users/{reader.pk}/activate"))
    reader.refresh_from_db()
    assert reader.is_active


def test_the_last_administrator_is_told_why_it_must_stay(admin, administrator):
    form = {"name": "x", "email": administrator.email, "password": "", "groups": []}
    assert "last administrator" in body(admin.post(f"/system/users/{administrator.pk}", form), 400)
    body(admin.post(f"/system/users/{administrator.pk}/deactivate"), 409)


def test_a_group_is_made_filled_renamed_and_deleted(admin, reader, outsider):
    text = follow(admin, admin.post("/system/groups/new", {"name": "Sales"}))
    key = re.search(r"/system/groups/(\d+)/add", text)[1]
    emails = f"{reader.email}, {outsider.email.upper()}"
    text = follow(admin, admin.post(f"/system/groups/{key}/add", {"emails": emails}))
    assert reader.email in text
    assert outsider.email in text
    text = follow(admin, admin.post(f"/system/groups/{key}/remove", {"user": outsider.pk}))
    assert outsider.email not in text
    assert "North" in follow(admin, admin.post(f"/system/groups/{key}/rename", {"name": "North"}))
    body(admin.get(f"/system/groups/{key}/delete"))
    assert "North" not in follow(admin, admin.post(f"/system/groups/{key}/delete")).split("<section")[1]


def test_an_unknown_address_is_named(admin):
    group = create_group(actor=SYSTEM, name="Sales")
    text = body(admin.post(f"/system/groups/{group.pk}/add", {"emails": "nobody@example.com"}), 400)
    assert "nobody@example.com" in text


def test_members_of_administrators_administer(admin, administrator, reader):
    path = f"/system/groups/{administrators().pk}"
    follow(admin, admin.post(f"{path}/add", {"emails": reader.email}))
    reader.refresh_from_db()
    assert reader.is_superuser
    follow(admin, admin.post(f"{path}/remove", {"user": reader.pk}))
    reader.refresh_from_db()
    assert not reader.is_superuser
    body(admin.post(f"{path}/remove", {"user": administrator.pk}), 409)


def test_the_audit_log_tells_what_changed(admin, reader):
    admin.post(
        f"/system/users/{reader.pk}",
        {"name": "Renamed <b>", "email": reader.email, "password": "", "groups": []},
    )
    text = body(admin.get("/system/audit"))
    assert "Changed an account" in text
    assert "<del>Reader</del>" in text
    assert "<ins>Renamed &lt;b&gt;</ins>" in text
    assert "Changed an account" not in body(admin.get("/system/audit?q=nothing-like-it"))


def test_a_person_changes_the_own_profile_and_nothing_more(browser, reader):
    client = browser(reader)
    form = {"name": "New", "language": "zh-hans", "theme": "dark", "is_superuser": "on", "email": "x@y.zz"}
    follow(client, client.post("/account", form))
    reader.refresh_from_db()
    assert (reader.name, reader.language, reader.theme) == ("New", "zh-hans", "dark")
    assert (reader.is_superuser, reader.email) == (False, "reader@example.com")
    translation.activate("en")


def test_the_own_password_changes_and_other_sessions_end(browser, reader, password):
    here, elsewhere = browser(reader), browser(reader)
    form = {"current": password, "password": "another long phrase"}
    follow(here, here.post("/account/password", form))
    assert here.get("/account").status_code == 200
    assert elsewhere.get("/account").status_code == 302


def test_a_wrong_present_password_is_refused_at_its_field(browser, reader):
    form = {"current": "guess", "password": "another long phrase"}
    assert 'id="id_current_error"' in body(browser(reader).post("/account/password", form), 400)


def test_a_token_is_shown_once_and_revoked(browser, reader):
    client = browser(reader)
    form = {"name": "bot", "scopes": ["search", "ask"], "days": 30}
    response = client.post("/account/tokens/new", form)
    text = re.search(r"kb_[0-9a-f]{16}_[\w-]{43}", body(response))[0]
    assert response["Cache-Control"] == "private, no-store"
    row = open_token(text)
    listed = body(client.get("/account/tokens"))
    assert "bot" in listed
    assert text not in listed
    assert "bot" in body(client.get(f"/account/tokens/{row.pk}/revoke"))
    follow(client, client.post(f"/account/tokens/{row.pk}/revoke"))
    assert ApiToken.objects.get().revoked_at


def test_an_employee_is_not_offered_the_admin_scope(browser, reader):
    client = browser(reader)
    assert 'value="admin"' not in body(client.get("/account/tokens/new"))
    body(client.post("/account/tokens/new", {"name": "x", "scopes": ["admin"], "days": 1}), 400)
    assert not ApiToken.objects.exists()


def test_an_htmx_request_of_an_ended_session_leads_the_whole_page_to_sign_in(db):
    response = Client(headers={"HX-Request": "true"}).get("/account")
    assert response.status_code == 204
    assert response["HX-Redirect"].startswith("/login?next=")


@pytest.mark.parametrize(
    ("wanted", "place"),
    [("x", "x"), ("/search?q=a", "/search?q=a"), ("//evil.example", "/"), ("javascript:alert(1)", "/")],
)
def test_after_signing_in_one_stays_on_this_site(browser, reader, wanted, place):
    assert browser(reader).get("/login", {"next": wanted})["Location"] == place


def test_a_token_is_limited_to_visible_collections_only(browser, owner, outsider):
    mine = pay_scope(owner)
    form = {"name": "bot", "scopes": ["search"], "days": "30", "collections": [str(mine)]}
    assert browser(outsider).post("/account/tokens/new", form).status_code == 400
    page = body(browser(owner).post("/account/tokens/new", form))
    assert "Pay policy" in page
    assert ApiToken.objects.get().collections == [mine]
    assert "Pay policy" in body(browser(owner).get("/account/tokens"))


def test_administrators_see_and_revoke_the_tokens_of_others_without_names_that_are_hidden(
    browser, admin, owner
):
    form = {"name": "bot", "scopes": ["search"], "days": "30", "collections": [str(pay_scope(owner))]}
    browser(owner).post("/account/tokens/new", form)
    page = body(admin.get("/account/tokens?all=1"))
    assert "bot" in page
    assert "Pay policy" not in page
    assert "1 not open to you" in page
    token = ApiToken.objects.get()
    follow(admin, admin.post(f"/account/tokens/{token.pk}/revoke"))
    token.refresh_from_db()
    assert token.revoked_at


def test_others_see_only_their_own_tokens(browser, owner, outsider):
    browser(owner).post("/account/tokens/new", {"name": "bot", "scopes": ["search"], "days": "30"})
    assert "bot" not in body(browser(outsider).get("/account/tokens?all=1"))


def test_a_person_page_tells_what_they_see_and_why(admin, owner):
    pay_scope(owner)
    page = body(admin.get(f"/system/users/{owner.pk}"))
    assert "Pay policy" in page
    assert "direct, by Owner" in page


def test_letter_shortcuts_are_turned_off_in_the_account(browser, reader):
    client = browser(reader)
    assert 'data-letters="off"' not in body(client.get("/account"))
    client.post("/account", {"name": "R", "language": "", "theme": "auto"})
    assert 'data-letters="off"' in body(client.get("/account"))
