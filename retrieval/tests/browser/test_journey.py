"""The way through the product in a real Chromium, under the production content policy."""

import re

import pytest
from playwright.sync_api import expect

from accounts.models import User
from accounts.values import Permission
from ingestion.models import Document

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]
QUESTION = "What is the nightly hotel cap in Lisbon?"


def test_a_reader_asks_and_opens_the_cited_passage(arrive, shelf, reader):
    page = arrive(reader)
    page.get_by_label("Your question").fill(QUESTION)
    page.get_by_label("Your question").press("Enter")
    answer = page.get_by_role("article", name="Answer")
    expect(answer).to_contain_text("145 euros.")
    expect(page).to_have_url(re.compile(r"/c/[0-9a-f-]{36}$"))
    answer.get_by_role("link", name="Source 1").click()
    expect(page.locator("#passage")).to_have_text("1The nightly hotel cap in Lisbon is 145 euros.")
    expect(page.locator("#passage")).to_be_in_viewport()
    page.get_by_role("link", name="Open as page").click()
    page.get_by_role("link", name="Back to the answer").click()
    expect(page.get_by_role("article", name="Answer")).to_contain_text("145 euros.")


def test_a_reader_searches_and_learns_why(arrive, shelf, reader):
    page = arrive(reader)
    page.keyboard.press("Control+k")
    page.get_by_role("textbox", name="Search").fill("hotel cap")
    page.keyboard.press("Enter")
    expect(page.locator("mark").first).to_have_text("hotel")
    page.get_by_text("Why this result").first.click()
    expect(page.get_by_text("Keywords: rank 1").first).to_be_visible()


def test_an_outsider_meets_no_trace_of_it(arrive, shelf, outsider, site):
    page = arrive(outsider)
    page.get_by_label("Your question").fill(QUESTION)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_text("Not enough evidence")).to_be_visible()
    page.goto(f"{site.url}/search?q=hotel+cap")
    expect(page.get_by_text("Nothing found")).to_be_visible()
    expect(page.get_by_text("Handbook")).to_have_count(0)


def test_language_and_appearance_are_kept(arrive, shelf, reader):
    page = arrive(reader)
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.locator(".me summary").click()
    page.get_by_role("button", name="中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert User.objects.get(pk=reader.user_id).language == "zh-hans"


def test_a_contributor_uploads_and_sees_the_stages(arrive, library, shelf, reader, settings, tmp_path):
    settings.BLOB_DIR = tmp_path / "blobs"
    library.share(shelf.scope, reader, Permission.CONTRIBUTE)
    page = arrive(reader)
    page.get_by_role("link", name="Documents and access").click()
    notes = {"name": "notes.md", "mimeType": "text/markdown", "buffer": b"# Notes\n\nText."}
    page.set_input_files("input[name=files]", [notes])
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("heading", name="Upload into Handbook")).to_be_visible()
    expect(page.get_by_role("heading", name="1 file, 1 in processing")).to_be_visible()
    expect(page.get_by_role("list", name="Stages")).to_contain_text("waiting")
    assert Document.objects.filter(title="notes.md").exists()
    page.get_by_role("button", name="Cancel notes.md").click()
    expect(page.get_by_text("Cancelled: notes.md")).to_be_visible()


def test_no_page_scrolls_sideways_on_a_phone(arrive, shelf, reader, site):
    page = arrive(reader, width=390)
    uid = Document.objects.get().uid
    for path in ("/", "/search?q=hotel", f"/d/{uid}?from=1", "/manage/documents", "/manage/collections"):
        page.goto(site.url + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
