"""External sources as a part of a search, and of answers: with the rights, faults and times that they have."""

import time

import pytest
from django.contrib.auth.models import Group

from accounts.models import User
from accounts.services import change_members
from accounts.values import SystemActor, TokenLimits, TokenScope
from kb_platform.runtime_config import declarations as declared
from kb_platform.testing.http_server import Reply, free_port, http_server
from kb_platform.testing.search_server import dify
from retrieval.chat.selectors import get_message, visible_message
from retrieval.chat.service import answer
from retrieval.filters import parse_filters
from retrieval.models import Citation, SearchTrace
from retrieval.pipeline import search
from retrieval.search_settings import current
from retrieval.serializers import answer_json, search_json
from retrieval.sources.services import delete_source, switch_source
from retrieval.tracing import visible_trace
from retrieval.turns import degraded_sentences, turns_of
from retrieval.values import Mode, SearchRequest

pytestmark = pytest.mark.django_db(transaction=True)
SYSTEM = SystemActor(name="tests")
QUESTION = SearchRequest(text="torque of the PX-77 pump")


@pytest.fixture
def local(library, reader):
    collection = library.collection("Pumps", reader)
    library.document(collection, "Local", "The pump is painted blue.")
    library.document(collection, "Lunch", "Soup at noon.")
    return collection


def titles(result):
    return [passage.title for passage in result.passages]


def test_passages_from_outside_are_weighed_with_ours(local, reader, wiki, make_source):
    make_source(wiki)
    result = search(QUESTION, principal=reader)
    assert titles(result)[0] == "Torque of pumps"
    assert "Local" in titles(result)
    assert result.degraded == ()
    first = result.passages[0]
    assert (first.external.source_name, first.external.url) == ("Wiki", "https://wiki.example.com/1")
    assert {"torqu", "pump", "px77"} <= set(first.terms)
    assert first.channels["external"].score == 0.9
    shown = search_json(result)["results"]
    assert shown[0]["source"]["name"] == "Wiki"
    assert shown[0]["url"] == "https://wiki.example.com/1"
    assert shown[0]["document_id"] is None
    oil = next(one for one in shown if one["title"] == "Pump oil")
    assert oil["url"] is None
    stored = SearchTrace.objects.get(trace_id=result.trace_id)
    assert stored.explanations["external"]["Wiki"]["found"] == 2
    assert "newton" not in str((stored.candidates, stored.explanations))
    assert {"external"} <= {span["step"] for span in stored.spans}


def test_whoever_may_not_use_a_source_never_triggers_a_call(local, reader, outsider, wiki, make_source):
    nobody, stranger = Group.objects.create(name="Nobody"), outsider
    make_source(wiki, groups={nobody.pk: ()})
    assert "Torque of pumps" not in titles(search(QUESTION, principal=reader))
    assert titles(search(QUESTION, principal=stranger)) == []
    answer("torque of the PX-77 pump", principal=stranger)
    assert wiki.received == []


def test_a_group_gets_only_what_its_mapping_allows(local, reader, wiki, make_source):
    hr, it = Group.objects.create(name="HR"), Group.objects.create(name="IT")
    make_source(wiki, groups={hr.pk: ("hr",), it.pk: ("it",)}, filter_field="team")
    user = User.objects.get(pk=reader.user_id)
    change_members(actor=SYSTEM, group=it, add=[user.pk])
    found = [p.title for p in search(QUESTION, principal=reader).passages if p.external]
    assert found == ["Pump oil"]
    change_members(actor=SYSTEM, group=hr, add=[user.pk])
    found = {p.title for p in search(QUESTION, principal=reader).passages if p.external}
    assert found == {"Pump oil", "Torque of pumps"}


def test_conditions_one_channel_limited_tokens_and_the_switch_leave_the_sources_alone(
    local, reader, wiki, make_source, configure
):
    source = make_source(wiki)
    filtered = SearchRequest(text=QUESTION.text, filters=parse_filters({"language": "en"}))
    lexical = SearchRequest(text=QUESTION.text, mode=Mode.LEXICAL)
    off = SearchRequest(text=QUESTION.text, settings=current().changed(external=False))
    for request in (filtered, lexical, off):
        search(request, principal=reader)
    limits = TokenLimits(
        token_id=1, scopes=frozenset({TokenScope.SEARCH}), collections=frozenset({local.scope_id})
    )
    limited = type(reader)(user_id=reader.user_id, name=reader.name, token=limits)
    search(QUESTION, principal=limited)
    configure(declared.EXTERNAL_SOURCES, False)
    search(QUESTION, principal=reader)
    configure(declared.EXTERNAL_SOURCES, True)
    switch_source(actor=SYSTEM, source=source, is_active=False)
    search(QUESTION, principal=reader)
    assert wiki.received == []


