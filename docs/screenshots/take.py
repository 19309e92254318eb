"""Pictures of every page, from a real site with the samples and a small cast: `make screenshots`.

Starts the whole site on a temporary data folder, fills it through the pages and the API as people would, and writes WebP
files beside this module: <page>-<width>-<language>-<theme>.webp. The pages are those the browser tests walk.
"""

import io
import re
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import django

django.setup()

from PIL import Image  # noqa: E402
from playwright.sync_api import APIRequestContext, Browser, Page, Playwright, sync_playwright  # noqa: E402

from kb_platform.testing.site import RunningSite, becomes, sites  # noqa: E402
from retrieval.tests.browser.conftest import ARGUMENTS, CHROMIUM  # noqa: E402
from retrieval.tests.browser.pages import PAGES, STATES, nothing  # noqa: E402
from retrieval.tests.browser.visitor import Visitor  # noqa: E402

HERE = Path(__file__).parent
PASSWORD = "a long phrase for pictures"
DOMAIN = "polaris.example"
EMAIL = f"lin.yue@{DOMAIN}"
LOOKS = {"en-light": ("en-GB", "light"), "zh-dark": ("zh-CN", "dark")}
SIZES = {1440: 900, 390: 844}
# These in every look and size; of the others one wide picture in English and one narrow in Chinese.
MAIN = {
    "ask",
    "conversation",
    "source_page",
    "search",
    "library",
    "library_collection",
    "documents",
    "document",
    "upload_batch",
    "collections",
    "collection_sharing",
    "processing",
    "settings",
}
EXTRA = ("refusal", "document-failed", "404")
# Where the plain example would not show what the page is for.
INSTEAD = {"source_page": "{citation}", "search": "/search?q={q}"}
FEWER = ((1440, "en-light"), (390, "zh-dark"))
SCAN = "scan-delivery-note.pdf"
MOST_BYTES, LOWEST_QUALITY = 45_000, 40
# In each language a conversation, the first answer of which is opened at its source, and a question without an answer.
CHAT = {
    "en": ("What does error E103 on the PL-300 mean?", "How long is the warranty on a C-20 centrifuge?"),
    "zh": ("离心机报 E201 怎么处理？", "转正申请需要哪些材料？"),
}
REFUSED = {"en": "Who won the football match on Sunday?", "zh": "周日的足球赛谁赢了？"}
NOTES = {
    "visit-report-hangzhou.md": "# Visit report: Hangzhou\n\nThe lamp of the PL-300 was exchanged after 1,540 hours. "
    "The customer asked for a spare fan filter.\n\n## Next visit\n\nIn spring, together with the yearly calibration.",
    "C-20 巡检记录.md": "# C-20 巡检记录\n\n门封条完好，转子锁紧力矩为 12 N·m。\n\n## 待办\n\n下次巡检前更换减震垫。",
    "spare-parts.md": "# Spare parts on the van\n\n| Part | Pieces |\n|---|---|\n| Fan filter | 5 |\n| Door seal | 2 |",
}


ENDED = {"live", "partly_live", "rejected", "quarantined", "cancelled"}


class Api:
    """The site's API as one person."""

    def __init__(self, playwright: Playwright, site: RunningSite, email: str) -> None:
        said = site.command("create_token", "--user", email, "--name", "Intranet search", stdout=-1)
        token = said.communicate(timeout=60)[0].strip()
        self._calls: APIRequestContext = playwright.request.new_context(
            base_url=site.address, extra_http_headers={"Authorization": f"Bearer {token}"}
        )

    def get(self, path: str) -> dict:
        answer = self._calls.get(f"/api/v1/{path}")
        assert answer.ok, answer.text()
        return answer.json()

    def post(self, path: str, **body: object) -> dict:
        answer = self._calls.post(f"/api/v1/{path}", data=body)
        assert answer.ok, answer.text()
        return answer.json()

    def put(self, path: str, **body: object) -> dict:
        answer = self._calls.put(f"/api/v1/{path}", data=body)
        assert answer.ok, answer.text()
        return answer.json()

    def upload(self, collection: str, name: str, content: bytes) -> dict:
        file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        answer = self._calls.post("/api/v1/documents", multipart={"collection": collection, "file": file})
        assert answer.ok, answer.text()
        return answer.json()

    def documents(self) -> list[dict]:
        return self.get("documents?page_size=100")["results"]

    def is_idle(self) -> bool:
        """Whether no file is being worked on."""
        return all(row["latest_version"]["state"] in ENDED for row in self.documents())


def picture_only_pdf() -> bytes:
    """A scan: pages without text, which are refused with a sentence on what to do."""
    out = io.BytesIO()
    Image.new("L", (600, 800), 235).save(out, "PDF")
    return out.getvalue()


