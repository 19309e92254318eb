"""Documents in a real Chromium: many files at once, their way to live, bulk changes and back, chunks and their boxes."""

import re

import pytest
from playwright.sync_api import expect

from accounts.values import Permission
from ingestion import ledger, pipeline, services
from ingestion.blobs import store
from ingestion.models import Document, IngestJob, UploadedFile
from ingestion.samples.catalogue import FILES
from ingestion.values import SourceFile

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]
PDF = "pl-300-user-manual.pdf"

# What a dropped folder looks like to the page: entries with their paths, read a hundred at a time.
DROP_A_FOLDER = """
([zone]) => {
  const file = (name, text) => ({ isFile: true, fullPath: `/Manuals/${name}`, file: done => done(new File([text], name.split('/').pop())) });
  const children = [file('a.md', '# A\\n\\nOne.'), file('b/a.md', '# B\\n\\nTwo.'), file('drawing.vsdx', 'x'), file('.DS_Store', 'x')];
  const folder = { isFile: false, fullPath: '/Manuals', createReader: () => ({ readEntries: done => done(children.splice(0, 100)) }) };
  const event = new Event('drop', { bubbles: true, cancelable: true });
  event.dataTransfer = { items: [{ webkitGetAsEntry: () => folder }], files: [] };
  zone.dispatchEvent(event);
}
"""


@pytest.fixture
def shelf(library, reader):
    """A collection that the reader manages."""
    made = library.collection("Handbook")
    library.share(made.scope, reader, Permission.MANAGE)
    return made


def work(embedder) -> None:
    """What the workers do, in the test's own process."""
    while leases := ledger.claim(IngestJob.Stage.PARSE, limit=50):
        for lease in leases:
            pipeline.read(lease, embedder)
    while leases := ledger.claim_batch(IngestJob.Stage.EMBED, most_jobs=50, most_chunks=500):
        pipeline.embed_and_publish(leases, embedder)


def test_a_dropped_folder_is_sent_file_by_file_and_one_bad_file_spoils_none(
    arrive, shelf, reader, site, embedder
):
    page = arrive(reader)
    page.goto(f"{site.url}/manage/documents")
    page.evaluate(DROP_A_FOLDER, [page.locator(".drop").element_handle()])
    rows = page.locator("[data-list] > li")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="drawing.vsdx")).to_contain_text("not supported")
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(rows.filter(has_text="b/a.md")).to_contain_text("Received")
    page.locator("[data-summary]").get_by_role("link", name="Open batch").click()
    expect(page.get_by_role("heading", name="2 files, 2 in processing")).to_be_visible()
    work(embedder)
    expect(page.get_by_role("heading", name="2 files processed")).to_be_visible(timeout=10_000)
    expect(page.locator("#batch")).to_contain_text("Searchable 2")
    assert set(Document.objects.values_list("source_key", flat=True)) == {"Manuals/a.md", "Manuals/b/a.md"}
    assert UploadedFile.objects.count() == 2


def test_many_are_archived_and_come_back_by_undo(arrive, shelf, reader, library, site):
    for number in range(3):
        library.document(shelf, f"Document {number}", "Some text.")
    page = arrive(reader)
    page.goto(f"{site.url}/manage/documents")
    page.get_by_label("Select the page").check()
    bar = page.get_by_role("group", name="Selected documents")
    expect(bar).to_contain_text("3 selected")
    bar.get_by_role("button", name="Archive").click()
    expect(page.get_by_text("3 documents archived.")).to_be_visible()
    expect(page.locator("tbody").get_by_text("Archived")).to_have_count(3)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone for 3 documents.")).to_be_visible()
    assert not Document.objects.filter(archived_at__isnull=False).exists()


def test_a_chunk_marks_its_boxes_and_a_box_its_chunk(arrive, shelf, reader, site, embedder):
    file = SourceFile(name=PDF, blob=store([(FILES / PDF).read_bytes()]))
    uploaded = services.upload_document(actor=reader, collection=shelf, file=file)
    work(embedder)
    page = arrive(reader)
    page.goto(f"{site.url}/manage/documents/{uploaded.document.uid}?page=2")
    first, second = (page.locator("li.chunk").nth(place) for place in (0, 1))
    one, two = (chunk.get_attribute("data-chunk") for chunk in (first, second))
    second.get_by_role("link", name=f"Mark passage {two} in the document").click()
    expect(second).to_have_attribute("aria-current", "true")
    marked = page.locator(f"a[data-chunk='{two}'] rect")
    assert marked.count() == page.locator("rect.el-on").count() > 0
    expect(page).to_have_url(re.compile(rf"chunk={two}"))
    page.locator(f"a[data-chunk='{one}'] rect").first.click()
    expect(first).to_have_attribute("aria-current", "true")
    expect(second).not_to_have_attribute("aria-current", "true")
    page.reload()
    expect(page.locator(f"#c{one}")).to_have_attribute("aria-current", "true")
