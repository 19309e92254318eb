"""Sources beside the answer, in a real Chromium: the panel, its marks, its keys; copying; the list of conversations."""

import re

import pytest
from playwright.sync_api import expect

from retrieval.chat import service
from retrieval.models import Conversation, Message

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]
QUESTION = "What is the nightly hotel cap in Lisbon?"
PIXEL = b"RIFF\x1a\x00\x00\x00WEBPVP8L\r\x00\x00\x00/\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"


def box(page, top):
    return {"page": page, "x0": 60.0, "y0": top, "x1": 500.0, "y1": top + 20,
            "page_width": 595.0, "page_height": 842.0}  # fmt: skip


@pytest.fixture
def cited(library, reader, monkeypatch):
    """The address of an answer with two sources: a text, and a PDF passage that runs over two pages."""
    collection = library.collection("Handbook", reader)
    text = library.document(collection, "Travel", "Rail is second class.", "The cap is 145 euros.")
    paper = library.document(collection, "Contract", "Nights are billed.", "The term ends in May.")
    version = paper.active_version
    version.media_type, version.page_count = "application/pdf", 3
    version.save()
    version.elements.filter(order=1).update(page=1, boxes=[box(1, 790.0), box(2, 60.0)])
    monkeypatch.setattr("ingestion.rendering.page_images.page_image", lambda digest, page: PIXEL)
    conversation = Conversation.objects.create(user_id=reader.user_id, title="Caps")
    message = Message.objects.create(
        conversation=conversation, question="q", answer="A. [1] B. [2]", grounded=True
    )
    for n, document in enumerate((text, paper), start=1):
        message.citations.create(
            n=n,
            document=document,
            version=document.active_version,
            first_element=1,
            last_element=1,
            quote="q",
        )
    return f"/c/{conversation.uid}"


def test_a_source_that_does_not_come_is_told(arrive, site, cited, reader):
    page = arrive(reader, width=1440)
    page.goto(site.url + cited)
    page.evaluate("() => { window.fetch = () => Promise.reject(new TypeError('offline')); }")
    page.locator(".prose .cite").first.click()
    expect(page.get_by_text("The source could not be loaded.")).to_be_visible()
    expect(page.locator(".srcp")).to_be_hidden()


def test_a_chip_opens_its_source_beside_and_keys_step_through_the_citations(arrive, site, cited, reader):
    page = arrive(reader, width=1440)
    page.goto(site.url + cited)
    chip = page.locator(".prose .cite").first
    chip.click()
    panel = page.locator(".srcp")
    expect(panel.get_by_role("heading", name="Travel")).to_be_focused()
    expect(panel.locator(".hit.on")).to_have_text("1The cap is 145 euros.")
    expect(chip).to_have_attribute("aria-current", "true")
    page.keyboard.press("]")
    expect(panel.get_by_role("heading", name="Contract")).to_be_visible()
    expect(panel.locator(".pg")).to_have_count(2)
    expect(panel.locator(".pg .hlg.on")).to_have_count(2)
    expect(panel.get_by_text("source 2 of 2")).to_be_visible()
    for _ in range(2):
        panel.get_by_role("button", name="Zoom in").click()
    expect(panel.locator("[data-zoomv]")).to_have_text("200%")
    panel.get_by_role("link", name="Text", exact=True).click()
    expect(panel.locator(".hit.on")).to_be_visible()
    page.keyboard.press("[")
    expect(panel.get_by_role("heading", name="Travel")).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(chip).to_be_focused()


def test_a_phone_shows_the_source_as_a_sheet_that_opens_with_the_text(arrive, site, cited, reader):
    page = arrive(reader, width=390)
    page.goto(site.url + cited)
    page.locator(".src").last.click()
    panel = page.locator(".srcp")
    expect(panel.get_by_role("region", name="Text")).to_be_visible()
    expect(panel.get_by_role("region", name="Page")).to_be_hidden()
    expect(page.locator(".conv")).to_have_attribute("inert", "")
    panel.get_by_role("button", name="Close source").click()
    expect(page.locator(".conv")).not_to_have_attribute("inert", "")
    expect(page.locator(".src").last).to_be_focused()


def test_the_source_opens_as_a_page_of_its_own(arrive, site, cited, reader):
    page = arrive(reader, width=1440)
    page.goto(site.url + cited)
    page.locator(".prose .cite").last.click()
    page.get_by_role("link", name="Open as page").click()
    expect(page).to_have_url(re.compile("/d/"))
    expect(page.locator(".pg .hlg.on")).to_have_count(2)
    page.keyboard.press("[")
    expect(page.get_by_role("heading", name="Travel")).to_be_visible()


def test_an_answer_is_copied_with_its_sources_and_judged(arrive, site, shelf, reader):
    page = arrive(reader)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{site.url}/c/{service.answer(QUESTION, principal=reader).conversation_uid}")
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("#live")).to_have_text("Copied, with its sources")
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert f"[1] Travel · p. 1 · {site.url}/d/" in copied
    page.get_by_role("button", name="Not helpful").click()
    page.get_by_role("button", name="It is outdated").click()
    expect(page.locator("#live")).to_have_text("Thank you, noted.")
    expect(page.get_by_role("button", name="It is outdated")).to_have_attribute("aria-pressed", "true")


def test_conversations_are_found_renamed_and_deleted(arrive, site, shelf, reader):
    service.answer(QUESTION, principal=reader)
    page = arrive(reader)
    page.get_by_role("link", name="All conversations").click()
    page.get_by_placeholder("Search titles and questions").fill("lisbon")
    page.keyboard.press("Enter")
    main = page.get_by_role("main")
    main.get_by_role("link", name=re.compile("^Rename")).click()
    expect(page.get_by_label("Name")).to_be_focused()
    page.get_by_label("Name").fill("Hotels")
    page.get_by_role("button", name="Save name").click()
    expect(page.get_by_role("heading", name="Hotels", level=1)).to_be_visible()
    page.get_by_role("link", name="Delete conversation").click()
    page.get_by_role("button", name="Delete conversation").click()
    expect(page.get_by_text("Deleted “Hotels”.")).to_be_visible()
    assert not Conversation.objects.exists()


def test_a_draft_waits_in_its_conversation_and_survives_the_end_of_the_session(
    arrive, shelf, reader, settings
):
    page = arrive(reader)
    field = page.get_by_label("Your question")
    page.wait_for_load_state()
    field.fill("Half a ques")
    page.reload()
    expect(field).to_have_value("Half a ques")
    field.fill(QUESTION)
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    field.press("Enter")
    expect(page.get_by_text("Your draft is kept; sign in again.").first).to_be_visible()
    expect(field).to_have_value(QUESTION)
    expect(page.get_by_role("link", name="Sign in")).to_have_attribute("href", re.compile("next=%2F"))
