"""Each kind of source against a server that speaks its protocol; and what goes wrong with each."""

import time

import pytest

from kb_platform.net.errors import AddressRefused, BadAnswer, BadStatus, Late, OutboundError, Unreachable
from kb_platform.net.guard import Bounds
from kb_platform.testing.http_server import Reply, free_port, http_server
from kb_platform.testing.search_server import dify, elasticsearch
from retrieval.channels.external.asking import PendingSources, ask_source
from retrieval.channels.external.sql import RoleRefused, StatementRefused

pytestmark = [pytest.mark.usefixtures("services"), pytest.mark.django_db]
RECORDS = [
    {"content": "The torque is 40 Nm.", "score": 0.9, "title": "Torque", "metadata": {"team": "hr", "url": "https://wiki/1"}},
    {"content": "Soup at noon.", "score": 0.2, "title": "Lunch", "metadata": {"team": "it", "url": "javascript:x"}},
]  # fmt: skip
PAGES = [
    {"body": "pump torque table", "title": "Torque", "link": "https://wiki/1", "team": "hr"},
    {"body": "the pump", "title": "Pumps", "link": "ftp://wiki/2", "team": "it"},
]
ES = {"index": "wiki", "text_field": "body", "title_field": "title", "url_field": "link"}
HTTP = {
    "method": "POST", "question_field": "q", "limit_field": "n", "results_path": "data.items", "id_field": "id",
    "title_field": "title", "text_field": "body.plain", "url_field": "url", "score_field": "score",
}  # fmt: skip
INJECTIONS = [
    '" } ], "match_all": {}',
    "'; drop database x; --",
    "%(question)s %s %",
    "\x00\ud800",
    "a\r\nX: 1",
    "../_all",
]


def found(hits):
    return [(hit.record.title, hit.record.url, round(hit.score, 3)) for hit in hits]


def test_dify_gives_records_with_scores_and_web_links_only(source, door):
    with http_server(dify("kb-1", RECORDS, key="k")) as server:
        hits = ask_source(
            source("dify", server, knowledge_id="kb-1", secret="k"), "torque", limit=5, door=door(server)
        )
    assert found(hits) == [("Torque", "https://wiki/1", 0.9), ("Lunch", "", 0.2)]
    assert hits[0].key.startswith("ext:0192f0c4-0000-7000-8000-000000000001:")
    assert hits[0].key != hits[1].key
    assert server.received[0].json() == {
        "knowledge_id": "kb-1",
        "query": "torque",
        "retrieval_setting": {"top_k": 5, "score_threshold": 0.0},
    }


@pytest.mark.parametrize("obeys", [True, False])
def test_a_group_gets_only_its_values_also_from_a_server_that_ignores_the_condition(source, door, obeys):
    with http_server(dify("kb-1", RECORDS, obeys=obeys)) as server:
        config = source("dify", server, knowledge_id="kb-1", filter_field="team", allowed=("it",))
        assert [hit.record.title for hit in ask_source(config, "q", limit=5, door=door(server))] == ["Lunch"]
        nobody = source("dify", server, knowledge_id="kb-1", filter_field="team", allowed=())
        assert ask_source(nobody, "q", limit=5, door=door(server)) == ()


def test_elasticsearch_is_asked_by_search_and_scored_below_one(source, door):
    with http_server(elasticsearch("wiki", PAGES, api_key="k")) as server:
        hits = ask_source(
            source("elasticsearch", server, secret="k", **ES), "pump torque", limit=5, door=door(server)
        )
        assert [(title, url) for title, url, _score in found(hits)] == [
            ("Torque", "https://wiki/1"),
            ("Pumps", ""),
        ]
        assert 1 > hits[0].score > hits[1].score > 0
        config = source("elasticsearch", server, secret="k", filter_field="team", allowed=("it",), **ES)
        assert [hit.record.title for hit in ask_source(config, "pump", limit=5, door=door(server))] == [
            "Pumps"
        ]
    with http_server(elasticsearch("wiki", PAGES, basic=("me", "pw"))) as server:
        config = source("elasticsearch", server, secret="pw", username="me", **ES)
        assert len(ask_source(config, "pump", limit=1, door=door(server))) == 1


