"""Follow-up questions in a conversation, and what may flow into them."""

import pytest

from accounts.models import AccessScope
from ingestion.models import Document
from kb_platform.errors import NotFound
from retrieval.chat.history import rounds_of
from retrieval.chat.selectors import get_conversation, messages_of
from retrieval.chat.service import answer
from retrieval.models import Conversation, Message

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def handbook(library, reader):
    collection = library.collection("Handbook", reader)
    library.document(
        collection,
        "Hotels",
        "The nightly hotel cap in Lisbon is 145 euros. The finance team approves the hotel cap.",
    )
    library.document(collection, "Zebra rules", "Zebras are fed at nine.", department="Zoo")
    return collection


def hide(title):
    Document.objects.filter(title=title).update(scope=AccessScope.objects.create())


def test_a_follow_up_is_answered_standing_alone_and_says_so(handbook, reader):
    first = answer("What is the nightly hotel cap in Lisbon?", principal=reader)
    second = answer("Who approves it?", principal=reader, conversation=first.conversation_uid)
    assert second.question == "Who approves it?"
    assert second.understood.text == "Who approves it? (nightly hotel cap Lisbon)"
    assert "finance team approves" in second.answer
    third = answer("Why?", principal=reader, conversation=first.conversation_uid)
    assert "Lisbon" in third.understood.text


def test_a_question_that_stands_alone_is_not_rewritten(handbook, reader):
    first = answer("What is the nightly hotel cap in Lisbon?", principal=reader)
    second = answer("When are zebras fed?", principal=reader, conversation=first.conversation_uid)
    assert second.understood.text == ""


def test_nothing_of_a_withdrawn_answer_flows_on(handbook, reader):
    first = answer("When are zebras fed?", principal=reader)
    Message.objects.filter(uid=first.uid).update(question="Which?", answer="- Zebra rules [1]\n- Nine [1]")
    conversation = get_conversation(reader, first.conversation_uid)
    assert rounds_of(reader, conversation)[0].items == ("Zebra rules", "Nine")
    second = answer("Who approves it?", principal=reader, conversation=first.conversation_uid)
    assert second.understood.text == "Who approves it? (Zebra rules)"
    hide("Zebra rules")
    (rounds,) = [rounds_of(reader, conversation)]
    assert [(one.items, one.sources) for one in rounds] == [((), ()), ((), ())]
    assert not any("Zebra" in one.question for one in rounds)
    third = answer("Why?", principal=reader, conversation=first.conversation_uid)
    assert "Zebra" not in third.understood.text
    assert all("Zebra" not in message.understood.text for message in messages_of(reader, conversation))


def test_rounds_are_ones_own(handbook, reader, outsider):
    first = answer("What is the nightly hotel cap in Lisbon?", principal=reader)
    with pytest.raises(NotFound):
        rounds_of(outsider, Conversation.objects.get(uid=first.conversation_uid))


def test_conditions_are_kept_with_the_message_and_can_be_taken_back(handbook, reader):
    asked = answer("When are zebras fed, in Zoo documents?", principal=reader)
    (condition,) = asked.understood.conditions
    assert (condition["name"], condition["stated"]) == ("department", {"department": ["Zoo"]})
    again = answer("When are zebras fed, in Zoo documents?", principal=reader, without=[condition["key"]])
    assert not again.understood.conditions
    assert [one["key"] for one in again.understood.removed] == [condition["key"]]


def test_a_catalogue_answer_is_withdrawn_with_its_documents(handbook, library, reader):
    for number in range(10):
        library.document(handbook, f"More zebras {number}", "Stripes.")
    asked = answer("How many files about zebras are there?", principal=reader)
    assert (len(asked.citations), asked.refused) == (10, False)
    assert asked.understood.url == "/search?q=zebras"
    hide("More zebras 9")
    conversation = get_conversation(reader, asked.conversation_uid)
    (shown,) = messages_of(reader, conversation)
    assert shown.withdrawn
    assert not shown.understood.url


def test_an_answer_that_the_conditions_exclude_is_given_with_a_note(handbook, library, reader):
    library.document(
        handbook, "Zoo", "The zoo opens at eight and the hotel next door at nine.", department="Zoo"
    )
    asked = answer("What is the nightly hotel cap in Lisbon, in Zoo documents?", principal=reader)
    assert "145 euros" in asked.answer
    assert asked.understood.notes == ("conditions_dropped",)
    assert not asked.understood.conditions
