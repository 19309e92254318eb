"""Streamed answers as a client meets them: a real uvicorn on a socket, real PostgreSQL and Valkey."""

import http.client
import json
import threading
import time
from urllib.parse import urlencode, urlsplit

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client
from redis import Redis

from accounts.models import User
from accounts.tokens import create_token
from accounts.values import SystemActor, TokenScope
from retrieval.chat import service
from retrieval.models import Conversation, Message

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.integration]
QUESTION = "What is the nightly hotel cap in Lisbon?"
ANSWER = "The nightly hotel cap in Lisbon is 145 euros. [1]"


@pytest.fixture
def handbook(library, reader):
    collection = library.collection("Handbook", reader)
    library.document(collection, "Travel <b>", "The nightly hotel cap in Lisbon is 145 euros.")
    return collection


class Gate:
    """Searches wait at it until it is opened."""

    def __init__(self, find):
        self.is_open, self.find, self.inside = threading.Event(), find, 0

    def __call__(self, asked):
        self.inside += 1
        try:
            assert self.is_open.wait(20)
            return self.find(asked)
        finally:
            self.inside -= 1


@pytest.fixture
def gate(monkeypatch):
    gate = Gate(service.find)
    monkeypatch.setattr(service, "find", gate)
    yield gate
    gate.is_open.set()


class Stream:
    """One HTTP exchange. `events` are read one by one, so that a test can leave in the middle."""

    def __init__(self, site, method, path, body=None, headers=None):
        self.connection = http.client.HTTPConnection(urlsplit(site.url).netloc, timeout=20)
        self.connection.request(method, path, body, headers or {})
        self.response = self.connection.getresponse()
        self.headers, self.status = self.response.headers, self.response.status

    def json(self):
        return json.loads(self.response.read())

    def __iter__(self):
        fields = {}
        while line := self.response.readline().decode():
            name, _colon, value = line.rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif "event" in fields:
                yield int(fields["id"]), fields["event"], json.loads(fields["data"])
                fields = {}

    def close(self):
        self.connection.close()
        self.response.close()


class Caller:
    def __init__(self, site, principal, *scopes):
        user = User.objects.get(pk=principal.user_id)
        made = create_token(
            actor=SystemActor(name="test"), user=user, name="t", scopes=scopes or [TokenScope.ASK]
        )
        self.site, self.headers = site, {"Authorization": f"Bearer {made[1]}"}

    def ask(self, question=QUESTION, accept="*/*", **body):
        headers = {**self.headers, "Content-Type": "application/json", "Accept": accept}
        return Stream(
            self.site,
            "POST",
            "/api/v1/chat",
            json.dumps({"question": question, "stream": True, **body}),
            headers,
        )

    def resume(self, uid, query="", **headers):
        return Stream(
            self.site, "GET", f"/api/v1/messages/{uid}/stream{query}", None, {**self.headers, **headers}
        )

    def stop(self, uid):
        return Stream(self.site, "POST", f"/api/v1/messages/{uid}/stop", None, self.headers)


@pytest.fixture
def caller(site):
    return lambda principal, *scopes: Caller(site, principal, *scopes)


def texts(events):
    return "".join(data["text"] for _number, name, data in events if name == "delta")