def test_any_json_api_can_be_described(source, door):
    row = {
        "id": 7,
        "title": "T",
        "body": {"plain": "<p>a &amp; b</p><script>x()</script>"},
        "url": "https://w/7",
        "score": 14,
    }
    with http_server(Reply.json({"data": {"items": [row]}})) as server:
        [hit] = ask_source(source("http", server, **HTTP), "q", limit=3, door=door(server))
        assert (hit.record.text, hit.record.url) == ("a & b", "https://w/7")
        assert hit.score == pytest.approx(14 / 24)
        assert server.received[0].json() == {"q": "q", "n": 3}
        ask_source(source("http", server, **HTTP | {"method": "GET"}), "a&b=c", limit=3, door=door(server))
        assert server.received[1].path == "/?q=a%26b%3Dc&n=3"


def test_sql_gives_the_view_within_the_role(sql_source, outside, door):
    hits = ask_source(sql_source(), "pump torque", limit=5, door=door(outside))
    assert [(hit.record.title, hit.record.url) for hit in hits] == [("Torque", "https://wiki/1")]
    hits = ask_source(sql_source(), "pump", limit=5, door=door(outside))
    assert {hit.record.title for hit in hits} == {"Torque", "Pumps"}
    assert max(len(hit.record.text) for hit in hits) <= 2_000
    assert len(ask_source(sql_source(), "pump", limit=1, door=door(outside))) == 1
    limited = sql_source(filter_field="team", allowed=("it",))
    assert [hit.record.title for hit in ask_source(limited, "pump", limit=5, door=door(outside))] == ["Pumps"]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"statement": "select 1 as title where %(question)s <> '' and pg_sleep(5) is null"}, Late),
        ({"statement": "with x as (delete from knowledge returning *) select title from x, (select %(question)s) q"}, StatementRefused),
        ({"statement": "select 1 as other where %(question)s <> ''"}, BadAnswer),
        ({"statement": "select nonsense as title, %(question)s"}, StatementRefused),
        ({"statement": "select usename as title from pg_shadow where %(question)s <> ''"}, StatementRefused),
        ({"user": "postgres"}, RoleRefused),
        ({"database": "nowhere"}, Unreachable),
        ({"port": "1"}, AddressRefused),
    ],
)  # fmt: skip
def test_sql_refuses_what_is_more_than_reading(sql_source, outside, door, changes, error):
    seconds = 0.5 if error is Late else 10
    config = sql_source(bounds=Bounds(try_s=seconds, total_s=seconds, tries=1), **changes)
    begun = time.monotonic()
    with pytest.raises(error):
        ask_source(config, "pump", limit=5, door=door(outside))
    assert time.monotonic() - begun < 12


def test_sql_that_stalls_on_the_line_is_late(sql_source, outside, door):
    assert ask_source(sql_source(), "pump", limit=5, door=door(outside))
    config = sql_source(bounds=Bounds(try_s=0.4, total_s=0.4, tries=1))
    outside.is_stalled.set()
    begun = time.monotonic()
    [outcome] = PendingSources([config], "pump", limit=5, door=door(outside), deadline_s=0.4).collect()
    assert outcome.problem == "late"
    assert time.monotonic() - begun < 3.0


@pytest.mark.parametrize("question", INJECTIONS)
def test_what_a_question_says_is_never_more_than_a_value(sql_source, outside, source, door, question):
    clean = question.replace("\x00", "").replace("\ud800", "") or "x"
    assert ask_source(sql_source(), clean, limit=5, door=door(outside)) == ()
    assert ask_source(sql_source(), "pump", limit=5, door=door(outside))
    with http_server(elasticsearch("wiki", PAGES)) as server:
        assert ask_source(source("elasticsearch", server, **ES), question, limit=5, door=door(server)) == ()
    [request] = server.received
    assert request.path == "/wiki/_search"
    assert request.json()["query"]["bool"]["must"][0]["multi_match"]["query"] == question


