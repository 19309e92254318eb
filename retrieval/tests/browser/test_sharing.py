"""Sharing a collection in a real Chromium: typing a name, staged changes, the confirmation."""

import pytest
from playwright.sync_api import expect

from accounts.permissions.grants import grants_of
from accounts.values import Permission

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]


def test_a_change_is_staged_summed_up_confirmed_and_then_holds(
    arrive, library, shelf, reader, outsider, site
):
    library.share(shelf.scope, reader, Permission.MANAGE)
    page = arrive(reader)
    page.goto(f"{site.url}/manage/collections/{shelf.uid}/sharing")
    page.get_by_role("textbox", name="Add people or groups").press_sequentially("outs")
    page.get_by_role("button", name="outsider").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 person gains sight of 1 document")).to_be_visible()
    level = page.get_by_label("Level for outsider")
    level.focus()
    level.select_option("contribute")
    expect(page.get_by_text("outsider may upload and edit")).to_be_visible()
    expect(level).to_be_focused()
    assert outsider.email not in {grant.email for grant in grants_of(shelf.scope)}
    page.get_by_role("button", name="Save access…").click()
    expect(page.get_by_role("heading", name="Open 1 document to 1 more person?")).to_be_focused()
    page.get_by_role("button", name="Save and open to 1 person").click()
    expect(page.get_by_text("Nothing yet.")).to_be_visible()
    assert {grant.permission for grant in grants_of(shelf.scope) if grant.email == outsider.email} == {
        Permission.CONTRIBUTE
    }
