"""The API as a client meets it: shapes, statuses, strangers."""

import pytest
from django.test import Client

from accounts.models import User
from accounts.tokens import create_token
from accounts.values import SystemActor, TokenScope
from retrieval.models import Feedback, SearchTrace
from retrieval.pipeline import search
from retrieval.values import SearchRequest

pytestmark = pytest.mark.django_db(transaction=True)
QUESTION = "What is the nightly hotel cap in Lisbon?"


class ApiClient:
    def __init__(self, token: str) -> None:
        self.client = Client(headers={"authorization": f"Bearer {token}"})

    def call(self, method: str, path: str, body=None):
        response = getattr(self.client, method)(f"/api/v1/{path}", body, content_type="application/json")
        return response.status_code, response.json() if response.content else None


@pytest.fixture
def api(transactional_db):
    """A client for a principal, with a token of the given scopes."""

    def make(principal, *scopes: TokenScope) -> ApiClient:
        user = User.objects.get(pk=principal.user_id)
        scopes = scopes or (TokenScope.SEARCH, TokenScope.ASK)
        return ApiClient(create_token(actor=SystemActor(name="test"), user=user, name="t", scopes=scopes)[1])

    return make


@pytest.fixture
def handbook(library, reader):
    collection = library.collection("Handbook", reader)
    library.document(collection, "Travel", "The nightly hotel cap in Lisbon is 145 euros.", tags=["travel"])
    library.document(collection, "Rail", "Grade P8 may take first class, file form XK-200A.")
    return collection


