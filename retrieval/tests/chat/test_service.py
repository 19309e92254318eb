"""Answers, refusals, and what is left of them when access changes."""

from dataclasses import replace

import pytest

from accounts.values import TokenLimits, TokenScope
from ingestion.models import Document
from kb_platform.errors import Conflict, InvalidInput, NotFound
from retrieval.chat import service
from retrieval.chat.selectors import (
    conversations_for,
    get_conversation,
    get_message,
    messages_of,
    visible_message,
)
from retrieval.chat.service import answer, delete_conversation, give_feedback, refusal
from retrieval.chat.values import Progress
from retrieval.filters import Filters
from retrieval.models import Citation, Conversation, Message

pytestmark = pytest.mark.django_db(transaction=True)
QUESTION = "What is the nightly hotel cap in Lisbon?"


@pytest.fixture
def handbook(library, reader):
    collection = library.collection("Handbook", reader)
    library.document(collection, "Travel", "The nightly hotel cap in Lisbon is 145 euros.")
    library.document(collection, "假期", "员工每年享有十天带薪年假。")
    return collection


def test_an_answer_quotes_and_cites_its_document(handbook, reader):
    message = answer(QUESTION, principal=reader)
    assert message.answer == "The nightly hotel cap in Lisbon is 145 euros. [1]"
    assert (message.refused, message.grounded, message.withdrawn) == (False, True, False)
    (citation,) = message.citations
    assert (citation.n, citation.title, citation.page, citation.version_number) == (1, "Travel", 1, 1)
    assert citation.quote == "The nightly hotel cap in Lisbon is 145 euros."
    stored = Citation.objects.get()
    assert stored.version == Document.objects.get(title="Travel").active_version


def test_a_chinese_question_is_answered_in_the_words_of_its_document(handbook, reader):
    message = answer("员工每年有几天带薪年假？", principal=reader)
    assert "十天" in message.answer
    assert message.citations[0].title == "假期"


def test_hidden_and_missing_are_refused_in_the_same_words(handbook, reader, outsider):
    hidden = answer(QUESTION, principal=outsider)
    missing = answer("Quillon zeppelin merger", principal=reader)
    assert hidden.answer == missing.answer == refusal(reader)
    assert hidden.answer == "Not enough evidence to answer, so I have not given one."
    for message in (hidden, missing):
        assert (message.refused, message.grounded, message.citations) == (True, False, ())


def test_a_question_without_words_is_refused_not_failed(handbook, reader):
    assert answer("😀😀", principal=reader).refused


def test_an_empty_question_names_its_field(reader):
    with pytest.raises(InvalidInput) as caught:
        answer(" ", principal=reader)
    assert list(caught.value.fields) == ["question"]


def test_access_lost_before_the_answer_is_stored_means_refusal(handbook, library, reader, monkeypatch):
    def extract_then_revoke(*args):
        extracted = extract(*args)
        assert extracted is not None
        library.revoke(handbook.scope, reader)
        return extracted

    extract = service.extract_answer
    monkeypatch.setattr(service, "extract_answer", extract_then_revoke)
    message = answer(QUESTION, principal=reader)
    assert message.refused
    assert "145" not in Message.objects.get().answer
    assert not Citation.objects.exists()


def test_an_old_answer_is_withdrawn_as_a_whole_when_a_source_is_no_longer_open(handbook, library, reader):
    message = answer(QUESTION, principal=reader)
    library.revoke(handbook.scope, reader)
    shown = visible_message(reader, get_message(reader, message.uid))
    assert (shown.withdrawn, shown.citations, shown.grounded) == (True, (), False)
    assert shown.answer == "It cited material that is no longer open to you."
    library.share(handbook.scope, reader)
    assert not visible_message(reader, get_message(reader, message.uid)).withdrawn


def test_an_answer_about_a_deleted_document_is_withdrawn(handbook, reader):
    message = answer(QUESTION, principal=reader)
    Document.objects.get(title="Travel").delete()
    assert visible_message(reader, get_message(reader, message.uid)).withdrawn