def test_an_answer_streams_in_the_agreed_events(handbook, caller, reader):
    stream = caller(reader).ask(accept="text/event-stream")
    assert (stream.status, stream.headers["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
    assert (stream.headers["Cache-Control"], stream.headers["X-Accel-Buffering"]) == ("no-store", "no")
    events = list(stream)
    assert [number for number, _name, _data in events] == list(range(1, len(events) + 1))
    assert [name for _number, name, _data in events] == ["stage", "stage", "delta", "block", "cites", "done"]
    assert texts(events) == ANSWER
    block, cites, done = (data for _number, _name, data in events[-3:])
    assert "Travel &lt;b&gt;" in block["html"]
    assert "Travel <b>" not in block["html"]
    assert set(done) == {
        "conversation", "message", "answer", "refused", "grounded", "citations", "degraded", "trace_id",
    }  # fmt: skip
    assert cites["citations"] == done["citations"]
    assert (done["answer"], done["message"]) == (ANSWER, stream.headers["X-Message"])
    assert events[0][2]["message"] == done["message"]
    assert done["trace_id"] == stream.headers["X-Trace-Id"]
    assert Message.objects.get().answer == ANSWER


def test_events_leave_while_the_answer_is_still_being_made(handbook, caller, reader, gate):
    stream = caller(reader).ask()
    events = iter(stream)
    assert next(events)[1] == "stage"
    assert Message.objects.get().state == Message.State.ANSWERING
    gate.is_open.set()
    assert list(events)[-1][1] == "done"


def test_a_dropped_connection_is_taken_up_behind_its_last_event(handbook, caller, reader, gate):
    stream = caller(reader).ask()
    number, _name, _data = next(iter(stream))
    uid = stream.headers["X-Message"]
    stream.close()
    gate.is_open.set()
    events = list(caller(reader).resume(uid, f"?after={number}"))
    assert (events[0][0], events[-1][1], texts(events)) == (number + 1, "done", ANSWER)
    by_header = list(caller(reader).resume(uid, **{"Last-Event-ID": str(number)}))
    assert by_header == events
    assert [name for _n, name, _d in caller(reader).resume(uid, f"?after={events[-1][0]}")] == ["done"]


def test_stop_ends_the_stream_and_no_answer_is_stored(handbook, caller, reader, gate):
    stream = caller(reader).ask()
    events = iter(stream)
    next(events)
    assert caller(reader).stop(stream.headers["X-Message"]).status == 202
    _number, name, data = list(events)[-1]
    assert (name, data["code"]) == ("error", "stopped")
    message = Message.objects.get()
    assert (message.state, message.answer) == (Message.State.STOPPED, "")


def test_strangers_can_neither_attach_nor_resume_nor_stop(handbook, caller, reader, outsider, gate):
    stream = caller(reader).ask()
    events = iter(stream)
    next(events)
    uid = stream.headers["X-Message"]
    for refused in (
        caller(outsider).resume(uid),
        caller(outsider).resume(uid, "?after=1"),
        caller(outsider).stop(uid),
        caller(outsider).resume("00000000-0000-0000-0000-000000000000"),
        caller(outsider).stop("nonsense"),
    ):
        assert (refused.status, refused.json()["error"]["code"]) == (404, "not_found")
    gate.is_open.set()
    assert list(events)[-1][1] == "done"


def test_hidden_and_missing_stream_alike(handbook, caller, reader, outsider):
    def shape(principal, question):
        events = list(caller(principal).ask(question))
        ids = {"message", "conversation", "trace_id"}
        return [
            (number, name, {key: value for key, value in data.items() if key not in ids})
            for number, name, data in events
        ]

    hidden, missing = shape(outsider, QUESTION), shape(outsider, "Quillon zeppelin merger")
    assert hidden == missing
    assert "145" not in json.dumps(hidden)
    assert hidden[-1][2]["refused"]


def test_a_right_revoked_meanwhile_withdraws_the_words_on_the_way(handbook, caller, library, reader):
    stream = caller(reader).ask()
    assert texts(stream) == ANSWER
    library.revoke(handbook.scope, reader)
    events = list(caller(reader).resume(stream.headers["X-Message"]))
    assert [name for _number, name, _data in events] == ["stage", "stage", "done"]
    assert "145" not in json.dumps(events)
    assert events[-1][2]["citations"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"question": " "}, "question"),
        ({"collections": "x"}, "collections"),
        ({"filters": {"a": 1}}, "filters.a"),
    ],
)
def test_what_cannot_be_used_is_refused_before_the_stream_begins(handbook, caller, reader, body, field):
    stream = caller(reader).ask(accept="text/event-stream", **body)
    assert (stream.status, stream.headers["Content-Type"]) == (400, "application/json")
    assert list(stream.json()["error"]["fields"]) == [field]
    assert not Message.objects.exists()


@pytest.mark.parametrize("after", ["-1", "x", "1.5", "9" * 30, "9" * 5000, "²"])
def test_a_number_that_is_none_is_refused(handbook, caller, reader, after):
    uid = service.answer(QUESTION, principal=reader).uid
    stream = caller(reader).resume(uid, "?" + urlencode({"after": after}))
    assert (stream.status, list(stream.json()["error"]["fields"])) == (400, ["after"])


