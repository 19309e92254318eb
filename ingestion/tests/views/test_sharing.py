import re

import pytest
from django.utils import timezone

from accounts.permissions.grants import grants_of, replace_grants
from accounts.principals import principal_of
from accounts.selectors import all_staff
from accounts.values import GrantRequest, Holder, Permission
from ingestion import services
from ingestion.models import Collection
from ingestion.testing.rows import make_document

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection(owner, reader):
    made = services.create_collection(actor=principal_of(owner), name="Finance policy")
    grants = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.VIEW)]
    replace_grants(actor=principal_of(owner), scope=made.scope, grants=grants, subject=made)
    make_document(made)
    return made


@pytest.fixture
def path(collection):
    return f"/manage/collections/{collection.uid}/sharing"


def levels(collection):
    return {grant.name: grant.permission.value for grant in grants_of(collection.scope)}


def row(user, level, *, was="view|", end=""):
    return {"subject": [f"user:{user.pk}"], "permission": [level], "expires": [end], "was": [was]}


def text_of(response):
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def test_an_edit_is_shown_with_what_it_changes_before_anything_is_saved(
    browser, owner, reader, collection, path
):
    page = text_of(browser(owner).post(path, row(reader, "remove") | {"do": "review"}))
    assert "Will be removed" in page
    assert "1 person loses sight of 1 document" in page
    assert levels(collection)["Reader"] == "view"


def test_whoever_gains_sight_is_confirmed_before_it_is_saved(browser, owner, outsider, collection, path):
    client = browser(owner)
    added = {"subject": [f"user:{outsider.pk}"], "permission": ["view"], "expires": [""], "was": [""]}
    response = client.post(path, added | {"do": "save"})
    assert "Open 1 document to 1 more person?" in text_of(response)
    assert "Outsider" not in levels(collection)
    assert client.post(path, added | {"confirm": "of somebody else"}).status_code == 200
    assert "Outsider" not in levels(collection)
    confirm = response.context["confirm"]
    assert client.post(path, added | {"confirm": confirm}).status_code == 302
    assert levels(collection)["Outsider"] == "view"


def test_what_exposes_nothing_is_saved_at_once(browser, owner, reader, collection, path):
    form = row(reader, "contribute", end="2099-01-31") | {"do": "save"}
    assert browser(owner).post(path, form).status_code == 302
    assert "2099-01-31" in browser(owner).get(path).content.decode()
    assert levels(collection)["Reader"] == "contribute"


def test_a_change_made_by_somebody_else_meanwhile_is_told_and_nothing_is_lost(
    browser, owner, reader, collection, path
):
    client = browser(owner)
    version = client.get(path).context["version"]
    everybody = GrantRequest(holder=Holder.group(all_staff().pk), permission=Permission.VIEW)
    kept = GrantRequest(holder=Holder.user(reader.pk), permission=Permission.VIEW)
    replace_grants(actor=principal_of(owner), scope=collection.scope, grants=[everybody, kept])
    response = client.post(path, row(reader, "contribute") | {"do": "save", "version": version})
    page = text_of(response)
    assert "Somebody else has changed this list meanwhile" in page
    assert "was View" in page
    assert levels(collection) == {"All staff": "view", "Owner": "manage", "Reader": "view"}
    again = row(reader, "contribute") | {"do": "save", "version": response.context["version"]}
    assert client.post(path, again).status_code == 302
    assert levels(collection) == {"All staff": "view", "Owner": "manage", "Reader": "contribute"}


def test_people_are_found_by_typing_and_put_on_the_list(browser, owner, outsider, collection, path):
    client = browser(owner)
    found = client.get("/manage/holders?add=outs").content.decode()
    assert f'value="user:{outsider.pk}"' in found
    assert "outsider@example.com" in found
    page = text_of(client.post(path, {"pick": f"user:{outsider.pk}", "add_permission": "view"}))
    assert "Outsider New" in page
    page = text_of(client.post(path, {"add": "Outsider@example.com", "add_permission": "manage"}))
    assert "Outsider New" in page