@pytest.mark.parametrize(
    "reply",
    [Reply(wait_s=2), Reply(status=500), Reply(body=b"<html>"), Reply(body=b"x" * 200, byte_pause_s=0.1)],
)
def test_a_source_that_fails_is_named_and_local_results_come(local, reader, make_source, reply):
    with http_server(reply) as broken:
        make_source(broken, try_ms=300, total_ms=300)
        begun = time.perf_counter()
        result = search(QUESTION, principal=reader)
        assert time.perf_counter() - begun < 2.5
    assert "Local" in titles(result)
    assert result.degraded == ("source:Wiki",)
    assert "“Wiki” did not answer" in degraded_sentences(result.degraded)[0]


def test_a_source_that_is_down_is_skipped_at_once(local, reader, make_source):
    make_source(f"127.0.0.1:{free_port()}", tries=3)
    first = search(QUESTION, principal=reader)
    second = search(QUESTION, principal=reader)
    assert first.degraded == second.degraded == ("source:Wiki",)
    stored = SearchTrace.objects.get(trace_id=second.trace_id)
    assert stored.explanations["external"]["Wiki"]["problem"] == "circuit_open"


def test_a_reader_without_any_document_still_gets_what_a_source_gives(library, outsider, wiki, make_source):
    make_source(wiki)
    result = search(QUESTION, principal=outsider)
    assert titles(result)[0] == "Torque of pumps"


def test_an_answer_cites_the_source_as_long_as_its_reader_may_use_it(local, reader, wiki, make_source):
    source = make_source(wiki)
    said = answer("What is the torque of the PX-77 pump?", principal=reader)
    assert "40 newton metres" in said.answer
    [citation] = said.citations
    assert citation.external.source_name == "Wiki"
    assert answer_json(said)["citations"][0]["url"] == "https://wiki.example.com/1"
    [turn] = turns_of(reader, [said])
    assert 'rel="noopener noreferrer"' in str(turn.blocks[0].lines[0])
    assert turn.sources[0].is_external
    message = get_message(reader, said.uid)
    switch_source(actor=SYSTEM, source=source, is_active=False)
    assert visible_message(reader, message).withdrawn
    switch_source(actor=SYSTEM, source=source, is_active=True)
    assert not visible_message(reader, message).withdrawn
    source.access.all().delete()
    assert visible_message(reader, message).withdrawn
    delete_source(actor=SYSTEM, source=source)
    assert Citation.objects.get().source_id is None
    gone = visible_message(reader, get_message(reader, said.uid))
    assert gone.withdrawn
    assert "newton" not in gone.answer


def test_an_answer_is_withdrawn_when_its_reader_is_limited_to_other_values(local, reader, wiki, make_source):
    hr, it = Group.objects.create(name="HR"), Group.objects.create(name="IT")
    make_source(wiki, groups={hr.pk: ("hr",), it.pk: ("it",)}, filter_field="team")
    user = User.objects.get(pk=reader.user_id)
    change_members(actor=SYSTEM, group=hr, add=[user.pk])
    said = answer("What is the torque of the PX-77 pump?", principal=reader)
    assert "40 newton metres" in said.answer
    change_members(actor=SYSTEM, group=it, add=[user.pk])
    assert not visible_message(reader, get_message(reader, said.uid)).withdrawn
    change_members(actor=SYSTEM, group=hr, remove=[user.pk])
    assert visible_message(reader, get_message(reader, said.uid)).withdrawn


def test_a_trace_forgets_what_is_no_longer_open(local, reader, wiki, make_source):
    source = make_source(wiki)
    trace_id = search(QUESTION, principal=reader).trace_id
    keys = [one["chunk"] for one in visible_trace(reader, trace_id).candidates]
    assert sum(isinstance(key, str) for key in keys) == 2
    source.access.all().delete()
    keys = [one["chunk"] for one in visible_trace(reader, trace_id).candidates]
    assert not any(isinstance(key, str) for key in keys)


def test_the_same_text_from_outside_goes_under_ours(library, reader, make_source):
    text = "The torque of the PX-77 pump is 40 newton metres, measured on the bench with a calibrated wrench."
    library.document(library.collection("Pumps", reader), "Ours", text)
    record = {"content": text, "score": 0.1, "title": "Theirs", "metadata": {}}
    with http_server(dify("kb-1", [record])) as server:
        make_source(server)
        result = search(QUESTION, principal=reader)
    assert titles(result) in (["Ours"], ["Theirs"])
    assert len(result.passages[0].also_in) == 1


def test_the_search_page_shows_source_and_link(local, reader, browser, wiki, make_source):
    make_source(wiki)
    client = browser(User.objects.get(pk=reader.user_id))
    page = client.get("/search", {"q": QUESTION.text}).content.decode()
    assert "Wiki · external source" in page
    assert 'href="https://wiki.example.com/1" data-lead target="_blank" rel="noopener noreferrer"' in page
    oil = client.get("/search", {"q": "pump oil"}).content.decode()
    assert "Pump oil" in oil
    assert "javascript:" not in page + oil
