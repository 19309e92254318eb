"""The chat client against a server that speaks the real protocol over a real socket."""

import asyncio
import threading
import time
from contextlib import aclosing

import pytest

from kb_platform.inference.chat import (
    BrokenOff,
    ChatEnd,
    ChatMessage,
    ChatServer,
    Deadlines,
    EmptyAnswer,
    Stalled,
    Usage,
    stream_chat,
)
from kb_platform.net.addresses import read_hosts
from kb_platform.net.errors import AddressRefused, AnswerTooLarge, BadAnswer, BadStatus, Late, Unreachable
from kb_platform.net.safe_http import Door
from kb_platform.testing.chat_server import DONE, STREAM, answering_with, event, streamed
from kb_platform.testing.http_server import Reply, free_port, http_server

QUICK = Deadlines(connect_s=1.0, first_s=0.3, stall_s=0.3, total_s=1.5)


def ask(url, *, allowed=True, deadlines=QUICK, key=""):
    """(pieces, end, error or None)"""
    hosts = (
        read_hosts(url.removeprefix("http://").removeprefix("https://").split("/")[0]) if allowed else None
    )
    door = Door(internal=hosts) if hosts else Door()
    server = ChatServer(url=f"{url}/v1", model="m", door=door, key=key, deadlines=deadlines)
    end, pieces = ChatEnd(), []

    async def run():
        async with aclosing(
            stream_chat(server, [ChatMessage(role="user", content="hello 你好")], most_tokens=50, end=end)
        ) as answer:
            async for piece in answer:
                pieces.append(piece)

    try:
        asyncio.run(run())
    except Exception as error:
        return pieces, end, error
    return pieces, end, None


def test_an_answer_comes_piece_by_piece_with_its_counts():
    with http_server(answering_with(streamed(["The cap ", "is 145 欧元", "."]))) as server:
        pieces, end, error = ask(server.url, key="secret")
    assert error is None
    assert "".join(pieces) == "The cap is 145 欧元."
    assert (end.finish, end.usage) == ("stop", Usage(prompt=11, answer=3))
    sent = server.received[0]
    assert sent.headers["Authorization"] == "Bearer secret"
    assert sent.json()["messages"] == [{"role": "user", "content": "hello 你好"}]


def test_a_server_that_does_not_stream_is_read_too():
    whole = {
        "choices": [{"message": {"role": "assistant", "content": "All at once."}, "finish_reason": "stop"}]
    }
    with http_server(Reply.json(whole)) as server:
        assert ask(server.url)[0] == ["All at once."]


def test_thoughts_and_tool_calls_are_left_out():
    parts = [
        event({"reasoning_content": "let me see"}),
        event({"content": "<think>hm</think>"}),
        event({"tool_calls": [{"function": {"name": "rm", "arguments": "{}"}}]}),
        event({"content": "Yes."}),
        event(finish="stop"),
        DONE,
    ]
    with http_server(answering_with(parts)) as server:
        assert ask(server.url)[0] == ["Yes."]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply.json({"error": {"message": "bad"}}, status=400), BadStatus),
        (Reply.json({}, status=401), BadStatus),
        (Reply.json({}, status=429, headers={"Retry-After": "7"}), BadStatus),
        (Reply.json({}, status=500), BadStatus),
        (Reply(body=b"<html>sign in</html>", content_type="text/html"), BadAnswer),
        (Reply.json({"choices": []}), BadAnswer),
        (Reply.json(b"not json"), BadAnswer),
        (Reply(body=b"data: {broken\n\n", content_type=STREAM), BadAnswer),
        (Reply(body=b'data: {"error": {"message": "overloaded"}}\n\n', content_type=STREAM), BadAnswer),
        (Reply(body=DONE, content_type=STREAM), EmptyAnswer),
        (Reply(body=event({"content": ""}, finish="stop") + DONE, content_type=STREAM), EmptyAnswer),
        (Reply(body=b"data: " + b"x" * 2_000_000, content_type=STREAM), AnswerTooLarge),
        (Reply(body=b"", content_type=STREAM), BadAnswer),
        (Reply(wait_s=5), Late),
        (Reply(body=b": keep-alive\n\n" * 50, content_type=STREAM, byte_pause_s=0.05), Late),
    ],
)
def test_a_server_that_gives_no_answer_is_told_apart_before_anything_is_said(reply, expected):
    with http_server(reply) as server:
        begun = time.monotonic()
        pieces, _end, error = ask(server.url)
    assert pieces == []
    assert type(error) is expected
    assert time.monotonic() - begun < QUICK.total_s + 1
    if expected is BadStatus and reply.status == 429:
        assert error.retry_after_s == 7


def test_nobody_listens():
    assert type(ask(f"http://127.0.0.1:{free_port()}")[2]) is Unreachable


def test_an_address_of_the_inner_network_must_be_allowed():
    with http_server(answering_with(streamed(["x"]))) as server:
        assert type(ask(server.url, allowed=False)[2]) is AddressRefused
    assert server.received == []


def test_a_server_that_speaks_no_tls_is_unreachable():
    with http_server(answering_with(streamed(["x"]))) as server:
        assert type(ask(server.url.replace("http:", "https:"))[2]) is Unreachable


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([event({"content": "Half"})], BrokenOff),
        ([event({"content": "Half"}), b"data: {nonsense\n\n"], BadAnswer),
        ([event({"content": "Half"}), b'data: {"error": {"message": "gone"}}\n\n'], BadAnswer),
        ([event({"content": "Half"}), *[event({"content": "x" * 100_000})] * 3], AnswerTooLarge),
    ],
)
def test_what_was_said_before_a_failure_stands(parts, expected):
    with http_server(answering_with(parts)) as server:
        pieces, _end, error = ask(server.url)
    assert pieces[0] == "Half"
    assert type(error) is expected


@pytest.mark.parametrize("filler", [b"", b": still here\n\n"])
def test_silence_in_the_middle_is_a_stall_whatever_bytes_come(filler):
    stopped = threading.Event()

    def parts():
        yield event({"content": "Half"})
        while not stopped.wait(0.05):
            yield filler

    with http_server(answering_with(parts)) as server:
        pieces, _end, error = ask(server.url)
        stopped.set()
    assert (pieces, type(error)) == (["Half"], Stalled)


def test_an_answer_without_end_is_ended_at_the_total():
    stopped = threading.Event()

    def parts():
        while not stopped.wait(0.02):
            yield event({"content": "again "})

    with http_server(answering_with(parts)) as server:
        pieces, _end, error = ask(server.url, deadlines=Deadlines(first_s=1, stall_s=1, total_s=0.5))
        stopped.set()
    assert pieces
    assert type(error) is Stalled


def test_who_stops_listening_closes_the_connection():
    closed = threading.Event()

    def parts():
        try:
            while True:
                yield event({"content": "word "})
                time.sleep(0.01)
        finally:
            closed.set()

    with http_server(answering_with(parts)) as server:
        door = Door(internal=read_hosts(server.address))
        chat = ChatServer(url=server.url, model="m", door=door, deadlines=QUICK)

        async def run():
            async with aclosing(
                stream_chat(chat, [ChatMessage(role="user", content="x")], most_tokens=9)
            ) as answer:
                await anext(answer)

        asyncio.run(run())
        assert closed.wait(5)