def fill(root: Api, visitor: Visitor, site: RunningSite) -> dict[str, str]:
    """People, groups, a shared collection and a failed file; ids by the names that PAGES uses."""
    people = {
        name: root.post("users", email=f"{email}@{DOMAIN}", name=name, password=PASSWORD)["id"]
        for name, email in (
            ("Jonas Weber", "jonas.weber"),
            ("陈思远", "chen.siyuan"),
            ("Priya Nair", "priya.nair"),
            ("王小明", "wang.xiaoming"),
        )
    }
    team = root.post(
        "groups", name="Service engineers 服务工程师", members=[people["Jonas Weber"], people["陈思远"]]
    )
    root.post("groups", name="Laboratory 实验室", members=[people["Priya Nair"]])
    notes = root.post(
        "collections",
        name="Service notes 服务记录",
        description="Visits, repairs and spare parts. 现场服务、维修与备件。",
    )["id"]
    mine = root.get("me")["id"]
    grants: list[dict[str, object]] = [
        {"user": mine, "permission": "manage"},
        {"group": team["id"], "permission": "contribute"},
        {"user": people["Priya Nair"], "permission": "view", "expires_at": "2030-06-30T00:00:00Z"},
    ]
    root.put(f"collections/{notes}/grants", grants=grants)
    assert becomes(root.is_idle, timeout_s=240), site.output
    batch = upload_by_page(visitor, notes)
    assert becomes(root.is_idle), site.output
    name = "spare-parts.md"
    failed = next(row["id"] for row in root.documents() if row["title"] == SCAN)
    versions = root.upload(notes, name, (NOTES[name] + "\n| Lamp | 1 |").encode())
    assert becomes(root.is_idle), site.output

    return {
        "collection": notes,
        "batch": batch,
        "failed": failed,
        "versions": versions["id"],
        "waiting": failed,
        "user": people["陈思远"],
        "group": team["id"],
    }


def upload_by_page(visitor: Visitor, collection: str) -> str:
    """The batch's uid; one of its files cannot be read."""
    with TemporaryDirectory() as folder:
        for name, text in NOTES.items():
            Path(folder, name).write_text(text)
        Path(folder, SCAN).write_bytes(picture_only_pdf())
        visitor.upload(collection, sorted(Path(folder).iterdir()))
    return visitor.page.url.rstrip("/").rpartition("/")[2]


def ask(api: Api, language: str) -> dict[str, str]:
    """Ids of what pictures in this language show."""
    refused = api.post("chat", question=REFUSED[language])
    first, *further = CHAT[language]
    answer = api.post("chat", question=first)
    for question in further:
        api.post("chat", question=question, conversation=answer["conversation"])
    cited = answer["citations"][0]
    return {
        "refused": refused["conversation"],
        "conversation": answer["conversation"],
        "message": answer["message"],
        "pdf": cited["document_id"],
        "document": cited["document_id"],
        "citation": cited["url"].replace("#", f"&cite={answer['message']}#"),
        "q": {"en": "calibration", "zh": "校准"}[language],
    }


def first_start(browser: Browser, site: RunningSite) -> Visitor:
    """The page that is there only once, pictured and used: the administrator, signed in."""
    found = re.search(r"/first-start/\S+", site.output)
    assert found, site.output
    for width, look in FEWER:
        page = new_page(browser, width, look)
        page.goto(site.address + found[0])
        save(page.screenshot(), "first_start", width, look)
    visitor = Visitor(page=page, base=site.address)
    visitor.submit(name="Lin Yue 林悦", email=EMAIL, password=PASSWORD)
    return visitor


def new_page(browser: Browser, width: int, look: str) -> Page:
    locale, theme = LOOKS[look]
    context = browser.new_context(
        viewport={"width": width, "height": SIZES[width]},
        locale=locale,
        color_scheme=theme,
        reduced_motion="reduce",
    )
    return context.new_page()


def addresses(ids: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Name, path and who of each page that this site can show."""
    for name, example in {**PAGES, **{extra: STATES[extra] for extra in EXTRA}}.items():
        if name == "first_start" or example.act is not nothing or example.foreign:
            continue
        try:
            path = INSTEAD.get(name, example.path).format(**ids)
        except KeyError as missing:
            print(f"  no picture of {name}: add {missing} to fill() in {__file__}")
        else:
            yield name, path, example.who


def save(png: bytes, name: str, width: int, look: str) -> None:
    quality, out = 80, b""
    while not out or (len(out) > MOST_BYTES and quality > LOWEST_QUALITY):
        quality -= 10
        file = io.BytesIO()
        Image.open(io.BytesIO(png)).convert("RGB").save(file, "WEBP", quality=quality, method=6)
        out = file.getvalue()
    (HERE / f"{name.replace('_', '-')}-{width}-{look}.webp").write_bytes(out)


def take(browser: Browser, site: RunningSite, ids: dict[str, dict[str, str]]) -> None:
    for look in LOOKS:
        for width in SIZES:
            signed_in = new_page(browser, width, look)
            Visitor(page=signed_in, base=site.address).sign_in(EMAIL, PASSWORD)
            anonymous = new_page(browser, width, look)
            for name, path, who in addresses(ids[look]):
                if name in MAIN or (width, look) in FEWER:
                    page = signed_in if who else anonymous
                    page.goto(site.address + path, wait_until="networkidle")
                    save(page.screenshot(), name, width, look)


def main() -> None:
    began = time.monotonic()
    for old in HERE.glob("*.webp"):
        old.unlink()
    with sites(KB_SAMPLES="1") as start, sync_playwright() as playwright:
        site = start()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        visitor = first_start(browser, site)
        root = Api(playwright, site, EMAIL)
        common = fill(root, visitor, site)
        ids = {look: common | ask(root, look[:2]) for look in LOOKS}
        print(f"The site is filled after {time.monotonic() - began:.0f} s")
        take(browser, site, ids)
        browser.close()
    files = list(HERE.glob("*.webp"))
    total = sum(path.stat().st_size for path in files)
    print(f"{len(files)} pictures, {total / 1e6:.1f} MB, in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