def test_search_answers_in_the_agreed_shape(handbook, api, reader):
    status, body = api(reader).call("post", "search", {"query": QUESTION, "explain": True})
    assert status == 200
    assert set(body) == {"results", "total_estimate", "evidence", "degraded", "trace_id", "explain"}
    hit = body["results"][0]
    assert {
        "chunk_id", "document_id", "title", "collection", "text", "heading_path", "page", "boxes", "score", "channels",
        "url",
    } <= set(hit)  # fmt: skip
    assert hit["collection"] == str(handbook.uid)
    assert set(hit["channels"]["lexical"]) == {"rank", "score", "terms"}
    assert set(hit["channels"]["dense"]) == {"rank", "score"}
    assert hit["url"] == f"/d/{hit['document_id']}?version=1&from=0&to=0#passage"
    assert isinstance(hit["chunk_id"], str)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": " "}, "query"),
        ({"query": "\x00"}, "query"),
        ({"query": "\ud800"}, "query"),
        ({"query": "a" * 10_000}, "query"),
        ({"query": None}, "query"),
        ({"query": ["a"]}, "query"),
        ({"query": "a", "top_k": 0}, "top_k"),
        ({"query": "a", "top_k": 101}, "top_k"),
        ({"query": "a", "top_k": "many"}, "top_k"),
        ({"query": "a", "offset": -1}, "offset"),
        ({"query": "a", "mode": "psychic"}, "mode"),
        ({"query": "a", "collections": []}, "collections"),
        ({"query": "a", "collections": "x"}, "collections"),
        ({"query": "a", "filters": {"colour": "red"}}, "filters.colour"),
        ({"query": "a", "filters": "red"}, "filters"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(handbook, api, reader, body, field):
    status, answer = api(reader).call("post", "search", body)
    assert status == 400
    assert list(answer["error"]["fields"]) == [field]
    assert answer["error"]["trace_id"]


@pytest.mark.parametrize("query", ["😀😀", "'; DROP TABLE x; --", "((((", "a & | ! b", 5])
def test_odd_queries_are_answered(handbook, api, reader, query):
    assert api(reader).call("post", "search", {"query": query})[0] == 200


@pytest.mark.parametrize("body", ["[]", "5", "{", '"x"'])
def test_a_body_that_is_no_object_is_refused(handbook, api, reader, body):
    assert api(reader).call("post", "search", body)[0] == 400


def test_an_outsider_gets_nothing_at_all(handbook, api, reader, outsider):
    status, body = api(outsider).call(
        "post", "search", {"query": QUESTION, "collections": [str(handbook.uid)], "explain": True}
    )
    assert (status, body["results"], body["total_estimate"], body["explain"]["terms"]) == (200, [], 0, {})
    status, body = api(outsider).call("post", "chat", {"question": QUESTION})
    assert (status, body["refused"], body["citations"]) == (200, True, [])
    assert "145" not in body["answer"]


def test_chat_answers_in_the_agreed_shape(handbook, api, reader):
    status, body = api(reader).call("post", "chat", {"question": QUESTION})
    assert status == 200
    assert set(body) == {
        "conversation", "message", "answer", "refused", "grounded", "citations", "degraded", "trace_id",
    }  # fmt: skip
    assert "145" in body["answer"]
    (citation,) = body["citations"]
    assert set(citation) == {
        "n",
        "document_id",
        "title",
        "version",
        "page",
        "heading_path",
        "quote",
        "is_corrected",
        "source",
        "url",
    }


def test_conversations_are_listed_read_and_deleted_by_their_owner_alone(handbook, api, reader, outsider):
    mine, theirs = api(reader), api(outsider)
    _status, asked = mine.call("post", "chat", {"question": QUESTION})
    path = f"conversations/{asked['conversation']}"
    assert mine.call("get", "conversations")[1]["results"][0]["id"] == asked["conversation"]
    messages = mine.call("get", path)[1]["messages"]
    assert (messages[0]["id"], messages[0]["withdrawn"], messages[0]["vote"]) == (
        asked["message"],
        False,
        None,
    )
    assert theirs.call("get", "conversations")[1]["results"] == []
    for method in ("get", "delete"):
        status, hidden = theirs.call(method, path)
        missing_status, missing = theirs.call(method, "conversations/00000000-0000-4000-8000-000000000000")
        assert status == missing_status == 404
        assert hidden["error"]["message"] == missing["error"]["message"]
    assert (
        theirs.call("post", "chat", {"question": QUESTION, "conversation": asked["conversation"]})[0] == 404
    )
    assert mine.call("delete", path)[0] == 204
    assert mine.call("get", path)[0] == 404


def test_an_answer_whose_source_closed_is_withdrawn_in_its_conversation(handbook, library, api, reader):
    client = api(reader)
    _status, asked = client.call("post", "chat", {"question": QUESTION})
    library.revoke(handbook.scope, reader)
    (message,) = client.call("get", f"conversations/{asked['conversation']}")[1]["messages"]
    assert (message["withdrawn"], message["citations"]) == (True, [])
    assert "145" not in message["answer"]


def test_feedback_is_taken_from_the_asker_alone(handbook, api, reader, outsider):
    _status, asked = api(reader).call("post", "chat", {"question": QUESTION})
    path = f"messages/{asked['message']}/feedback"
    status, body = api(reader).call("post", path, {"vote": "down", "reason": "outdated", "comment": "old"})
    assert (status, body["vote"], body["reason"]) == (200, "down", "outdated")
    assert api(reader).call("post", path, {"vote": "sideways"})[0] == 400
    assert api(outsider).call("post", path, {"vote": "up"})[0] == 404
    assert Feedback.objects.count() == 1


def test_a_trace_is_open_to_its_owner_alone_and_not_to_administrators(
    handbook, library, api, person, reader, outsider
):
    _status, found = api(reader).call("post", "search", {"query": QUESTION})
    path = f"traces/{found['trace_id']}"
    status, body = api(reader).call("get", path)
    assert (status, body["query"]) == (200, QUESTION)
    assert body["candidates"][0]["chunk"] == found["results"][0]["chunk_id"]
    assert body["candidates"][0]["rank"] == 1
    assert api(outsider).call("get", path)[0] == 404
    admin = api(person("admin", is_superuser=True), TokenScope.SEARCH, TokenScope.ADMIN)
    assert admin.call("get", path)[0] == 404
    library.revoke(handbook.scope, reader)
    assert api(reader).call("get", path)[1]["candidates"] == []


def test_a_limited_token_opens_no_trace_of_a_search_beyond_its_limits(handbook, library, api, reader):
    deal = library.collection("Deal", reader)
    library.document(deal, "Merger", "The merger with Acme is planned.")
    wide = search(SearchRequest(text="How many documents are there about the merger?"), principal=reader)
    user = User.objects.get(pk=reader.user_id)
    _row, text = create_token(
        actor=SystemActor(name="test"), user=user, name="robot", scopes=[TokenScope.SEARCH],
        collections=[handbook.scope_id],
    )  # fmt: skip
    robot = ApiClient(text)
    assert robot.call("get", f"traces/{wide.trace_id}")[0] == 404
    assert api(reader).call("get", f"traces/{wide.trace_id}")[0] == 200
    own = robot.call("post", "search", {"query": QUESTION})[1]["trace_id"]
    status, told = robot.call("get", f"traces/{own}")
    assert (status, "within" in told["explanations"]) == (200, False)


def test_a_token_opens_what_its_scope_names(handbook, api, reader):
    search_only = api(reader, TokenScope.SEARCH)
    assert search_only.call("post", "search", {"query": "hotel"})[0] == 200
    assert search_only.call("post", "chat", {"question": QUESTION})[0] == 403
    assert ApiClient("kb_nonsense").call("post", "search", {"query": "hotel"})[0] == 401


def test_before_the_index_is_set_up_the_answer_says_so(api, reader):
    assert api(reader).call("post", "search", {"query": "hotel"})[0] == 503
    assert not SearchTrace.objects.exists()
