import pytest
from django.utils import timezone

from accounts.models import User
from ingestion.models import Correction, DocumentVersion, Element, VersionState
from retrieval.models import Conversation, Message

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def document(library, reader):
    collection = library.collection("Finance policy", reader)
    return library.document(
        collection, "Travel policy", "Travel", "Rail travel is second class.", "The hotel cap is USD 320."
    )


def test_the_passage_is_marked_in_the_text(visit, reader, document):
    page = visit(reader).get(f"/d/{document.uid}?from=2&to=2&version=1").content.decode()
    marked = page.split('id="passage">')[1].split("</p>")[0]
    assert marked == "The hotel cap is USD 320."
    assert page.count('id="passage"') == 1


def test_outsider_and_unknown_version_get_the_page_of_a_missing_thing(visit, reader, outsider, document):
    assert visit(outsider).get(f"/d/{document.uid}").status_code == 404
    assert visit(reader).get(f"/d/{document.uid}?version=9").status_code == 404
    assert visit(reader).get("/d/not-an-id").status_code == 404


def test_numbers_that_are_none_are_ignored(visit, reader, document):
    response = visit(reader).get(f"/d/{document.uid}?from=x&to=-1&page=99999999999999999999")
    assert response.status_code == 200


def test_stored_markup_is_shown_as_text(visit, reader, document):
    version = document.active_version
    rows = [["<script>x</script>", "b"], ["1", "2"]]
    table = {"rows": rows, "header_rows": 1, "html": "<table><script>x</script></table>"}
    Element.objects.create(version=version, order=9, kind="table", text="t", table=table)
    page = visit(reader).get(f"/d/{document.uid}").content.decode()
    assert "<script>x" not in page
    assert '<th scope="col">&lt;script&gt;x&lt;/script&gt;</th>' in page


def test_a_superseded_version_says_so_and_leads_to_the_current_one(visit, reader, document):
    old = document.active_version
    newer = DocumentVersion.objects.create(
        document=document,
        number=2,
        blob="1" * 64,
        file_name="b.md",
        size_bytes=1,
        state=VersionState.LIVE,
        published_at=old.published_at,
    )
    document.active_version = document.latest_version = newer
    document.save()
    page = visit(reader).get(f"/d/{document.uid}?version=1&from=1").content.decode()
    assert "no longer in force" in page
    assert "Version 2 has replaced it." in page


def test_boxes_of_a_pdf_passage_are_drawn_in_points_of_its_page(visit, reader, document):
    version = document.active_version
    version.media_type, version.page_count = "application/pdf", 3
    version.save()
    box = {
        "page": 2,
        "x0": 10.0,
        "y0": 20.0,
        "x1": 110.5,
        "y1": 40.0,
        "page_width": 595.0,
        "page_height": 842.0,
    }
    Element.objects.create(version=version, order=7, kind="paragraph", text="Cited.", page=2, boxes=[box])
    page = visit(reader).get(f"/d/{document.uid}?from=7&to=7").content.decode()
    assert 'viewBox="0 0 595.0 842.0"' in page
    assert '<rect class="hl" x="9.0" y="19.0" width="102.5" height="22.0"' in page
    assert "?version=1" in page
    assert visit(reader).get(f"/d/{document.uid}/p/4").status_code == 404


def a_box(page, top):
    return {"page": page, "x0": 60.0, "y0": top, "x1": 500.0, "y1": top + 20,
            "page_width": 595.0, "page_height": 842.0}  # fmt: skip


@pytest.fixture
def two_pages(document):
    """The last paragraph of a PDF begins on page 2 and ends on page 3."""
    version = document.active_version
    version.media_type, version.page_count = "application/pdf", 4
    version.save()
    version.elements.filter(order=2).update(page=2, boxes=[a_box(2, 780.0), a_box(3, 60.0)])
    return document


def test_a_passage_over_two_pages_shows_both_with_their_boxes(visit, calm, reader, two_pages):
    page = calm(visit(reader).get(f"/d/{two_pages.uid}?from=2&to=2"))
    assert page.count('<div class="pg">') == 2
    first, second = page.split('<div class="pg">')[1:]
    assert 'y="779.0"' in first
    assert 'y="59.0"' in second
    assert "2–3 / 4" in page
    assert f"/d/{two_pages.uid}/p/4" in page
    assert f"/d/{two_pages.uid}/p/1" in page
    assert calm(visit(reader).get(f"/d/{two_pages.uid}/p/3?from=2&to=2")).count('<div class="pg">') == 1


def test_all_cited_passages_are_marked_with_the_numbers_of_their_chips(visit, calm, reader, two_pages):
    conversation = Conversation.objects.create(user_id=reader.user_id, title="t")
    message = Message.objects.create(conversation=conversation, question="q", answer="a [1] [2]")
    for n, order in ((1, 2), (2, 1)):
        message.citations.create(
            n=n, document=two_pages, version=two_pages.active_version, first_element=order,
            last_element=order, quote="q",
        )  # fmt: skip
    path = f"/d/{two_pages.uid}?version=1&from=2&to=2&cite={message.uid}"
    page = calm(visit(reader).get(path))
    assert page.count('text-anchor="middle">1</text>') == 2
    assert 'class="hit on" id="passage"><b class="hn">1</b>The hotel cap' in page
    assert "source 1 of 2" in page
    assert "from=1&amp;to=1&amp;cite=" in page.split('data-step="1"')[0].rpartition("<a")[2]
    panel = calm(visit(reader).get(path, headers={"X-Part": "panel"}))
    assert panel.lstrip().startswith('<div class="view')
    assert "Cited here:" in panel


def test_a_passage_without_boxes_is_quoted_and_nothing_is_drawn(visit, calm, reader, two_pages):
    two_pages.active_version.elements.filter(order=1).update(page=1, boxes=[])
    page = calm(visit(reader).get(f"/d/{two_pages.uid}?from=1&to=1"))
    assert "its place on the page is not known" in page
    assert "<blockquote>Rail travel is second class.</blockquote>" in page
    assert 'class="hl"' not in page


def test_an_archived_document_says_so(visit, calm, reader, document):
    document.archived_at = timezone.now()
    document.save()
    assert "This document is archived" in calm(visit(reader).get(f"/d/{document.uid}"))


def test_a_page_number_of_the_query_is_the_nearest_one(visit, reader, two_pages):
    assert "4 / 4" in visit(reader).get(f"/d/{two_pages.uid}?page=99").content.decode()


def test_a_corrected_passage_is_said_to_be_corrected_and_opens_its_place(visit, api, reader, document):
    chunk = document.chunks.get(order=2)
    correction = Correction.objects.create(
        document=document,
        version=chunk.version,
        action=Correction.Action.EDIT,
        first_element=2,
        last_element=2,
        quote=chunk.text,
        texts=["The hotel cap is USD 400."],
    )
    document.chunks.filter(pk=chunk.pk).update(text="The hotel cap is USD 400.", correction=correction)
    person = User.objects.get(pk=reader.user_id)
    answer = api(person).post("/api/v1/search", {"query": "hotel cap"}, format="json").json()
    found = {hit["text"]: hit for hit in answer["results"]}
    assert found["The hotel cap is USD 400."]["is_corrected"]

    page = visit(reader).get(f"/d/{document.uid}?from=2&to=2").content.decode()
    assert "People corrected this passage" in page
    assert page.split('id="passage">')[1].split("</p>")[0] == "The hotel cap is USD 320."
    assert "People corrected" not in visit(reader).get(f"/d/{document.uid}?from=1&to=1").content.decode()
