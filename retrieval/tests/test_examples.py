import pytest

from ingestion.models import Element
from retrieval.examples import example_questions, further_questions

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def answers(library, reader):
    document = library.document(library.collection("Help", reader), "FAQ", "Call the desk.")
    headings = ("How do I get a badge?", "Opening hours", "怎么申请门禁卡？", "Where may I park my car?")
    for order, text in enumerate(headings, start=1):
        Element.objects.create(version=document.active_version, order=order, kind="heading", text=text)
    return document


def test_questions_are_headings_that_ask_something(answers, reader, outsider):
    assert example_questions(reader) == ["How do I get a badge?"]
    assert example_questions(outsider) == []


def test_further_questions_are_in_the_language_and_new(answers, reader, outsider):
    uids = [str(answers.uid)]
    asked = {"How do I get a badge?"}
    assert further_questions(reader, uids, asked=asked, language="en") == ["Where may I park my car?"]
    assert further_questions(reader, uids, asked=asked, language="zh") == ["怎么申请门禁卡？"]
    assert further_questions(outsider, uids, asked=asked, language="en") == []
