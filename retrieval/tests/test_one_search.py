"""There is one way to find a passage: page, API, command and chat see the same, with the same settings."""

import pytest

from accounts.models import User
from accounts.principals import principal_of
from kb_platform.runtime_config import services as config
from retrieval.chat.service import PASSAGES, answer
from retrieval.filters import Filters
from retrieval.models import SearchTrace
from retrieval.pipeline import search
from retrieval.values import SearchRequest

pytestmark = pytest.mark.django_db(transaction=True)
QUESTIONS = ["hotel cap in Lisbon", "里斯本酒店上限", "XK-200A", "who replaces lost badges?"]


@pytest.fixture
def shelves(library, reader):
    """Two collections, whose passages compete."""
    first, second = library.collection("Travel", reader), library.collection("Office", reader)
    library.document(
        first, "Cap", "The nightly hotel cap in Lisbon is 145 euros. 里斯本酒店每晚上限145欧元。"
    )
    library.document(first, "Rail", "First class on rail needs form XK-200A.")
    library.document(second, "Hotel bar", "The hotel bar opens at eight; the cap of the bottle is blue.")
    library.document(second, "Badges", "Lost badges are replaced in room 3.14.")
    return first, second


def found(trace_id):
    trace = SearchTrace.objects.get(trace_id=trace_id)
    return [(one["chunk"], one["score"]) for one in trace.candidates], trace.settings


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_chat_finds_what_the_search_finds(shelves, reader, question):
    searched = search(SearchRequest(text=question, top_k=PASSAGES), principal=reader)
    message = answer(question, principal=reader)
    assert found(message.trace_id) == found(searched.trace_id)


def test_the_api_and_the_page_show_the_same_passages_in_the_same_order(shelves, reader, api, browser):
    question = QUESTIONS[0]
    expected = [p.title for p in search(SearchRequest(text=question), principal=reader).passages]
    person = User.objects.get(pk=reader.user_id)
    body = api(person).post("/api/v1/search", {"query": question}, content_type="application/json").json()
    assert [result["title"] for result in body["results"]] == expected
    page = browser(person).get("/search", {"q": question}).content.decode()
    places = [page.index(f">{title}<") for title in expected if f">{title}<" in page]
    assert places
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("name", "value"), [("retrieval.fusion", "rrf"), ("retrieval.threshold", 2.0), ("retrieval.dense", False)]
)
def test_settings_hold_alike_in_one_collection_in_several_and_in_all(
    shelves, reader, administrator, name, value
):
    def scores(collections):
        filters = Filters(collections=collections)
        result = search(SearchRequest(text=QUESTIONS[0], filters=filters), principal=reader)
        return {passage.title: passage.score for passage in result.passages}, result.degraded

    actor = principal_of(administrator)
    uids = tuple(str(shelf.uid) for shelf in shelves)
    for collections in (uids[:1], uids, None):
        before = scores(collections)
        config.change(actor=actor, values={name: value})
        assert scores(collections) != before
        config.change(actor=actor, values={name: config.SETTINGS[name].default})
        assert scores(collections) == before


def test_what_is_switched_off_is_told_so_and_not_as_an_outage(shelves, administrator, reader, browser):
    person = User.objects.get(pk=reader.user_id)
    config.change(actor=principal_of(administrator), values={"retrieval.dense": False})
    page = browser(person).get("/search", {"q": QUESTIONS[0]}).content.decode()
    assert "Search by meaning is switched off" in page
