import contextlib
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from kb_platform.management import service_command

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def running_services(monkeypatch):
    """The test run's own services are there already."""
    monkeypatch.setattr(service_command, "ensure_services", lambda **options: contextlib.nullcontext())


@pytest.fixture
def handbook(library, reader):
    collection = library.collection("Handbook", reader)
    library.document(collection, "Travel", "The nightly hotel cap in Lisbon is 145 euros.")
    return collection


def run(*arguments):
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_ask_prints_the_answer_and_its_sources(handbook):
    said = run("ask", "hotel cap in Lisbon", "--as", "reader@example.com")
    assert "145 euros. [1]" in said
    assert "[1] Travel, p. 1  /d/" in said


def test_ask_as_json_has_the_shape_of_the_api(handbook):
    said = json.loads(run("ask", "hotel cap in Lisbon", "--as", "reader@example.com", "--json"))
    assert said["citations"][0]["title"] == "Travel"


def test_search_prints_passages(handbook):
    assert "Travel" in run("search", "hotel", "--as", "reader@example.com")
    found = json.loads(run("search", "hotel", "--as", "reader@example.com", "--json", "--mode", "lexical"))
    assert found["results"][0]["title"] == "Travel"


def test_the_default_account_is_the_first_administrator_who_reads_no_more_than_granted(handbook, person):
    with pytest.raises(CommandError, match="administrator"):
        run("ask", "hotel cap in Lisbon")
    person("admin", is_superuser=True)
    assert "Not enough evidence" in run("ask", "hotel cap in Lisbon")


def test_what_cannot_be_asked_is_said(handbook, person):
    with pytest.raises(CommandError, match="Type a question"):
        run("ask", " ", "--as", "reader@example.com")
    with pytest.raises(CommandError, match="2000"):
        run("search", "a" * 3000, "--as", "reader@example.com")
