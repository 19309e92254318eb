"""The debugger's pages: who may run what, what a run shows, and that nothing hidden is told by it."""

import json

import pytest

from accounts.models import User
from accounts.permissions.grants import replace_grants
from accounts.principals import principal_of
from accounts.values import GrantRequest, Holder, Permission, SystemActor
from kb_platform.models import AuditEntry
from kb_platform.runtime_config import declarations
from retrieval.models import EvaluationCase, SearchTrace
from retrieval.pipeline import search
from retrieval.values import SearchRequest

pytestmark = pytest.mark.django_db(transaction=True)
QUESTION = "hotel cap in Lisbon"
SECRET = "zebrafalcon"


@pytest.fixture
def keeper(person):
    """Manages the handbook, and administers nothing."""
    return person("keeper")


@pytest.fixture
def chief(person):
    """Administers, and may read the handbook only."""
    return person("chief", is_superuser=True)


@pytest.fixture
def handbook(library, keeper, chief, reader):
    collection = library.collection("Handbook", reader, chief)
    library.share(collection.scope, keeper, Permission.MANAGE)
    library.document(collection, "Travel", "The nightly hotel cap in Lisbon is 145 euros.")
    library.document(collection, "Copy", "The nightly hotel cap in Lisbon is 145 euros.")
    library.document(collection, "Badges", "Lost badges are replaced in room 3.14.")
    return collection


@pytest.fixture
def deal(library, handbook, reader):
    """Open to the reader, closed to keeper and chief."""
    collection = library.collection(f"Deal {SECRET}", reader)
    library.document(collection, f"{SECRET} plan", f"The {SECRET} hotel in Lisbon is bought.")
    return collection


def client_of(browser, principal):
    return browser(User.objects.get(pk=principal.user_id))


def run(browser, principal, **form):
    answer = client_of(browser, principal).post("/manage/debugger", {"q": QUESTION, **form})
    return answer, SearchTrace.objects.order_by("-id").first()


def test_a_run_has_an_address_that_shows_its_steps_and_candidates(browser, handbook, keeper):
    answer, trace = run(browser, keeper)
    assert answer.status_code == 302
    assert answer["Location"] == f"/manage/debugger/{trace.trace_id}"
    page = client_of(browser, keeper).get(answer["Location"]).content.decode()
    assert "Travel" in page
    assert "[1]" in page
    assert "Same text as #" in page
    assert "lisbon" in page  # a word of the question with its weight
    assert trace.spans
    assert not trace.explanations["cached"]
    assert "nightly" not in json.dumps([trace.candidates, trace.explanations, trace.terms])


def test_settings_of_one_run_are_marked_and_hold_for_nobody_else(browser, handbook, keeper):
    form = {"seen.retrieval.pool": "1", "retrieval.pool": "10", "seen.retrieval.lexical": "1"}
    answer, trace = run(browser, keeper, **form)
    assert sorted(trace.changed) == ["lexical", "pool"]
    assert (trace.settings["pool"], trace.settings["lexical"]) == (10, False)
    page = client_of(browser, keeper).get(answer["Location"]).content.decode()
    assert "changed, now 100" in page
    _answer, plain = run(browser, keeper)
    assert plain.settings["pool"] == 100


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"q": "  "}, "Type a question"),
        ({"seen.retrieval.pool": "1", "retrieval.pool": "7"}, "From 10 to 500."),
        ({"conditions": "{"}, "This is no JSON object."),
        ({"conditions": '{"colour": "red"}'}, "Unknown filter"),
        ({"generation": "99"}, "Choose one of the values offered."),
        ({"mode": "\x00"}, "Choose one of the values offered."),
        (
            {"seen.retrieval.pool": "1", "retrieval.pool": "abc"},
            "Candidates per channel</a>: Enter a whole number.",
        ),
        ({"compare": "1"}, "Change a setting first"),
    ],
)
def test_what_cannot_be_run_is_said_and_nothing_typed_is_lost(browser, handbook, keeper, form, told):
    answer, trace = run(browser, keeper, **form)
    page = answer.content.decode()
    assert answer.status_code == 400
    assert told in page
    assert trace is None
    assert form.get("q", QUESTION) in page


