import re

import pytest

from retrieval.chat.service import answer, ask
from retrieval.models import Conversation, Feedback, Message

pytestmark = pytest.mark.django_db(transaction=True)
QUESTION = "What is the nightly hotel cap in Lisbon?"


@pytest.fixture
def shelf(library, reader):
    collection = library.collection("Handbook", reader)
    library.document(collection, "Travel", "The nightly hotel cap in Lisbon is 145 euros.")
    return collection


def test_the_empty_page_tells_how_much_is_open(visit, calm, shelf, reader, outsider):
    assert "the one document open to you" in calm(visit(reader).get("/"))
    assert "No document is open to you yet" in calm(visit(outsider).get("/"))


def test_without_scripts_a_question_is_a_post_that_leads_to_its_answer(visit, calm, shelf, reader):
    response = visit(reader).post("/", {"question": QUESTION})
    message = Message.objects.get()
    assert response.url == f"/c/{message.conversation.uid}#m-{message.uid}"
    page = calm(visit(reader).get(response.url))
    assert 'aria-label="Source 1"' in page
    assert f"cite={message.uid}#passage" in page
    assert "Every statement has a source" in page


def test_a_follow_up_stays_in_its_conversation(visit, shelf, reader):
    client = visit(reader)
    client.post("/", {"question": QUESTION})
    uid = Conversation.objects.get().uid
    client.post(f"/c/{uid}", {"question": QUESTION})
    assert Conversation.objects.get().messages.count() == 2


def test_the_script_gets_one_finished_turn(visit, shelf, reader, outsider):
    message = answer(QUESTION, principal=reader)
    path = f"/m/{message.uid}"
    assert (
        visit(reader)
        .get(path)
        .content.decode()
        .lstrip()
        .startswith(f'<section class="turn" id="m-{message.uid}"')
    )
    assert visit(outsider).get(path).status_code == 404


def test_a_question_without_an_answer_offers_to_ask_again(visit, calm, shelf, reader, settings):
    asked = ask(QUESTION, principal=reader)
    path = f"/c/{asked.conversation_uid}"
    assert f'data-resume="{asked.message_uid}"' in calm(visit(reader).get(path))
    settings.ANSWER_DEADLINE_S = 0  # its producer is gone
    page = calm(visit(reader).get(path))
    assert "was not answered to the end" in page
    assert "data-resume" not in page