def test_an_answer_whose_events_are_gone_is_told_from_what_is_stored(handbook, caller, reader):
    uid = service.answer(QUESTION, principal=reader).uid
    ((number, name, data),) = caller(reader).resume(uid, "?after=4")
    assert (number, name, data["answer"]) == (5, "done", ANSWER)


def test_who_may_not_ask_may_not_stream(handbook, site, caller, reader, outsider):
    assert caller(reader, TokenScope.SEARCH).ask().status == 403
    body = json.dumps({"question": QUESTION, "stream": True})
    kind = {"Content-Type": "application/json"}
    assert Stream(site, "POST", "/api/v1/chat", body, kind).status == 401
    bad = {**kind, "Authorization": "Bearer kb_nonsense"}
    assert Stream(site, "POST", "/api/v1/chat", body, bad).status == 401
    theirs = service.ask(QUESTION, principal=outsider).conversation_uid
    assert caller(reader).ask(conversation=theirs).status == 404


def test_a_session_streams_with_its_csrf_token_alone(handbook, site, reader):
    client = Client()
    client.force_login(User.objects.get(pk=reader.user_id))
    client.get("/")
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    body = json.dumps({"question": QUESTION, "stream": True})
    headers = {"Content-Type": "application/json", "Cookie": cookies}
    assert Stream(site, "POST", "/api/v1/chat", body, headers).status == 403
    token = client.cookies[django_settings.CSRF_COOKIE_NAME].value
    stream = Stream(site, "POST", "/api/v1/chat", body, {**headers, "X-CSRFToken": token})
    assert list(stream)[-1][1] == "done"


def test_the_page_streams_from_its_own_address_and_redirects_without_scripts(handbook, site, reader):
    client = Client()
    client.force_login(User.objects.get(pk=reader.user_id))
    client.get("/")
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Cookie": "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items()),
        "X-CSRFToken": client.cookies[django_settings.CSRF_COOKIE_NAME].value,
    }
    body = urlencode({"question": QUESTION})
    stream = Stream(site, "POST", "/", body, {**headers, "Accept": "text/event-stream"})
    address = stream.headers["X-Conversation"]
    assert list(stream)[-1][2]["answer"] == ANSWER
    follow_up = Stream(site, "POST", address, body, {**headers, "Accept": "text/event-stream"})
    assert list(follow_up)[-1][1] == "done"
    assert Conversation.objects.get().messages.count() == 2
    assert Stream(site, "POST", address, body, headers).status == 302


def test_before_the_index_is_set_up_the_stream_says_so(caller, reader):
    events = list(caller(reader).ask())
    assert [name for _number, name, _data in events] == ["stage", "error"]
    assert events[-1][2]["code"] == "no_index"
    assert Message.objects.get().state == Message.State.FAILED


def test_without_valkey_the_question_is_kept_and_the_answer_is_unavailable(caller, reader, settings, site):
    settings.VALKEY_URL = "redis://127.0.0.1:1"
    stream = caller(reader).ask()
    assert (stream.status, stream.json()["error"]["code"]) == (503, "outage")
    assert Message.objects.get().state == Message.State.FAILED


def test_thirty_aborted_streams_leave_nothing_behind(handbook, site, caller, reader, settings, gate):
    settings.ANSWER_NO_READER_S, settings.STREAM_WATCH_S = 1.0, 0.2
    mine = caller(reader)
    list(mine.resume(service.answer(QUESTION, principal=reader).uid))  # everything lazy is there now
    tasks, connections = site.tasks(), _connections()
    for _ in range(30):
        stream = mine.ask()
        assert next(iter(stream))[1] == "stage"
        stream.close()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        left = Message.objects.filter(state=Message.State.ANSWERING).count()
        if not left and site.tasks() <= tasks and _waiting_for_valkey() == 0:
            break
        time.sleep(0.1)
    gate.is_open.set()
    while (gate.inside or _connections() > connections) and time.monotonic() < end:
        time.sleep(0.1)
    assert Message.objects.filter(state=Message.State.FAILED).count() == 30
    assert site.tasks() <= tasks
    assert _waiting_for_valkey() == 0
    assert _connections() <= connections


def _connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from pg_stat_activity where datname = current_database()")
        return cursor.fetchone()[0]


def _waiting_for_valkey() -> int:
    with Redis.from_url(django_settings.VALKEY_URL, decode_responses=True) as client:
        return sum(found["cmd"] in ("xread", "blpop") for found in client.client_list())