def test_two_settings_stand_side_by_side(browser, handbook, keeper):
    form = {"compare": "1", "seen.retrieval.fold": "1"}
    answer, _trace = run(browser, keeper, **form)
    page = client_of(browser, keeper).get(answer["Location"]).content.decode()
    assert SearchTrace.objects.count() == 2
    assert "With the changes" in page
    assert "new" in page


def test_values_typed_on_the_settings_page_are_taken_over(browser, handbook, chief):
    form = {"try": "1", "seen.retrieval.pool": "100", "retrieval.pool": "250"}
    page = client_of(browser, chief).post("/manage/debugger", form)
    assert page.status_code == 200
    assert b'value="250"' in page.content
    assert SearchTrace.objects.count() == 0


def test_it_is_for_those_who_answer_for_what_is_found(browser, handbook, reader, outsider):
    for principal in (reader, outsider):
        client = client_of(browser, principal)
        for path in ("/manage/debugger", "/manage/cases", "/manage/cases/export"):
            assert client.get(path).status_code == 403
        assert client.post("/manage/debugger", {"q": QUESTION}).status_code == 403
        assert b"Retrieval debugger" not in client.get("/manage/documents").content
    assert SearchTrace.objects.count() == 0


def test_only_administrators_search_with_the_rights_of_others(browser, handbook, keeper, reader):
    answer, trace = run(browser, keeper, **{"as": reader.email})
    assert answer.status_code == 403
    assert trace is None
    assert not AuditEntry.objects.filter(action="search.run_as").exists()


def test_a_run_as_somebody_is_audited_before_it_begins(browser, handbook, chief, reader, monkeypatch):
    def fail(*_arguments, **_named):
        assert AuditEntry.objects.filter(action="search.run_as").exists()
        raise RuntimeError("stopped")

    monkeypatch.setattr("retrieval.debugger.running.search", fail)
    with pytest.raises(RuntimeError):
        run(browser, chief, **{"as": reader.email})
    entry = AuditEntry.objects.get(action="search.run_as")
    assert (entry.actor_id, entry.object_name) == (chief.user_id, "reader")
    assert QUESTION not in json.dumps(entry.detail)


@pytest.mark.parametrize("question", [QUESTION, SECRET])
def test_what_the_other_person_alone_sees_is_counted_and_not_told(
    browser, api, handbook, deal, chief, reader, question
):
    answer, trace = run(browser, chief, **{"as": reader.email}, q=question)
    assert trace.is_partly_hidden
    client = client_of(browser, chief)
    hidden = {candidate["chunk"] for candidate in trace.candidates}
    page = client.get(f"{answer['Location']}?all=1").content.decode()
    told = api(User.objects.get(pk=chief.user_id)).get(f"/api/v1/traces/{trace.trace_id}").json()
    assert "not told: not open to you" in page
    assert f"{SECRET} plan" not in page
    assert "is bought" not in page
    assert told["left_out"] == 1
    assert len(told["candidates"]) == len(hidden) - 1
    assert (told["evidence"], told["terms"]) == (None, {})
    for candidate in told["candidates"]:
        assert not candidate.keys() & {"score", "signal"}
        assert all(candidate[name][1] is None for name in ("dense", "lexical") if name in candidate)
    case = client.get(f"{answer['Location']}/case").content.decode()
    assert "is bought" not in case


