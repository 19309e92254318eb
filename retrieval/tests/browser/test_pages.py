"""Every page and state, in both languages and appearances, wide and narrow, held against everything in `gates.py`.

Chinese pages are opened wide and English ones narrow; each is loaded once, and then resized to see that it fits.

One page alone: `.venv/bin/python -m pytest retrieval/tests/browser/test_pages.py -k "source_page and zh"`.
A failure lists all that is wrong. What a page is opened with stands in `pages.py`.
"""

import re
from contextlib import ExitStack

import pytest

from kb_platform.policies import routes
from retrieval.tests.browser import gates
from retrieval.tests.browser.pages import NO_PAGES, PAGES, STATES, stand_ins

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]  # the first one waits for the scenery
WIDE, NARROW, SMALLEST = (1440, 900), (390, 844), (gates.SMALLEST_WIDTH, 844)
HOW = "add it to PAGES in retrieval/tests/browser/pages.py, or to NO_PAGES if it gives no whole page"
PARAMETER = re.compile(r"<[^>]+>")
EXAMPLES = {**PAGES, **STATES}


@pytest.mark.parametrize("look", ["zh", "en"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_page_passes_every_gate(name, look, visit):
    example = EXAMPLES[name]
    opened, other = (WIDE, NARROW) if look == "zh" else (NARROW, WIDE)
    with ExitStack() as broken, visit(example.who, look) as shown:
        for stand_in in stand_ins(example):
            broken.enter_context(stand_in)
        problems = [*shown.open(example, *opened), *gates.foreign_words(shown.page)]
        if not example.foreign:
            problems += gates.accessibility(shown.page) + gates.too_heavy(shown.page)
        for width, height in (opened, other, SMALLEST):
            shown.page.set_viewport_size({"width": width, "height": height})
            problems += [f"{width} px: {problem}" for problem in gates.sideways(shown.page, width)]
    if problems:
        pytest.fail("\n".join([f"{name} ({example.path}), {look}:", *problems]), pytrace=False)


def test_the_first_load_of_a_conversation_is_light(visit):
    with visit("keeper", "en") as shown:
        shown.open(PAGES["conversation"], *WIDE)
        assert sum(gates.weights(shown.page).values()) <= gates.FIRST_LOAD_BYTES


def test_every_page_has_an_example(visit):
    declared = [route for route in routes() if not route.pattern.startswith(("api/v1/", "static"))]
    names = {route.name for route in declared}
    with visit("keeper", "en") as shown:
        unknown = {
            route.name: route.pattern
            for route in declared
            if route.name not in (*PAGES, *NO_PAGES)
            and shown.status(PARAMETER.sub("1", route.pattern)) != 405
        }
    assert not unknown, f"new pages, {HOW}: {unknown}"
    assert set(PAGES) | set(NO_PAGES) <= names, "these routes are gone: take them out of pages.py"
