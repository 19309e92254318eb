import re

import pytest

from kb_platform.runtime_config import store
from kb_platform.runtime_config.declarations import AREAS, SESSION_HOURS, SETTINGS, SITE_NAME

pytestmark = pytest.mark.django_db
PATH = "/system/settings/access"
FORM = {
    "access.session_hours": "12", "seen.access.session_hours": "12",
    "access.sign_in_attempts": "5", "seen.access.sign_in_attempts": "5",
    "access.longest_token_days": "365", "seen.access.longest_token_days": "365",
}  # fmt: skip


@pytest.fixture
def admin(browser, administrator):
    return browser(administrator)


def test_each_area_shows_every_setting_with_default_and_effect(admin):
    for area in AREAS:
        page = admin.get(f"/system/settings/{area.key}").content.decode()
        for setting in SETTINGS.values():
            assert (f'id="{setting.name}-h"' in page) == (setting.area == area.key)
    assert admin.get("/system/settings/nothing").status_code == 404


def test_saving_tells_who_changed_it_from_what_and_reset_brings_the_default_back(admin):
    page = admin.post(PATH, {**FORM, "access.session_hours": "4"}, follow=True).content.decode()
    assert "1 setting saved." in page
    assert re.search(r"Administrator · .*, was 12 hours", page)
    admin.post(PATH, {**FORM, "reset": "access.session_hours"})
    assert store.get(SESSION_HOURS) == 12


def test_bad_input_is_refused_at_its_field_and_nothing_typed_is_lost(admin):
    answer = admin.post(PATH, {**FORM, "access.session_hours": "soon", "access.sign_in_attempts": "7"})
    page = answer.content.decode()
    assert answer.status_code == 400
    assert 'value="soon"' in page
    assert 'value="7"' in page
    assert "Enter a whole number." in page
    assert store.get(SETTINGS["access.sign_in_attempts"]) == 5


def test_the_second_administrator_sees_the_first_ones_value_beside_her_own(admin, configure):
    configure(SESSION_HOURS, 4)
    answer = admin.post(PATH, {**FORM, "access.session_hours": "8"})
    page = answer.content.decode()
    assert answer.status_code == 409
    assert 'value="8"' in page
    assert "Present value: 4 hours" in page
    again = {**FORM, "access.session_hours": "8", "seen.access.session_hours": "4"}
    assert admin.post(PATH, again).status_code == 302
    assert store.get(SESSION_HOURS) == 8


def test_hostile_forms_change_nothing(admin):
    for odd in (
        {"seen.access.session_hours": "[" * 100_000},
        {"reset": "x"},
        {"access.session_hours": "\x00"},
    ):
        assert admin.post(PATH, {**FORM, **odd}).status_code in (302, 400, 409)
    assert store.get(SESSION_HOURS) == 12


def test_import_shows_what_changes_before_it_does(admin):
    text = "general:\n  site_name: 远川\n"
    page = admin.post("/system/settings/import", {"text": text}).content.decode()
    assert "<ins>远川</ins>" in page
    assert store.get(SITE_NAME) == ""
    admin.post("/system/settings/import", {"text": text, "confirmed": "1"})
    assert store.get(SITE_NAME) == "远川"
    assert "site_name: 远川" in admin.get("/system/settings/export").content.decode()
    assert admin.post("/system/settings/import", {"text": "a: {b: 1}"}).status_code == 400
