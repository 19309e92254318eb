"""The frame of the pages as a person with a keyboard meets it."""

import pytest
from playwright.sync_api import expect

from accounts.values import Permission

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_letters_open_the_list_of_shortcuts_outside_of_fields_only(arrive, reader, shelf):
    page = arrive(reader)
    page.goto(page.url.rstrip("/") + "/account")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_be_visible()
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    page.get_by_label("Name").focus()
    page.keyboard.press("?")
    expect(keys).to_be_hidden()
    page.get_by_label("Single-letter shortcuts").uncheck()
    page.get_by_label("Name").fill("Reader")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("html")).to_have_attribute("data-letters", "off")
    page.keyboard.press("?")
    expect(keys).to_be_hidden()


def test_the_save_bar_names_what_is_unsaved_and_goes_away_when_it_is_discarded(arrive, person):
    page = arrive(person("admin", is_superuser=True))
    page.goto(page.url.rstrip("/") + "/system/settings/access")
    bar = page.get_by_role("region", name="Unsaved changes")
    expect(bar).to_be_hidden()
    page.get_by_label("Sign out after").fill("4")
    expect(bar).to_contain_text("Sign out after")
    bar.get_by_role("button", name="Discard").click()
    expect(bar).to_be_hidden()
    page.get_by_label("Sign out after").fill("4")
    bar.get_by_role("button", name="Save settings").click()
    expect(page.get_by_text("1 setting saved.")).to_be_visible()
    expect(bar).to_be_hidden()


def test_the_list_of_documents_is_walked_chosen_and_opened_by_letters(arrive, library, shelf, person):
    keeper = person("keeper")
    library.share(shelf.scope, keeper, Permission.MANAGE)
    library.document(shelf, "Rail", "Grade P8 may take first class.")
    page = arrive(keeper)
    page.goto(page.url.rstrip("/") + "/manage/documents?sort=title")
    rail, travel = (page.get_by_role("link", name=name, exact=True) for name in ("Rail", "Travel"))
    page.keyboard.press("j")
    expect(rail).to_be_focused()
    page.keyboard.press("j")
    expect(travel).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("x")
    expect(page.get_by_label("Select Rail")).to_be_checked()
    expect(page.get_by_label("Select Travel")).not_to_be_checked()
    page.keyboard.press("o")
    expect(page.get_by_role("heading", name="Rail", level=1)).to_be_visible()