@pytest.mark.parametrize(
    ("kind", "options"), [("dify", {"knowledge_id": "k"}), ("http", HTTP), ("elasticsearch", ES)]
)
@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(wait_s=5), Late),
        (Reply(body=b" " * 50, byte_pause_s=1.0), Late),
        (Reply(status=500), BadStatus),
        (Reply(body=b"<html>login</html>", content_type="text/html"), BadAnswer),
        (Reply(body=b"x" * 10_000_000), OutboundError),
        (Reply.json([]), BadAnswer),
        (Reply.json({"records": {}, "data": 1, "hits": {"hits": "x"}}), BadAnswer),
        (Reply.json({"records": [1], "data": {"items": ["x"]}, "hits": {"hits": [[]]}}), BadAnswer),
        (Reply(body=b'{"records": [{"content": "a", "score": NaN}]}'), BadAnswer),
        (Reply(status=302, headers={"Location": "http://127.0.0.1:1/"}), OutboundError),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_an_error_with_a_name(source, door, kind, options, reply, error):
    seconds = 0.3 if error is Late else 10
    bounds = Bounds(try_s=seconds, total_s=seconds, tries=1)
    with http_server(reply) as server, pytest.raises(error):
        ask_source(source(kind, server, bounds=bounds, **options), "q", limit=5, door=door(server))


def test_scores_that_are_no_numbers_leave_the_order(source, door):
    rows = [
        {"content": "a", "title": "A", "score": "0.1"},
        {"content": "b", "title": "B", "score": 0.9},
        {"content": ""},
    ]
    with http_server(Reply.json({"records": rows})) as server:
        hits = ask_source(source("dify", server, knowledge_id="k"), "q", limit=5, door=door(server))
    assert found(hits) == [("A", "", 0.5), ("B", "", 0.333)]


def test_a_closed_port_is_unreachable_and_an_inner_address_must_be_allowed(source, door):
    with http_server(dify("k", RECORDS)) as server:
        config = source("dify", server, knowledge_id="k")
        with pytest.raises(AddressRefused):
            ask_source(config, "q", limit=5, door=door())
        assert server.received == []
    gone = source("dify", None, url=f"http://127.0.0.1:{(port := free_port())}", knowledge_id="k")
    with pytest.raises(Unreachable):
        ask_source(gone, "q", limit=5, door=door(f"127.0.0.1:{port}"))


def test_all_are_asked_at_once_under_one_deadline_and_the_late_one_is_named(source, door):
    slow = Bounds(try_s=20, total_s=20)
    with http_server(Reply(wait_s=9)) as sleeping, http_server(dify("k", RECORDS)) as quick:
        configs = [
            source("dify", sleeping, knowledge_id="k", bounds=slow),
            source("dify", quick, knowledge_id="k", bounds=slow),
        ]
        begun = time.monotonic()
        late, fine = PendingSources(
            configs, "q", limit=5, door=door(sleeping, quick), deadline_s=2.0
        ).collect()
        assert time.monotonic() - begun < 8
    assert (late.problem, fine.problem) == ("late", "")
    assert len(fine.hits) == 2


def test_a_source_that_is_down_is_skipped_at_once(source, door):
    port = free_port()
    config = source(
        "dify",
        None,
        url=f"http://127.0.0.1:{port}",
        knowledge_id="k",
        bounds=Bounds(try_s=10, total_s=10, tries=3),
    )
    outcomes = [
        PendingSources([config], "q", limit=5, door=door(f"127.0.0.1:{port}"), deadline_s=10).collect()[0]
        for _ in range(2)
    ]
    assert [outcome.problem for outcome in outcomes] == ["unreachable", "circuit_open"]
    assert outcomes[1].seconds < 1
