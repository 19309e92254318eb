"""Chromium, something to ask about, and a signed-in page on the site behind a real uvicorn."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import setup_databases
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from accounts.models import User
from ingestion.indexing import tables
from ingestion.testing import use_hashing_embedder
from kb_platform.testing.asgi import AsgiSite, serve
from retrieval.tests.browser.gates import Complaints
from retrieval.tests.browser.pages import Example, nothing
from retrieval.tests.browser.scenery import Scenery, build

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
        page.wait_for_load_state()  # the modules have run: Enter sends from here on
        return page

    yield sign_in
    for context in contexts:
        context.close()
    assert not complaints


# --- the walk through all pages: one scenery and one site for all of it ------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    language: str
    locale: str
    theme: Literal["light", "dark"]


LOOKS = {
    "zh": Look(language="zh-hans", locale="zh-CN", theme="light"),
    "en": Look(language="en", locale="en-GB", theme="dark"),
}


def _ensure_database() -> None:
    """pytest-django has made it already where other tests of the run need one. It goes with the run's PostgreSQL."""
    if not connection.settings_dict["NAME"].startswith("test_"):
        setup_databases(verbosity=0, interactive=False)


@pytest.fixture(scope="module")
def scenery(django_db_setup, django_db_blocker, tmp_path_factory) -> Iterator[Scenery]:
    """Rows that outlive single tests; the tables are emptied after the module."""
    with (
        django_db_blocker.unblock(),
        override_settings(BLOB_DIR=tmp_path_factory.mktemp("blobs")),
        use_hashing_embedder() as embedder,
    ):
        _ensure_database()
        try:
            yield build(embedder)
        finally:
            tables.drop_tables(1)
            call_command("flush", verbosity=0, interactive=False)


@pytest.fixture(scope="module")
def whole_site(scenery) -> Iterator[AsgiSite]:
    with serve() as running:
        yield running


class Shown:
    """A page of one visitor; `open` loads an example and returns what the browser complains of."""

    def __init__(self, page: Page, base: str, scenery: Scenery) -> None:
        self.page, self._base, self._ids = page, base, scenery.ids
        self._complaints = Complaints(page)

    def open(self, example: Example, width: int, height: int) -> list[str]:
        self._complaints.clear()
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.goto("about:blank")  # an address that differs in its #part alone would not be loaded again
        response = self.page.goto(self._base + example.path.format(**self._ids))
        assert response
        example.act(self.page)
        wrong = response.status != example.status
        landed = urlsplit(self.page.url).path
        moved = example.act is nothing and landed != urlsplit(example.path.format(**self._ids)).path
        return [
            *([f"status {response.status}, not {example.status}"] if wrong else []),
            *([f"led to {landed}"] if moved else []),
            *self._complaints,
        ]

    def status(self, path: str) -> int:
        """What a GET answers, without showing it."""
        return self.page.request.get(f"{self._base}/{path}", max_redirects=0).status


@pytest.fixture(scope="module")
def contexts(chromium) -> Iterator[dict]:
    """Browser contexts by visitor and look, made when first needed."""
    made: dict = {}
    yield made
    for context in made.values():
        context.close()


@pytest.fixture
def visit(chromium, whole_site, scenery, contexts) -> Callable:
    """`with visit(who, look) as shown:` a page of that visitor, signed in, in that language and appearance."""

    @contextmanager
    def open_page(who: str, look_name: str) -> Iterator[Shown]:
        look = LOOKS[look_name]
        if (who, look_name) not in contexts:
            contexts[who, look_name] = _context(chromium, whole_site.url, getattr(scenery, who, None), look)
        User.objects.update(language=look.language, theme=look.theme)
        page = contexts[who, look_name].new_page()
        page.set_default_timeout(10_000)
        yield Shown(page, whole_site.url, scenery)
        page.close()

    return open_page


def _context(chromium: Browser, base: str, user: User | None, look: Look) -> BrowserContext:
    context = chromium.new_context(
        locale=look.locale, color_scheme=look.theme, reduced_motion="reduce", timezone_id="UTC"
    )
    cookies = {settings.LANGUAGE_COOKIE_NAME: look.language}
    if user:
        client = Client()
        client.force_login(user)
        cookies[settings.SESSION_COOKIE_NAME] = client.cookies[settings.SESSION_COOKIE_NAME].value
    context.add_cookies([{"name": name, "value": value, "url": base} for name, value in cookies.items()])
    return context