def test_an_answer_stays_bound_to_the_version_it_was_read_from(handbook, library, reader):
    message = answer(QUESTION, principal=reader)
    library.publish(Document.objects.get(title="Travel"), "The nightly hotel cap in Lisbon is 162 euros.")
    shown = visible_message(reader, get_message(reader, message.uid))
    assert (shown.citations[0].version_number, "145" in shown.answer) == (1, True)
    assert "162" in answer(QUESTION, principal=reader).answer


def test_a_conversation_goes_on_and_belongs_to_one_person(handbook, reader, outsider):
    first = answer(QUESTION, principal=reader)
    second = answer("带薪年假", principal=reader, conversation=first.conversation_uid)
    assert second.conversation_uid == first.conversation_uid
    conversation = get_conversation(reader, first.conversation_uid)
    assert [message.question for message in messages_of(reader, conversation)] == [QUESTION, "带薪年假"]
    assert not conversations_for(outsider).exists()
    for uid in (first.conversation_uid, "no such id"):
        with pytest.raises(NotFound):
            answer(QUESTION, principal=outsider, conversation=uid)
    with pytest.raises(NotFound):
        messages_of(outsider, conversation)
    with pytest.raises(NotFound):
        get_message(outsider, first.uid)
    with pytest.raises(NotFound):
        delete_conversation(conversation, principal=outsider)
    delete_conversation(conversation, principal=reader)
    assert not Conversation.objects.exists()


def test_a_limited_token_goes_on_with_its_own_conversation_and_meets_no_other(handbook, reader):
    answer("What else did I ask?", principal=reader)
    limits = TokenLimits(
        token_id=1, scopes=frozenset({TokenScope.ASK}), collections=frozenset({handbook.scope_id})
    )
    robot = replace(reader, token=limits)
    first = answer(QUESTION, principal=robot)
    again = answer(QUESTION, principal=robot, conversation=first.conversation_uid)
    assert again.grounded
    assert [str(row.uid) for row in conversations_for(robot)] == [first.conversation_uid]
    assert conversations_for(reader).count() == 2


def test_an_unknown_collection_answers_nothing(handbook, reader):
    assert answer(QUESTION, principal=reader, filters=Filters(collections=("nowhere",))).refused


def test_without_an_embedder_words_alone_choose_the_sentence(handbook, reader, embedder):
    embedder.is_broken = True
    message = answer(QUESTION, principal=reader)
    assert "145" in message.answer
    assert message.degraded == ("dense",)


def test_a_vote_can_be_changed(handbook, reader):
    message = get_message(reader, answer(QUESTION, principal=reader).uid)
    give_feedback(message, principal=reader, vote="up")
    give_feedback(message, principal=reader, vote="down", reason="outdated")
    assert visible_message(reader, get_message(reader, str(message.uid))).vote == "down"
    with pytest.raises(InvalidInput):
        give_feedback(message, principal=reader, vote="sideways")


def test_a_question_is_stored_before_its_answer(handbook, reader):
    asked = service.ask(QUESTION, principal=reader)
    waiting = visible_message(reader, get_message(reader, asked.message_uid))
    assert (waiting.progress, waiting.question, waiting.answer) == (Progress.ANSWERING, QUESTION, "")
    message = service.finish(asked, service.find(asked))
    assert (message.uid, message.progress) == (asked.message_uid, Progress.COMPLETE)
    assert message.answer == "The nightly hotel cap in Lisbon is 145 euros. [1]"
    assert Message.objects.count() == 1


def test_a_stopped_answer_stays_without_one(handbook, reader):
    asked = service.ask(QUESTION, principal=reader)
    service.give_up(asked, is_stopped=True)
    with pytest.raises(Conflict):
        service.finish(asked, service.find(asked))
    assert visible_message(reader, get_message(reader, asked.message_uid)).progress is Progress.INTERRUPTED
    assert not Citation.objects.exists()


def test_a_complete_answer_is_not_given_up(handbook, reader):
    asked = service.ask(QUESTION, principal=reader)
    service.finish(asked, service.find(asked))
    service.give_up(asked, is_stopped=True)
    assert Message.objects.get().state == Message.State.COMPLETE


def test_a_stored_question_is_refused_on_anothers_conversation(handbook, reader, outsider):
    asked = service.ask(QUESTION, principal=reader)
    with pytest.raises(NotFound):
        service.ask(QUESTION, principal=outsider, conversation=asked.conversation_uid)
    assert Message.objects.count() == 1