def test_a_run_as_somebody_is_no_search_of_theirs_and_ends_with_the_office(browser, handbook, chief, reader):
    answer, trace = run(browser, chief, **{"as": reader.email})
    assert not trace.is_partly_hidden
    assert "145 euros" in client_of(browser, chief).get(answer["Location"]).content.decode()
    for path in (f"/manage/debugger/{trace.trace_id}", f"/traces/{trace.trace_id}"):
        assert client_of(browser, reader).get(path).status_code == 404
    User.objects.filter(pk=chief.user_id).update(is_superuser=False)
    assert client_of(browser, chief).get(answer["Location"]).status_code == 404
    assert client_of(browser, chief).get(f"/traces/{trace.trace_id}").status_code == 404


def test_a_trace_shows_later_only_what_is_open_then(browser, library, handbook, keeper):
    answer, _trace = run(browser, keeper)
    library.revoke(handbook.scope, keeper)
    library.share(library.collection("Own").scope, keeper, Permission.MANAGE)
    page = client_of(browser, keeper).get(answer["Location"]).content.decode()
    assert "145 euros" not in page
    assert "Travel" not in page
    assert "None of them is open to you now." in page


def test_readers_see_why_their_own_search_found_what_it_found(browser, handbook, reader, outsider):
    trace_id = search(SearchRequest(text=QUESTION), principal=reader).trace_id
    client = client_of(browser, reader)
    page = client.get(f"/traces/{trace_id}").content.decode()
    assert "Travel" in page
    assert "Open in debugger" not in page
    assert client.get(f"/manage/debugger/{trace_id}").status_code == 403
    assert client_of(browser, outsider).get(f"/traces/{trace_id}").status_code == 404
    assert f"/traces/{SearchTrace.objects.last().trace_id}" not in client.get("/search").content.decode()
    found = client.get(f"/search?q={QUESTION}").content.decode()
    assert f"/traces/{SearchTrace.objects.order_by('-id').first().trace_id}" in found


def keep_case(browser, principal, **form):
    answer, trace = run(browser, principal)
    client = client_of(browser, principal)
    chosen = {"kind": "exact", "relevant": str(trace.candidates[0]["chunk"]), **form}
    return client, client.post(f"{answer['Location']}/case", chosen)


def test_a_case_keeps_place_and_words_and_is_exported_for_the_evaluation(browser, handbook, keeper):
    client, answer = keep_case(browser, keeper, note="from support")
    assert answer.status_code == 302
    assert b"from support" in client.get("/manage/cases").content
    lines = [json.loads(line) for line in client.get("/manage/cases/export").content.decode().splitlines()]
    assert [line["text"] for line in lines] == [QUESTION]
    assert lines[0]["kind"] == "exact"
    assert lines[0]["relevant"]
    assert lines[0]["passages"][0]["quote"] == "The nightly hotel cap in Lisbon is 145 euros."


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"relevant": ""}, "Mark at least one passage"),
        ({"relevant": "999999"}, "Mark at least one passage"),
        ({"kind": "nonsense"}, "Choose one of the values offered."),
        ({"kind": "unanswerable"}, "has an answer"),
        ({"note": "x" * 501}, "At most 500 characters."),
    ],
)
def test_a_case_that_makes_no_sense_is_refused(browser, handbook, keeper, form, told):
    _client, answer = keep_case(browser, keeper, **form)
    assert answer.status_code == 400
    assert told in answer.content.decode()
    assert not EvaluationCase.objects.exists()


