import pytest

from ingestion.models import DocumentVersion, Element, VersionState

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
