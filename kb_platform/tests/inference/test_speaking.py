"""Several models in order, their breakers, and the line before them."""

import asyncio
import threading
from contextlib import aclosing

import pytest

from kb_platform.inference import speaking
from kb_platform.inference.chat import BrokenOff, ChatMessage, ChatServer, Deadlines, Usage
from kb_platform.inference.speaking import InLine, Model, Piece, Spoken, speak
from kb_platform.net.addresses import read_hosts
from kb_platform.net.errors import BadStatus, Busy, CircuitOpen, Unreachable
from kb_platform.net.safe_http import Door
from kb_platform.testing.chat_server import STREAM, answering_with, event, streamed
from kb_platform.testing.http_server import Reply, free_port, http_server

QUICK = Deadlines(connect_s=1.0, first_s=0.5, stall_s=0.5, total_s=2.0)
HELLO = [ChatMessage(role="user", content="hello")]


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(speaking, "_breakers", {})
    monkeypatch.setattr(speaking, "PAUSE_S", 0.0)


def model(name, address, *, deadlines=QUICK, **more):
    door = Door(internal=read_hosts(address))
    server = ChatServer(url=f"http://{address}/v1", model=name, door=door, deadlines=deadlines)
    return Model(uid=name, name=name, server=server, **more)


def hear(*models):
    """(text, spoken, error or None)"""
    spoken, pieces = Spoken(), []

    async def run():
        async for news in speak(models, HELLO, spoken=spoken):
            if isinstance(news, Piece):
                pieces.append(news.text)

    try:
        asyncio.run(run())
    except Exception as error:
        return "".join(pieces), spoken, error
    return "".join(pieces), spoken, None


def test_the_first_model_answers_and_the_second_is_not_asked():
    with http_server(answering_with(streamed(["Yes."]))) as one, http_server(answering_with([])) as two:
        text, spoken, error = hear(model("one", one.address), model("two", two.address))
    assert (text, error, two.received) == ("Yes.", None, [])
    assert spoken.model.name == "one"
    assert spoken.usage == Usage(prompt=11, answer=1)


@pytest.mark.parametrize("reply", [Reply.json({}, status=500), Reply.json({}, status=401), Reply(wait_s=3)])
def test_while_nothing_was_said_the_next_model_is_taken(reply):
    with http_server(reply) as one, http_server(answering_with(streamed(["Yes."]))) as two:
        text, spoken, error = hear(model("one", one.address), model("two", two.address))
    assert (text, error, spoken.model.name) == ("Yes.", None, "two")
    assert set(spoken.failures) == {"one"}


def test_a_failure_that_may_pass_is_tried_once_more():
    replies = iter([Reply.json({}, status=503), answering_with(streamed(["Yes."]))])

    def answer(request):
        reply = next(replies)
        return reply if isinstance(reply, Reply) else reply(request)

    with http_server(answer) as server:
        text, _spoken, error = hear(model("one", server.address))
    assert (text, error, len(server.received)) == ("Yes.", None, 2)


def test_after_the_first_word_no_other_model_speaks():
    with (
        http_server(answering_with([event({"content": "Half"})])) as one,
        http_server(answering_with(streamed(["Whole"]))) as two,
    ):
        text, spoken, error = hear(model("one", one.address), model("two", two.address))
    assert (text, type(error), two.received) == ("Half", BrokenOff, [])
    assert spoken.model.name == "one"


def test_when_none_answers_the_last_reason_is_told():
    gone = [model(name, f"127.0.0.1:{free_port()}") for name in ("one", "two")]
    text, spoken, error = hear(*gone)
    assert (text, type(error), spoken.model) == ("", Unreachable, None)
    assert set(spoken.failures) == {"one", "two"}


def test_a_model_that_keeps_failing_is_left_alone():
    with http_server(Reply.json({}, status=500)) as server:
        one = model("one", server.address)
        errors = [hear(one)[2] for _ in range(4)]
    assert type(errors[-1]) is CircuitOpen
    assert len(server.received) == 3


def test_a_request_that_the_server_refuses_as_such_does_not_speak_against_it():
    with http_server(Reply.json({}, status=400)) as server:
        one = model("one", server.address)
        errors = [hear(one)[2] for _ in range(5)]
    assert {type(error) for error in errors} == {BadStatus}


def test_so_many_at_once_and_the_others_in_line():
    both = threading.Barrier(
        2
    )  # passes two and two: with fewer at once it would break, and the answers with it

    def parts():
        both.wait(10)
        yield event({"content": "a"}, finish="stop")

    with http_server(lambda request: Reply(content_type=STREAM, parts=parts)) as server:
        patient = Deadlines(first_s=10, stall_s=10, total_s=20)
        one = model("one", server.address, at_once=2, deadlines=patient)
        news: list[InLine] = []

        async def reader():
            async for told in speak([one], HELLO, spoken=Spoken()):
                if isinstance(told, InLine):
                    news.append(told)

        async def run():
            await asyncio.gather(*(reader() for _ in range(4)))

        asyncio.run(run())
    assert server.most_at_once == 2
    assert [told.before for told in news[:2]] == [0, 1]


def test_who_leaves_the_line_lets_the_next_one_in():
    async def run():
        line = speaking._Line(1)
        async with aclosing(line.wait()) as first:
            async for _news in first:
                pytest.fail("the first had to wait")
        second, third = line.wait(), line.wait()
        assert (await anext(second)).before == 0
        assert (await anext(third)).before == 1
        await second.aclose()
        line.leave()
        async for _news in third:
            pass
        line.leave()
        assert (line.free, line.waiting) == (1, [])

    asyncio.run(run())


def test_a_line_that_does_not_move_ends(monkeypatch):
    monkeypatch.setattr(speaking, "IN_LINE_S", 0.05)

    async def run():
        line = speaking._Line(0)
        with pytest.raises(Busy):
            async for _news in line.wait():
                pass
        assert line.waiting == []

    asyncio.run(run())
