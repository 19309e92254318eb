"""From the first start to a cited answer, on a site with all its processes: the workers, the model, PostgreSQL, Valkey."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from ingestion.samples.catalogue import FILES
from kb_platform.testing.site import RunningSite, sites
from retrieval.tests.browser.gates import Complaints
from retrieval.tests.browser.visitor import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]
ADMINISTRATOR, PASSWORD = "root@example.com", "a long phrase for tests"
GOOD = (
    "pl-300-user-manual.pdf",
    "warranty-and-returns.docx",
    "vpn-help-desk-guide.md",
    "laboratory-waste.zh.html",
)
LINK = re.compile(r"/first-start/\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One run of the journey: its look, and the names that make it its own on the shared site."""

    width: int
    height: int
    locale: str
    theme: str
    html_lang: str
    collection: str
    question: str
    answer: str


WAYS = {
    "en-wide-light": Way(
        width=1440,
        height=900,
        locale="en-GB",
        theme="light",
        html_lang="en",
        collection="Manuals",
        question="What does error E103 on the PL-300 mean?",
        answer="home position",
    ),
    "zh-phone-dark": Way(
        width=390,
        height=844,
        locale="zh-CN",
        theme="dark",
        html_lang="zh-Hans",
        collection="产品手册",
        question="PL-300 出现 E103 是什么意思？",
        answer="home position",
    ),
}


class Cast:
    """Opens browsers of different people with one look; `complaints` of all of them."""

    def __init__(self, browser: Browser, site: RunningSite, way: Way) -> None:
        self._browser, self._site, self._way = browser, site, way
        self._contexts: list[BrowserContext] = []
        self._heard: list[Complaints] = []

    def visitor(self) -> Visitor:
        context = self._browser.new_context(
            viewport={"width": self._way.width, "height": self._way.height},
            locale=self._way.locale,
            color_scheme=self._way.theme,
        )
        self._contexts.append(context)
        page = context.new_page()
        self._heard.append(Complaints(page))
        return Visitor(page=page, base=self._site.address)

    @property
    def complaints(self) -> list[str]:
        return [sentence for heard in self._heard for sentence in heard]

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture(scope="module")
def running() -> Iterator[RunningSite]:
    with sites() as start:
        yield start()


@pytest.fixture(scope="module")
def first_administrator(running, chromium) -> None:
    """Made by the link that the start prints, which then is of no use any more."""
    cast = Cast(chromium, running, WAYS["en-wide-light"])
    somebody = cast.visitor()
    link = LINK.search(running.output)[0]
    somebody.open(link)
    somebody.submit(name="Root", email=ADMINISTRATOR, password=PASSWORD)
    expect(somebody.page.locator("textarea[name=question]")).to_be_visible()
    latecomer = cast.visitor()
    assert latecomer.page.goto(running.address + link).status == 410
    assert not cast.complaints
    cast.close()


@pytest.fixture(params=WAYS)
def way(request) -> Way:
    return WAYS[request.param]


@pytest.fixture
def cast(running, first_administrator, chromium, way) -> Iterator[Cast]:
    made = Cast(chromium, running, way)
    yield made
    complaints = made.complaints
    made.close()
    assert not complaints


@pytest.fixture
def files(tmp_path) -> list[Path]:
    """Several kinds, and one that is broken."""
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 broken")
    return [*(FILES / name for name in GOOD), broken]


def test_from_an_empty_site_to_a_cited_answer_that_outsiders_do_not_get(cast, way, files):
    administrator = cast.visitor()
    administrator.sign_in(ADMINISTRATOR, PASSWORD)
    expect(administrator.page.locator("html")).to_have_attribute("lang", way.html_lang)
    people = [f"{name}-{way.width}@example.com" for name in ("employee", "outsider")]
    for email in people:
        administrator.add_person(name=email.partition("@")[0], email=email, password=PASSWORD)
    collection = administrator.add_collection(way.collection)
    administrator.upload(collection, files)
    administrator.wait_for_states(collection, live=len(GOOD), failed=1)
    administrator.share(collection, people[0])

    employee = cast.visitor()
    employee.sign_in(people[0], PASSWORD)
    turn = employee.ask(way.question)
    expect(turn).to_contain_text(way.answer)
    turn.locator(".cite").first.click()
    mark = employee.page.locator("#passage, .hlg.on .hl").filter(visible=True).first
    expect(mark).to_be_visible()
    expect(mark).to_be_in_viewport()

    outsider = cast.visitor()
    outsider.sign_in(people[1], PASSWORD)
    refused = outsider.ask(way.question)
    expect(refused.locator(".cite")).to_have_count(0)
    expect(refused).not_to_contain_text(way.answer)
    outsider.open("/search?q=E103")
    expect(outsider.page.get_by_text(way.collection)).to_have_count(0)
    assert outsider.page.request.get(employee.page.url).status == 404