def test_the_directory_is_searched_never_listed_and_only_by_those_who_share(
    browser, owner, outsider, collection
):
    assert "<button" not in browser(owner).get("/manage/holders?add=o").content.decode()
    assert "<button" not in browser(owner).get("/manage/holders").content.decode()
    assert browser(outsider).get("/manage/holders?add=owner").status_code == 403


def test_the_last_manager_stays(browser, owner, collection, path):
    services_form = {
        "subject": [f"user:{owner.pk}"],
        "permission": ["remove"],
        "expires": [""],
        "was": ["manage|"],
    }
    browser(owner).post(path, services_form | {"do": "save"})
    assert levels(collection)["Owner"] == "manage"


def test_nobody_known_is_said_and_kept(browser, owner, path):
    response = browser(owner).post(path, {"add": "nobody@x.org", "add_permission": "view"})
    assert response.status_code == 400
    assert "Nobody is called “nobody@x.org”" in response.content.decode()
    assert 'value="nobody@x.org"' in response.content.decode()


def test_the_last_day_of_the_calendar_is_no_end(browser, owner, reader, path):
    with timezone.override("America/New_York"):
        response = browser(owner).post(path, row(reader, "view", end="9999-12-31") | {"do": "save"})
    assert response.status_code == 400


@pytest.mark.parametrize(
    "typed",
    [
        {"add": "a\x00b"},
        {"subject": "user:" + "9" * 5000, "permission": "view", "expires": "", "was": ""},
        {"subject": "user:" + "9" * 18, "permission": "view", "expires": "", "was": ""},
        {"pick": "nobody"},
    ],
)
def test_a_holder_that_nobody_can_be_changes_nothing(browser, owner, collection, path, typed):
    before = grants_of(collection.scope)
    response = browser(owner).post(path, {"add_permission": "view", **typed})
    assert response.status_code == 400
    assert grants_of(collection.scope) == before


def test_checking_a_person_tells_through_what_they_see_it(browser, owner, outsider, reader, collection, path):
    client = browser(owner)
    assert "Reader can view" in text_of(client.post(path, {"do": "check", "who": "reader@example.com"}))
    assert "Outsider cannot view" in text_of(client.post(path, {"do": "check", "who": "outsi"}))
    everybody = GrantRequest(holder=Holder.group(all_staff().pk), permission=Permission.VIEW)
    replace_grants(actor=principal_of(owner), scope=collection.scope, grants=[everybody])
    page = text_of(client.post(path, {"do": "check", "who": "Outsider"}))
    assert "Outsider can view All staff → this collection" in page


def test_a_document_gets_a_list_of_its_own_and_gives_it_up_again(browser, owner, reader, collection):
    document = collection.documents.get()
    path = f"/manage/documents/{document.uid}/sharing"
    client = browser(owner)
    page = text_of(client.get(path))
    assert "from its collection" in page
    form = row(reader, "remove") | {"mode": "own"}
    assert "1 person loses sight of 1 document" in text_of(client.post(path, form | {"do": "review"}))
    assert client.post(path, form | {"do": "save"}).status_code == 302
    assert browser(reader).get(f"/manage/documents/{document.uid}").status_code == 404
    back = client.post(path, {"mode": "collection", "do": "save"})
    assert "1 person gains sight of 1 document" in text_of(back)
    assert client.post(path, {"mode": "collection", "confirm": back.context["confirm"]}).status_code == 302
    assert browser(reader).get(f"/manage/documents/{document.uid}").status_code == 200


def test_documents_with_lists_of_their_own_are_told_apart(browser, owner, reader, collection, path):
    other = make_document(collection, title="Pay")
    services.share_document(actor=principal_of(owner), document=other, grants=[])
    page = text_of(browser(owner).post(path, row(reader, "remove") | {"do": "review"}))
    assert "1 person loses sight of 1 document" in page
    assert "1 document is not affected" in page


def test_readers_and_outsiders_do_not_get_the_page(browser, reader, outsider, path):
    assert browser(reader).get(path).status_code == 403
    assert browser(outsider).get(path).status_code == 404
    assert Collection.objects.exists()