def test_a_question_that_cannot_be_used_is_kept_and_explained(visit, calm, shelf, reader):
    response = visit(reader).post("/", {"question": "x" * 3000})
    page = calm(response)
    assert response.status_code == 400
    assert "up to 2000 characters" in page
    assert "x" * 3000 in page
    streamed = visit(reader).post("/", {"question": " "}, headers={"Accept": "text/event-stream"})
    assert (streamed.status_code, streamed["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert streamed.content.decode().lstrip().startswith("<div")


def test_a_refusal_reads_alike_for_hidden_and_missing(visit, shelf, reader, outsider):
    hidden = visit(outsider).post("/", {"question": QUESTION}, follow=True).content.decode()
    missing = visit(reader).post("/", {"question": "zeppelin"}, follow=True).content.decode()
    for page in (hidden, missing):
        assert "To avoid misleading you" in page
    assert "/d/" not in hidden
    assert "See the closest passage" in missing
    assert ">Travel</a>" in missing


def test_what_was_read_is_shown_as_far_as_it_is_still_open(visit, calm, library, shelf, reader):
    other = library.collection("Trips", reader)
    library.document(other, "Trains", "The nightly train to Lisbon has a cap on hotel luggage.")
    path = f"/c/{answer(QUESTION, principal=reader).conversation_uid}"
    page = calm(visit(reader).get(path))
    assert "2 passages · 2 documents" in page
    assert ">Trains</a>" in page
    library.revoke(other.scope, reader)
    page = visit(reader).get(path).content.decode()
    assert "1 passage · 1 document" in page
    assert "Trains" not in page


def test_the_copy_has_numbered_sources_with_whole_addresses(visit, shelf, reader):
    message = answer(QUESTION, principal=reader)
    page = visit(reader).get(f"/c/{message.conversation_uid}").content.decode()
    copied = page.split("data-copy-text")[1].split(">")[1].split("</textarea")[0]
    assert copied.startswith(
        "The nightly hotel cap in Lisbon is 145 euros. [1]\n\n[1] Travel · p. 1 · http://testserver/d/"
    )


def test_where_to_look_stays_with_the_conversation(visit, shelf, reader, library):
    client = visit(reader)
    client.post("/", {"question": QUESTION, "collection": str(shelf.uid)})
    current = Conversation.objects.get()
    assert current.collections == [str(shelf.uid)]
    assert f'value="{shelf.uid}" selected' in client.get(f"/c/{current.uid}").content.decode()
    client.post(f"/c/{current.uid}", {"question": QUESTION})
    assert Conversation.objects.get().collections == [str(shelf.uid)]
    client.post(f"/c/{current.uid}", {"question": QUESTION, "collection": ""})
    assert Conversation.objects.get().collections == []


def test_an_answer_is_withdrawn_when_its_source_closes(visit, library, shelf, reader):
    message = answer(QUESTION, principal=reader)
    library.revoke(shelf.scope, reader)
    page = visit(reader).get(f"/c/{message.conversation_uid}").content.decode()
    assert "This answer has been withdrawn" in page
    assert "145 euros" not in page


def test_a_conversation_is_its_owners_alone(visit, shelf, reader, outsider):
    message = answer(QUESTION, principal=reader)
    for path in (f"/c/{message.conversation_uid}", "/c/none"):
        assert visit(outsider).get(path).status_code == 404
    assert visit(outsider).post(f"/m/{message.uid}/feedback", {"vote": "up"}).status_code == 404
    assert visit(outsider).post(f"/c/{message.conversation_uid}/delete").status_code == 404
    assert Conversation.objects.exists()


def test_a_vote_is_kept_and_shown(visit, shelf, reader):
    message = answer(QUESTION, principal=reader)
    visit(reader).post(f"/m/{message.uid}/feedback", {"vote": "down"})
    assert Feedback.objects.get().vote == "down"
    path = f"/m/{message.uid}/feedback"
    part = visit(reader).post(path, {"vote": "up"}, headers={"HX-Request": "true"}).content.decode()
    assert 'value="up" aria-label="Helpful" title="Helpful" aria-pressed="true"' in part
    assert "What is wrong with it?" not in part


def test_a_reason_is_kept_with_the_vote(visit, shelf, reader):
    message = answer(QUESTION, principal=reader)
    client, path = visit(reader), f"/m/{message.uid}/feedback"
    client.post(path, {"vote": "down", "reason": "outdated"})
    assert (Feedback.objects.get().vote, Feedback.objects.get().reason) == ("down", "outdated")
    page = client.get(f"/c/{message.conversation_uid}").content.decode()
    assert 'value="outdated" aria-pressed="true"' in page
    client.post(path, {"vote": "down", "reason": "made up"})
    assert Feedback.objects.get().reason == ""


def test_the_administrator_of_an_empty_site_is_told_how_to_begin(visit, calm, library, person):
    page = calm(visit(person("chief", is_superuser=True)).get("/"))
    assert "Begin with a few documents" in page
    assert "Begin with a few documents" not in calm(visit(person("clerk")).get("/"))


def test_the_viewer_lists_the_passages_of_the_answer(visit, calm, shelf, reader):
    message = answer(QUESTION, principal=reader)
    (citation,) = message.citations
    path = f"/d/{citation.document_uid}?from=0&to=0&version=1&cite={message.uid}"
    page = calm(visit(reader).get(path))
    assert "Passages your answer used" in page
    assert f"/c/{message.conversation_uid}#m-{message.uid}" in page


def test_recent_conversations_stand_in_the_rail(visit, shelf, reader, outsider):
    answer(QUESTION, principal=reader)
    assert QUESTION in visit(reader).get("/search").content.decode()
    assert QUESTION not in visit(outsider).get("/search").content.decode()


def test_deleting_a_conversation_is_confirmed_first(visit, calm, shelf, reader):
    path = f"/c/{answer(QUESTION, principal=reader).conversation_uid}/delete"
    assert "This cannot be undone" in calm(visit(reader).get(path))
    assert Conversation.objects.exists()
    assert visit(reader).post(path).url == "/c"
    assert not Conversation.objects.exists()


def test_a_turn_says_how_it_was_understood_and_asks_again_without_a_condition(
    visit, calm, shelf, library, reader
):
    library.document(shelf, "Zebras", "Zebras are fed at nine.", department="Zoo")
    client = visit(reader)
    client.post("/", {"question": "When are zebras fed, in Zoo documents?"})
    path = f"/c/{Conversation.objects.get().uid}"
    page = calm(client.get(path))
    assert 'aria-label="Ask again without condition Department: Zoo"' in page
    key = re.search(r'name="without" value="([^"]*)"', page)[1]
    client.post(path, {"question": "When are zebras fed, in Zoo documents?", "without": key})
    client.post(path, {"question": "Who feeds them?"})
    page = calm(client.get(path))
    assert 'aria-label="Ask again with condition Department: Zoo"' in page
    assert "Understood as: Who feeds them? (zebras fed" in page
