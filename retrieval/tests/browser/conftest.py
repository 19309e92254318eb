"""Chromium, something to ask about, and a signed-in page on the site behind a real uvicorn."""

import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
PASSWORD = "pw"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    assert CHROMIUM, "install Chromium: apt-get install chromium"
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")  # Playwright's loop runs in the tests' own thread
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def shelf(library, reader):
    collection = library.collection("Handbook", reader)
    library.document(
        collection, "Travel", "Rail is second class.", "The nightly hotel cap in Lisbon is 145 euros."
    )
    return collection


@pytest.fixture
def arrive(chromium, site) -> Iterator[Callable[..., Page]]:
    """`arrive(principal)`: a page of that person, just signed in. What the content policy blocks fails the test."""
    complaints: list[str] = []
    contexts = []

    def sign_in(principal, *, width: int = 1280) -> Page:
        context = chromium.new_context(viewport={"width": width, "height": 900}, locale="en-US")
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console", lambda message: complaints.append(message.text) if message.type == "error" else None
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(site.url)
        page.get_by_label("E-mail").fill(principal.email)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name=f"Hello, {principal.name}")).to_be_visible()
        return page

    yield sign_in
    for context in contexts:
        context.close()
    assert not complaints
