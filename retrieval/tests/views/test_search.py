import re
from datetime import timedelta

import pytest
from django.utils import timezone

from ingestion.models import MetadataField

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shelf(library, reader):
    collection = library.collection("Handbook", reader)
    cap = "The nightly hotel cap in Lisbon is 145 euros."
    library.document(collection, "Travel", cap, doc_type="policy", tags=["travel"], language="en")
    library.document(collection, "假期", "员工每年享有十天带薪年假。", doc_type="manual", language="zh")
    return collection


def test_results_mark_the_words_and_say_why(visit, calm, shelf, reader):
    page = calm(visit(reader).get("/search?q=hotel+caps"))
    assert "<mark>hotel</mark> <mark>cap</mark>" in page
    assert "Keywords: rank 1" in page
    assert "Meaning: rank 1" in page
    assert "#passage" in page


def test_the_outsider_finds_nothing_and_no_facet(visit, calm, shelf, outsider):
    page = calm(visit(outsider).get("/search?q=hotel+cap"))
    assert "Nothing found" in page
    assert "Handbook" not in page
    assert "policy" not in page


def test_facets_narrow_the_results(visit, calm, shelf, reader):
    page = calm(visit(reader).get("/search?q=hotel+cap&type=manual"))
    assert "145 euros" not in page.replace("<mark>", "").replace("</mark>", "")
    assert 'value="manual" form="search-form" data-facet checked' in page
    page = calm(visit(reader).get(f"/search?q=hotel&tag=travel&language=en&collection={shelf.uid}"))
    assert "145 euros" in page


@pytest.mark.parametrize(
    "query",
    [
        "",
        "q=",
        "q=%F0%9F%98%80",
        "q='%3B+drop+table--",
        "q=%00",
        "q=a&page=99999",
        "q=a&page=x",
        "q=a&collection=no",
    ],
)
def test_odd_queries_get_a_page(visit, calm, shelf, reader, query):
    response = visit(reader).get(f"/search?{query}")
    assert response.status_code in (200, 400)
    calm(response)


def test_too_long_and_badly_dated_queries_say_what_is_wrong(visit, calm, shelf, reader):
    response = visit(reader).get("/search", {"q": "x" * 3000})
    assert response.status_code == 400
    assert "up to 2000 characters" in calm(response)
    assert "as in 2026-03-31" in calm(visit(reader).get("/search?q=hotel&after=tomorrow"))


def test_a_lost_channel_is_told(visit, calm, shelf, reader, embedder):
    embedder.is_broken = True
    assert "Meaning-based search is unavailable" in calm(visit(reader).get("/search?q=hotel+cap+lisbon"))


def test_counts_are_of_passages_found_and_chips_take_one_condition_away(visit, calm, library, shelf, reader):
    library.document(
        shelf,
        "Hotels",
        "The nightly hotel cap in Rome is 120 euros.",
        "The hotel cap in Lyon is 99 euros.",
        doc_type="memo",
        language="en",
    )
    response = visit(reader).get(f"/search?q=hotel+cap&type=memo&collection={shelf.uid}")
    counts = {
        option.value: option.count
        for facet in response.context["facets"]
        if facet.name == "type"
        for option in facet.options
    }
    assert counts["memo"] == 2
    assert counts["policy"] == 1
    page = calm(response)
    assert "2 passages" in page
    assert 'aria-label="Remove filter memo"' in page
    chip = next(chip for chip in response.context["chips"] if chip.label == "memo")
    assert chip.url == f"/search?q=hotel+cap&collection={shelf.uid}"
    assert f"/?q=hotel+cap&amp;collection={shelf.uid}" in page


def test_newest_first_and_changed_lately_follow_the_documents_dates(visit, calm, library, shelf, reader):
    year = timezone.now() - timedelta(days=200)
    library.document(shelf, "Old", "The hotel cap in Lisbon is 90 euros.", source_modified_at=year)
    client = visit(reader)
    by_date = client.get("/search?q=90+euros+hotel+cap+lisbon&sort=date").context["page"]
    assert [group.title for group in by_date][:2] == ["Travel", "Old"]
    assert ">Old<" not in calm(client.get("/search?q=hotel+cap&updated=30"))
    assert ">Old<" in calm(client.get("/search?q=hotel+cap&updated=365"))


def test_own_fields_and_departments_are_facets_of_what_is_visible(
    visit, calm, library, shelf, reader, outsider
):
    hidden = library.collection("Mergers", outsider)
    cap = "The hotel cap in Nice is 80 euros."
    for made, label in ((shelf, "Region"), (hidden, "Codename")):
        MetadataField.objects.create(
            collection=made, key=label.lower(), label=label, kind="choice", choices=["EU"]
        )
    MetadataField.objects.create(collection=shelf, key="amount", label="Amount", kind="number")
    values = {"region": "EU", "amount": 80}
    library.document(shelf, "Nice", cap, department="Sales", metadata=values, language="en")
    secret = {"region": "Mars", "codename": "Falcon"}
    library.document(hidden, "Secret", cap, department="Board", metadata=secret, language="en")
    client = visit(reader)
    for path in ("/search", "/search?q=hotel+cap"):
        page = calm(client.get(path))
        assert "<legend>Region</legend>" in page
        assert "Sales" in page
        for word in ("Mars", "Codename", "Falcon", "Board"):
            assert word not in page
    page = calm(client.get("/search?q=hotel+cap&metadata.region=EU&metadata.amount.gte=80&department=Sales"))
    assert ">Nice<" in page
    assert ">Travel<" not in page
    assert "Amount ≥ 80" in page
    assert ">Nice<" not in calm(client.get("/search?q=hotel+cap&metadata.amount.lte=79"))


def test_understood_conditions_are_chips_that_can_be_taken_back_and_put_back(
    visit, calm, shelf, reader, outsider
):
    asked = "/search?q=hotel+caps+in+all+policies"
    page = calm(visit(reader).get(asked))
    assert 'aria-label="Take back condition Type: policy"' in page
    back = re.search(r'class="tag" href="([^"]*without=[^"]*)"', page)[1].replace("&amp;", "&")
    page = calm(visit(reader).get(back))
    assert 'aria-label="Apply condition Type: policy"' in page
    assert '<input type="hidden" name="without" value="doc_type:in all policies">' in page
    assert "condition Type" not in calm(visit(outsider).get(asked))
    assert visit(reader).get(asked + "&without=" + "x" * 5000).status_code == 200


def test_conditions_that_leave_nothing_are_told_to_have_been_left_out(visit, calm, shelf, library, reader):
    library.document(shelf, "Parking", "Bicycles stand in the yard.", department="Security")
    library.document(shelf, "Leave", "Annual leave is 20 days.")
    page = calm(visit(reader).get("/search?q=annual+leave+in+Security+documents"))
    assert "so they were left out" in page
    assert "20 days" in page
