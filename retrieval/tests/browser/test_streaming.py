"""Streamed answers in a real Chromium, under the production content policy, from a real uvicorn."""

import re
import threading

import pytest
from playwright.sync_api import expect

from retrieval.chat import service, streaming
from retrieval.models import Message

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]
QUESTION = "What is the nightly hotel cap in Lisbon?"


@pytest.fixture
def held(monkeypatch):
    """Answers wait before their text until `held.set()`."""
    may_go, finish = threading.Event(), service.finish

    def wait_and_finish(asked, found):
        assert may_go.wait(30)
        return finish(asked, found)

    monkeypatch.setattr(service, "finish", wait_and_finish)
    yield may_go
    may_go.set()


def ask(page):
    page.get_by_label("Your question").fill(QUESTION)
    page.get_by_label("Your question").press("Enter")


def test_stages_are_told_before_the_answer_stands_with_its_sources(arrive, shelf, reader, held):
    page = arrive(reader)
    ask(page)
    expect(page.locator(".q")).to_have_text(QUESTION)
    expect(page.locator("[data-stage]")).to_have_text(re.compile(r"passages? found\. Writing…"))
    expect(page.locator("#live")).to_have_text(re.compile("found"))
    expect(page).to_have_url(re.compile(r"/c/[0-9a-f-]{36}$"))
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_hidden()
    held.set()
    answer = page.get_by_role("article", name="Answer")
    expect(answer).to_contain_text("145 euros.")
    expect(answer.get_by_role("link", name="Source 1")).to_be_visible()
    expect(answer.locator(".src")).to_contain_text("Travel")
    expect(answer).to_contain_text("Every statement has a source")
    expect(page.locator("#live")).to_have_text("The answer is ready.")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    answer.get_by_role("button", name="Helpful", exact=True).click()
    expect(answer.get_by_role("button", name="Helpful", exact=True)).to_have_attribute("aria-pressed", "true")


def test_stop_ends_the_answer_and_keeps_the_question(arrive, shelf, reader, held):
    page = arrive(reader)
    ask(page)
    expect(page.locator("[data-stage]")).to_contain_text("found")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped. The text above is incomplete").first).to_be_visible()
    assert Message.objects.get().state == Message.State.STOPPED
    held.set()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("article", name="Answer")).to_contain_text("145 euros.")


def test_a_page_loaded_again_takes_the_answer_up(arrive, shelf, reader, held):
    page = arrive(reader)
    ask(page)
    expect(page).to_have_url(re.compile(r"/c/[0-9a-f-]{36}$"))
    page.reload()
    expect(page.locator("[data-stage]")).to_contain_text("found")
    held.set()
    expect(page.get_by_role("article", name="Answer")).to_contain_text("145 euros.")
    assert Message.objects.count() == 1


def test_a_dropped_connection_is_taken_up_again(arrive, shelf, reader, held, monkeypatch):
    follow, calls = streaming.follow, []

    async def drop_first(uid, *, after, **how):
        calls.append(after)
        async for chunk in follow(uid, after=after, **how):
            yield chunk
            if len(calls) == 1:
                return

    monkeypatch.setattr(streaming, "follow", drop_first)
    page = arrive(reader)
    ask(page)
    expect(page.locator("[data-stage]")).to_contain_text("found")
    held.set()
    expect(page.get_by_role("article", name="Answer")).to_contain_text("145 euros.")
    assert calls == [0, 1]


def test_a_failed_answer_says_so_and_can_be_tried_again(arrive, shelf, reader, monkeypatch):
    finish, failures = service.finish, [RuntimeError("secret")]

    def fail_once(asked, found):
        if failures:
            raise failures.pop()
        return finish(asked, found)

    monkeypatch.setattr(service, "finish", fail_once)
    page = arrive(reader)
    ask(page)
    expect(page.get_by_text("Something went wrong").first).to_be_visible()
    expect(page.get_by_text("secret")).to_have_count(0)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("article", name="Answer")).to_contain_text("145 euros.")
    expect(page.locator(".turn")).to_have_count(1)


def test_the_view_follows_only_near_its_end(arrive, site, shelf, reader, held):
    uid = service.answer(QUESTION, principal=reader).conversation_uid
    for _ in range(11):
        service.answer(QUESTION, principal=reader, conversation=uid)
    page = arrive(reader)
    page.goto(f"{site.url}/c/{uid}")
    ask(page)
    expect(page.locator("[data-stage]")).to_contain_text("found")
    top = "document.querySelector('.msgs').scrollTop"
    page.evaluate(f"{top} = 0")
    held.set()
    expect(page.locator("#live")).to_have_text("The answer is ready.")
    assert page.evaluate(top) == 0
    ask(page)
    expect(page.locator(".turn")).to_have_count(14)
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    box = "document.querySelector('.msgs')"
    assert page.evaluate(f"{box}.scrollHeight - {box}.scrollTop - {box}.clientHeight") < 120
