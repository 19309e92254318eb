import pytest
from django.utils import timezone

from accounts.models import AccessScope
from retrieval.models import Citation, Conversation, Message

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shelf(library, reader):
    rules = library.collection("Rules", reader)
    library.document(rules, "Travel", "By rail.", doc_type="policy", language="en")
    library.document(rules, "Pay", "Grades.", doc_type="manual", language="zh")
    return rules


def hide(document):
    document.scope = AccessScope.objects.create()
    document.save()


def cite(document, reader):
    conversation = Conversation.objects.create(user_id=reader.user_id, title="?")
    message = Message.objects.create(conversation=conversation, question="?", answer="[1]")
    Citation.objects.create(
        message=message, n=1, document=document, first_element=0, last_element=0, quote="x"
    )


def test_the_library_counts_and_names_only_what_is_open(visit, calm, library, shelf, reader, outsider):
    secret = library.document(shelf, "Merger plan", "In May.")
    hide(secret)
    cite(secret, outsider)
    page = calm(visit(reader).get("/library"))
    assert "2 documents are open to you." in page
    assert "Merger" not in page
    assert "By name" in page
    assert "Merger" not in calm(visit(reader).get(f"/library/{shelf.uid}"))
    other = calm(visit(outsider).get("/library"))
    assert "Nothing is open to you yet" in other
    assert "Rules" not in other


def test_what_is_cited_most_stands_first_once_anything_is_cited(visit, calm, library, shelf, reader):
    archive = library.collection("Archive", reader)
    library.document(archive, "Old", "Text.")
    page = calm(visit(reader).get("/library"))
    assert page.index(">Archive<") < page.index(">Rules<")
    cite(shelf.documents.get(title="Travel"), reader)
    page = calm(visit(reader).get("/library"))
    assert page.index(">Rules<") < page.index(">Archive<")
    assert "Most cited first" in page
    assert "In your answers lately" in page


def test_a_document_shared_on_its_own_is_found_without_its_collection(visit, calm, library, shelf, outsider):
    document = shelf.documents.get(title="Travel")
    hide(document)
    library.share(document.scope, outsider)
    page = calm(visit(outsider).get("/library"))
    assert "Shared with you one by one" in page
    assert "Travel" in page
    assert visit(outsider).get(f"/library/{shelf.uid}").status_code == 404


def test_a_collection_is_narrowed_ordered_and_says_what_to_do_when_nothing_fits(
    visit, calm, library, shelf, reader
):
    client, path = visit(reader), f"/library/{shelf.uid}"
    archived = library.document(shelf, "Gone", "Text.")
    archived.archived_at = timezone.now()
    archived.save()
    page = calm(client.get(f"{path}?sort=name"))
    assert page.index(">Pay<") < page.index(">Travel<")
    assert "Gone" not in page
    assert ">Pay<" not in calm(client.get(f"{path}?type=policy"))
    assert ">Travel<" not in calm(client.get(f"{path}?language=zh"))
    nothing = calm(client.get(f"{path}?q=zebra"))
    assert "No document fits" in nothing
    assert f"/search?collection={shelf.uid}&amp;q=zebra" in nothing
    assert client.get(f"{path}?q=%00&type=%00&sort=x&page=9999999999").status_code == 200
