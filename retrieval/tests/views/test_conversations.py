import pytest

from retrieval.chat.service import answer
from retrieval.models import Conversation

pytestmark = pytest.mark.django_db(transaction=True)
CAP, LEAVE = "What is the nightly hotel cap in Lisbon?", "How many days of leave?"


@pytest.fixture
def two(library, reader):
    """Two conversations of the reader; the uid of the one about the cap."""
    library.document(
        library.collection("Handbook", reader), "Travel", "The nightly hotel cap in Lisbon is 145 euros."
    )
    answer(LEAVE, principal=reader)
    return answer(CAP, principal=reader).conversation_uid


def test_the_list_finds_titles_and_questions_of_ones_own(visit, calm, two, reader, outsider):
    answer("And in Porto?", principal=reader, conversation=two)
    page = calm(visit(reader).get("/c"))
    assert CAP in page
    assert "2 questions" in page
    main = calm(visit(reader).get("/c?q=porto")).split("<main")[1]
    assert CAP in main
    assert LEAVE not in main
    assert CAP not in visit(outsider).get("/c?q=cap").content.decode()


@pytest.mark.parametrize("query", ["q=%00", "q=%25", "q=_", "page=x", "page=999", "q=" + "x" * 3000])
def test_odd_queries_get_a_page(visit, calm, two, reader, query):
    assert visit(reader).get(f"/c?{query}").status_code == 200


def test_a_conversation_gets_another_title(visit, calm, two, reader, outsider):
    path = f"/c/{two}/rename"
    assert f'value="{CAP}"' in calm(visit(reader).get(path))
    assert visit(reader).post(path, {"title": "  Hotels\x00 in Lisbon "}).url == f"/c/{two}"
    assert Conversation.objects.get(uid=two).title == "Hotels in Lisbon"
    refused = visit(reader).post(path, {"title": " "})
    assert refused.status_code == 400
    assert "Give the conversation a name." in calm(refused)
    for method in ("get", "post"):
        assert getattr(visit(outsider), method)(path).status_code == 404
