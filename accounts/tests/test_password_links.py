import re

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import PasswordLink
from accounts.password_links import make_link
from accounts.principals import principal_of
from accounts.services import deactivate_user
from accounts.values import SystemActor
from kb_platform.errors import Conflict, NotAllowed
from kb_platform.models import AuditEntry

pytestmark = pytest.mark.django_db
NEW = "another long phrase"


@pytest.fixture
def path(browser, administrator, reader):
    page = browser(administrator).post(f"/system/users/{reader.pk}/password-link").content.decode()
    return re.search(r"/new-password/[\w-]+", page)[0]


def test_the_link_sets_a_password_once_and_ends_all_sessions(browser, reader, path):
    session = browser(reader)
    assert Client().post(path, {"password": NEW}).status_code == 302
    reader.refresh_from_db()
    assert reader.check_password(NEW)
    assert session.get("/account").status_code == 302
    assert Client().get(path).status_code == 410
    assert set(AuditEntry.objects.values_list("action", flat=True)) >= {
        "password_link.created",
        "password_link.used",
    }


def test_the_present_password_holds_until_then_and_the_key_is_not_kept(reader, password, path):
    assert reader.check_password(password)
    assert path.rpartition("/")[2] not in PasswordLink.objects.get().key_hash


def test_a_weak_password_is_refused_and_the_link_stays(path):
    assert Client().post(path, {"password": "short"}).status_code == 400
    assert Client().get(path).status_code == 200


def test_an_old_link_a_replaced_one_and_one_of_a_deactivated_account_end(administrator, reader, path):
    newer = make_link(actor=principal_of(administrator), user=reader)
    assert Client().get(path).status_code == 410
    assert Client().get(f"/new-password/{newer}").status_code == 200
    PasswordLink.objects.update(expires_at=timezone.now())
    assert Client().get(f"/new-password/{newer}").status_code == 410
    newest = make_link(actor=principal_of(administrator), user=reader)
    deactivate_user(actor=SystemActor(name="tests"), user=reader)
    assert Client().get(f"/new-password/{newest}").status_code == 410
    reader.refresh_from_db()
    with pytest.raises(Conflict):
        make_link(actor=principal_of(administrator), user=reader)


def test_a_link_ends_with_the_password_it_was_to_replace(administrator, browser, reader, password, path):
    form = {"current": password, "password": NEW}
    assert browser(reader).post("/account/password", form).status_code == 302
    assert Client().get(path).status_code == 410


def test_only_administrators_make_links(reader, outsider):
    with pytest.raises(NotAllowed):
        make_link(actor=principal_of(outsider), user=reader)