def test_cases_are_told_as_far_as_their_passages_are_open(browser, library, handbook, keeper, person):
    keep_case(browser, keeper)
    case = EvaluationCase.objects.get()
    stranger = person("stranger")
    library.share(library.collection("Other").scope, stranger, Permission.MANAGE)
    other, own = client_of(browser, stranger), client_of(browser, keeper)
    assert QUESTION not in other.get("/manage/cases").content.decode()
    assert other.get("/manage/cases/export").content == b""
    assert other.post(f"/manage/cases/{case.uid}/delete").status_code == 404
    library.share(handbook.scope, stranger)
    assert QUESTION in other.get("/manage/cases").content.decode()
    assert other.post(f"/manage/cases/{case.uid}/delete").status_code == 404
    replace_grants(
        actor=SystemActor(name="tests"),
        scope=handbook.scope,
        grants=[GrantRequest(holder=Holder.user(person("heir").user_id), permission=Permission.MANAGE)],
    )
    library.share(library.collection("Own").scope, keeper, Permission.MANAGE)
    page = own.get("/manage/cases").content.decode()
    assert "1 no longer open to you" in page
    assert "145 euros" not in page
    assert own.get("/manage/cases/export").content == b""
    assert own.post(f"/manage/cases/{case.uid}/delete").status_code == 302
    assert not EvaluationCase.objects.exists()


def test_the_api_tells_the_same_trace(api, handbook, reader):
    trace_id = search(SearchRequest(text=QUESTION), principal=reader).trace_id
    told = api(User.objects.get(pk=reader.user_id)).get(f"/api/v1/traces/{trace_id}").json()
    first = told["candidates"][0]
    assert told["spans"][0].keys() == {"step", "start_ms", "ms", "depth"}
    assert told["settings"]["pool"] == 100
    assert told["shown"][0] == first["chunk"]
    assert "same_text" in told["dropped"].values()
    assert first["signal"]["coverage"] > 0
    assert set(first["terms"]) <= set(told["terms"])
    assert principal_of(User.objects.get(pk=reader.user_id)) == reader


def test_words_of_a_document_that_is_closed_now_are_told_by_no_trace(browser, api, library, handbook, reader):
    trace_id = search(SearchRequest(text=QUESTION), principal=reader).trace_id
    closed = library.document(library.collection("Deal"), "Plan", "Nothing to see.")
    understood = {"text": f"{QUESTION} {SECRET}", "sources": [str(closed.uid)]}
    SearchTrace.objects.filter(trace_id=trace_id).update(
        explanations={"understanding": understood}, terms={SECRET: 1.0}
    )
    told = api(User.objects.get(pk=reader.user_id)).get(f"/api/v1/traces/{trace_id}").content.decode()
    page = client_of(browser, reader).get(f"/traces/{trace_id}").content.decode()
    assert SECRET not in told + page


def test_reranking_is_a_knob_of_a_run_where_a_reranker_is_set(browser, handbook, keeper, configure):
    assert b"run.rerank" not in client_of(browser, keeper).get("/manage/debugger").content
    configure(declarations.RERANKER, "tei")
    assert b"run.rerank" in client_of(browser, keeper).get("/manage/debugger").content
    _answer, trace = run(browser, keeper, **{"seen.run.rerank": "1"})
    assert (trace.changed, trace.settings["rerank"]) == (["rerank"], False)


def test_candidates_from_elsewhere_and_what_their_servers_did_are_told(
    browser, handbook, keeper, monkeypatch
):
    trace_id = search(SearchRequest(text=QUESTION), principal=keeper).trace_id
    trace = SearchTrace.objects.get(trace_id=trace_id)
    key = f"ext:{'0' * 32}:abc"
    trace.candidates.append({"chunk": key, "score": 1.5, "external": [1, 0.9]})
    trace.explanations["external"] = {"Wiki": {"found": 1, "problem": "", "ms": 12.5}}
    trace.save()
    client = client_of(browser, keeper)
    hidden = client.get(f"/manage/debugger/{trace_id}").content.decode()
    assert "not told: not open to you" in hidden
    monkeypatch.setattr("retrieval.tracing.source_of", lambda one: "wiki" if one == key else "")
    monkeypatch.setattr("retrieval.tracing.open_source_uids", lambda *_asked: frozenset({"wiki"}))
    page = client.get(f"/manage/debugger/{trace_id}").content.decode()
    assert "A passage from elsewhere" in page
    assert "Wiki: ms 12.5, found 1" in page
