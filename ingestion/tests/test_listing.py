"""The list of documents: what it offers, tells and costs."""

import pytest
from django.db import connection
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext

from accounts.permissions.grants import replace_grants
from accounts.principals import principal_of
from accounts.values import GrantRequest, Holder, Permission
from ingestion import services
from ingestion.listing import ListQuery, list_documents
from ingestion.models import (
    Collection,
    Document,
    DocumentVersion,
    IngestJob,
    SavedView,
    Verdict,
    VersionState,
)
from ingestion.testing.rows import make_document
from kb_platform import heartbeats

pytestmark = pytest.mark.django_db
MOST_QUERIES = 13  # while files are processed and nobody is there to do it, too


@pytest.fixture
def shelf(owner, reader):
    """Thirty documents in three collections; the reader sees one."""
    for number in range(3):
        made = services.create_collection(actor=principal_of(owner), name=f"Collection {number}")
        if number == 0:
            grants = [GrantRequest(holder=Holder.user(reader.pk), permission=Permission.CONTRIBUTE)]
            replace_grants(actor=principal_of(owner), scope=made.scope, grants=grants)
        for row in range(10):
            make_document(made, title=f"Document {number}-{row}")
    make_document(made, title="Working")


def listed(user, query=""):
    principal = principal_of(user)
    return list_documents(principal, ListQuery.parse(QueryDict(query), principal))


@pytest.mark.parametrize(
    "query",
    [
        "",
        "page=2&sort=title",
        "state=live&sort=-passages",
        "q=Document&view=mine",
        "state=live&type=policy&tag=a&metadata.region=EU",
    ],
)
def test_the_page_needs_few_queries_however_many_rows(browser, owner, reader, shelf, query):
    SavedView.objects.create(user=owner, name="Mine", query="view=mine")
    for user in (owner, reader):
        client = browser(user)
        client.get("/manage/documents")  # what is read once in a process is not the page's
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert client.get(f"/manage/documents?{query}").status_code == 200
        assert len(captured) <= MOST_QUERIES, "\n".join(entry["sql"][:160] for entry in captured)


def test_files_in_work_and_a_missing_worker_cost_no_query_more(browser, owner, shelf):
    for number in range(9):
        row = make_document(Collection.objects.get(name="Collection 1"), title=f"In work {number}")
        IngestJob.objects.filter(version=row.latest_version).update(
            state=IngestJob.State.QUEUED, stage=IngestJob.Stage.PARSE, ended_at=None
        )
        DocumentVersion.objects.filter(document=row).update(state=VersionState.QUEUED)
    heartbeats.beat("embed@host", ["embed"])
    client = browser(owner)
    client.get("/manage/documents")
    with CaptureQueriesContext(connection) as captured:
        page = client.get("/manage/documents?sort=title").content.decode()
    assert "No worker is listening to “parse”" in page
    assert "9 files in processing" in page
    assert len(captured) <= MOST_QUERIES, "\n".join(entry["sql"][:160] for entry in captured)


def test_filters_offer_and_count_only_what_is_visible(reader, outsider, shelf):
    seen = listed(reader, "q=Document")
    assert (seen.visible_count, seen.total) == (10, 10)
    assert [row.name for row in seen.collections] == ["Collection 0"]
    nothing = listed(outsider)
    assert (nothing.visible_count, nothing.rows, nothing.facets["owner"]) == (0, [], [])


def test_rows_are_sorted_by_columns_both_ways(owner, shelf):
    titles = [row.title for row in listed(owner, "sort=title").rows]
    assert titles == sorted(titles)
    assert listed(owner, "sort=-title").rows[0].title == "Working"
    assert listed(owner, "sort=nonsense&page=99999").rows


def test_who_sees_it_is_told_by_name_only_to_its_managers(owner, reader, shelf):
    words = {audience.words for audience in listed(owner, "q=Document 0").audiences.values()}
    assert words == {"Owner, Reader"}
    assert {audience.words for audience in listed(reader).audiences.values()} == {"As its collection"}


def test_views_are_kept_by_name_and_are_ones_own(browser, owner, reader, shelf):
    client = browser(owner)
    client.post("/manage/documents/views", {"name": " Broken  ones", "query": "view=attention&q=x&bad=1"})
    view = SavedView.objects.get()
    assert (view.name, view.query) == ("Broken ones", "q=x&view=attention")
    assert "Broken ones" in client.get("/manage/documents").content.decode()
    browser(reader).post(f"/manage/documents/views/{view.pk}/delete")
    assert SavedView.objects.exists()
    client.post(f"/manage/documents/views/{view.pk}/delete")
    assert not SavedView.objects.exists()


def test_files_that_look_badly_read_are_counted_listed_and_sorted_first(browser, owner, reader, shelf):
    shown = Document.objects.get(title="Document 0-3")
    hidden = Document.objects.get(title="Document 1-3")
    for row, verdict, share in ((shown, Verdict.PARTLY, 0.9), (hidden, Verdict.BADLY, 0.4)):
        DocumentVersion.objects.filter(document=row).update(verdict=verdict, read_share=share)
    assert listed(owner).doubtful_count == 2
    assert [row.title for row in listed(owner, "sort=quality").rows[:2]] == [hidden.title, shown.title]
    assert [row.title for row in listed(owner, "quality=badly").rows] == [hidden.title]
    seen = listed(reader, "view=doubtful")
    assert ([row.title for row in seen.rows], seen.doubtful_count) == ([shown.title], 1)
    assert [(row.value, row.count) for row in listed(reader).facets["quality"]] == [("partly", 1)]
    page = browser(reader).get("/manage/documents?view=doubtful").content.decode()
    assert "90%" in page


def test_the_values_of_hidden_documents_are_neither_offered_nor_counted(browser, owner, reader, shelf):
    made = {"type": "policy", "department": "Legal", "security_level": "Secret", "tags": ["merger"]}
    for row in ("0-1", "1-1", "1-2"):
        words = {**made, "tags": ["merger"] if row != "0-1" else ["open"]}
        words["department"] = "Legal" if row != "0-1" else "Sales"
        words["doc_type"] = words.pop("type")
        Document.objects.filter(title=f"Document {row}").update(**words)
    counts = listed(reader).facets
    assert [(row.value, row.count) for row in counts["type"]] == [("policy", 1)]
    assert [row.value for row in counts["tag"]] == ["open"]
    page = browser(reader).get("/manage/documents").content.decode()
    assert "Legal" not in page
    assert "merger" not in page
    # a filter's own values are counted beside the other filters, not by itself
    mine = listed(owner, "department=Legal&type=policy").facets
    assert {row.value: row.count for row in mine["department"]} == {"Legal": 2, "Sales": 1}
    assert {row.value: row.count for row in mine["type"]} == {"policy": 2}
    assert listed(owner, "tag=merger").total == 2
