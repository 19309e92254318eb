"""What holds for every page, as functions of an open page that return sentences about what is wrong."""

import gzip
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import polib
from axe_playwright_python.base import AXE_SCRIPT
from django.conf import settings
from django.contrib.staticfiles import finders
from playwright.sync_api import ConsoleMessage, Page

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
CSS_BYTES, JS_BYTES, FIRST_LOAD_BYTES = 15_000, 40_000, 60_000
SMALLEST_WIDTH = 320
LANGUAGE_NAMES = {"English", "中文", "简体中文"}  # each in its own language, wherever one chooses
TELL_VIOLATIONS = """addEventListener('securitypolicyviolation', event =>
  console.error(`content policy: ${event.violatedDirective} blocked ${event.blockedURI} ${event.sample}`))"""
RUN_AXE = """async rules => (await axe.run({
  runOnly: { type: 'tag', values: rules }, resultTypes: ['violations'], elementRef: false
})).violations.flatMap(found => found.nodes.slice(0, 3).map(node =>
  `${found.id} (${found.nodes.length}): ${node.target.join(' ')}  ${node.html.slice(0, 120)}  ${(node.failureSummary || '').replace(/\\s+/g, ' ').slice(0, 200)}`))"""
# Text as people meet it, each with the language that it is marked with; what is hidden counts too, it may open.
VISIBLE_TEXT = """() => {
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const add = (text, element) => { if (text?.trim()) found.push([text.trim().replace(/\\s+/g, ' '), element.closest('[lang]').lang]); };
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!parent.closest('script, style')) add(walker.currentNode.data, parent);
  }
  for (const element of document.querySelectorAll('[aria-label], [placeholder], [title], input[type=submit]'))
    for (const name of ['aria-label', 'placeholder', 'title']) add(element.getAttribute(name), element);
  add(document.title.split(' · ')[0], document.documentElement);
  return found;
}"""
SIDEWAYS = """width => [...document.querySelectorAll('body *')]
  .filter(element => element.getBoundingClientRect().right > width + 0.5 && element.checkVisibility()
    && !element.closest('.tabs, .scroll-x'))
  .map(element => element.tagName.toLowerCase() + '.' + element.className).slice(0, 4)"""
ADDRESSES = "() => performance.getEntriesByType('resource').map(entry => entry.name)"


class Complaints(list[str]):
    """What the browser says of a page: its content policy, errors of scripts, files that are missing."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        page.add_init_script(TELL_VIOLATIONS)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.append(f"script: {error}"))

    def _hear(self, message: ConsoleMessage) -> None:
        is_page_itself = (
            "Failed to load resource" in message.text and message.location["url"] == message.page.url
        )
        if message.type == "error" and not is_page_itself:  # the page's own status is looked at by the test
            self.append(f"console: {message.text} {message.location['url']}")


def accessibility(page: Page) -> list[str]:
    """Violations that axe finds. The inspector runs it, so that the page's content policy stays as it is."""
    page.evaluate(AXE_SCRIPT)
    return [f"axe {violation}" for violation in page.evaluate(RUN_AXE, RULES)]


def sideways(page: Page, width: int) -> list[str]:
    over = page.evaluate("document.documentElement.scrollWidth") - width
    return [f"scrolls sideways by {over} px: {page.evaluate(SIDEWAYS, width)}"] if over > 0 else []


# --- weight -----------------------------------------------------------------------------------------------


@cache
def gzipped(name: str) -> int:
    """Bytes of a static file as it travels."""
    found = finders.find(name)
    assert isinstance(found, str), name
    return len(gzip.compress(Path(found).read_bytes(), 9))


def weights(page: Page) -> dict[str, int]:
    """Gzipped bytes by kind, `css` and `js`, of what the page has really loaded."""
    sums = {"css": 0, "js": 0}
    for address in {urlsplit(url).path for url in page.evaluate(ADDRESSES)}:
        kind = {"css": "css", "js": "js", "mjs": "js"}.get(address.rpartition(".")[2], "")
        if kind:
            sums[kind] += gzipped(address.removeprefix("/" + settings.STATIC_URL.strip("/") + "/"))
    return sums


def too_heavy(page: Page) -> list[str]:
    limits = {"css": CSS_BYTES, "js": JS_BYTES}
    return [
        f"{kind} weighs {size} bytes, more than {limits[kind]}"
        for kind, size in weights(page).items()
        if size > limits[kind]
    ]


# --- language ---------------------------------------------------------------------------------------------


class Wording:
    """Texts of the interface in one language, to be found on pages in the other one."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._plain: set[str] = set()
        shapes = []
        for text in texts:
            if "%" not in text:
                self._plain.add(" ".join(text.split()))
            elif len(re.sub(r"%(\(\w+\))?\w|\W", "", text)) >= 6:  # enough letters besides its places
                shapes.append(_shape(text))
        self._shapes = re.compile("|".join(shapes))

    def __contains__(self, text: str) -> bool:
        return text in self._plain or bool(self._shapes.fullmatch(text))


def _shape(text: str) -> str:
    parts = re.split(r"%(?:\(\w+\))?[sd]", " ".join(text.split()))
    return ".+".join(re.escape(part.replace("%%", "%")) for part in parts)


@cache
def wording(language: str) -> Wording:
    """The interface's texts in a language (`en`, `zh`) that differ in the other."""
    return Wording(english if language == "en" else chinese for english, chinese in _pairs())


def _pairs() -> Iterator[tuple[str, str]]:
    for entry in polib.pofile(str(settings.LOCALE_PATHS[0] / "zh_Hans/LC_MESSAGES/django.po")):
        chinese = [entry.msgstr, *entry.msgstr_plural.values()]
        english = [entry.msgid, entry.msgid_plural]
        yield from ((e, c) for e in english for c in chinese if e and c and e != c)


def foreign_words(page: Page) -> list[str]:
    """Texts of the interface in the language that the page is not in. What is marked as such by `lang` may stand."""
    own = "zh" if page.evaluate("document.documentElement.lang").startswith("zh") else "en"
    other = "en" if own == "zh" else "zh"
    texts = {text for text, marked in page.evaluate(VISIBLE_TEXT) if marked.startswith(own)}
    return [
        f"in {other}: {text!r}"
        for text in sorted(texts)
        if text in wording(other) and text not in LANGUAGE_NAMES
    ]
