"""One person at a browser, who does what people do by the pages' own controls, in whatever language they are in."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

PATIENCE_MS = 120_000  # for work of the workers; everything else answers at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    page: Page
    base: str

    def open(self, path: str) -> None:
        self.page.goto(self.base + path)

    def submit(self, **fields: str) -> None:
        """Fill the page's main form by the names of its fields, and send it."""
        form = self.page.locator("main form[method=post]").filter(
            has=self.page.locator(f"[name={next(iter(fields))}]")
        )
        for name, value in fields.items():
            form.locator(f"[name={name}]").fill(value)
        with self.page.expect_navigation():
            form.locator("button.btn-p, button:not([type=button]):not([name])").first.click()

    def sign_in(self, email: str, password: str) -> None:
        self.open("/login")
        self.submit(email=email, password=password)
        expect(self.page.locator("textarea[name=question]")).to_be_visible()

    def add_person(self, *, name: str, email: str, password: str) -> None:
        self.open("/system/users/new")
        self.submit(name=name, email=email, password=password)

    def add_collection(self, name: str, description: str = "") -> str:
        """The new collection's uid."""
        self.open("/manage/collections/new")
        self.submit(name=name, description=description)
        return self.page.url.rstrip("/").split("/")[-2]

    def upload(self, collection: str, files: Sequence[Path]) -> None:
        """Send files one by one, as the page does, and land on the page of the batch."""
        self.open(f"/manage/documents/upload?collection={collection}")
        form = self.page.locator("#upload")
        form.locator("[name=files]").set_input_files([str(path) for path in files])
        form.locator("[data-send]").click()
        self.page.wait_for_url("**/manage/uploads/*")
        expect(self.page.locator("#batch .ups > li")).to_have_count(len(files))

    def wait_for_states(self, collection: str, *, live: int, failed: int = 0) -> None:
        """The page of a batch comes to its end by itself; then so many documents are searchable and refused."""
        expect(self.page.locator("#batch[hx-trigger]")).to_have_count(0, timeout=PATIENCE_MS)
        self.open(f"/manage/documents?collection={collection}")
        rows = self.page.locator("#document-list tbody")
        expect(rows.locator(".tag.t-ok")).to_have_count(live)
        expect(rows.locator(".tag.t-bad")).to_have_count(failed)

    def share(self, collection: str, email: str, *, permission: str = "view") -> None:
        self.open(f"/manage/collections/{collection}/sharing")
        self.page.locator("#add").fill(email)
        found = self.page.locator("#found button")
        expect(found).to_have_count(1)
        self.page.locator("#add-level").select_option(permission)
        expect(found).to_have_count(1)
        found.click()
        expect(self.page.locator(".chg-new")).to_be_visible()
        self.page.locator("#save").click()
        self.page.locator("#exposes [name=confirm]").click()
        expect(self.page.locator("#exposes")).to_have_count(0)
        expect(self.page.locator(".chg-new")).to_have_count(0)

    def ask(self, question: str) -> Locator:
        """The finished turn."""
        self.page.locator("textarea[name=question]").fill(question)
        self.page.locator("textarea[name=question]").press("Enter")
        turn = self.page.locator(".turn").last
        expect(turn.locator(".q")).to_have_text(question)
        expect(turn.locator(".acts, .note").first).to_be_visible(timeout=PATIENCE_MS)
        return turn
