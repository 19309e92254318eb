"""A database that went away is a 503 that says so, on pages and in the API, wherever it is noticed."""

import pytest
from django.db import OperationalError

from accounts.models import User


@pytest.fixture
def broken_database(monkeypatch):
    def gone(*args, **kwargs):
        raise OperationalError("the connection is closed")

    monkeypatch.setattr("ingestion.listing.scope_levels", gone)
    monkeypatch.setattr("accounts.tokens.ApiToken.objects.select_related", gone)


def test_the_api_answers_503_when_the_token_cannot_be_looked_up(api, owner: User, broken_database):
    client = api(owner)
    client.raise_request_exception = False
    answer = client.get("/api/v1/documents")
    assert answer.status_code == 503
    assert answer["Retry-After"]
    assert answer.json()["error"]["code"] == "outage"


def test_a_page_answers_503_in_words(browser, owner: User, broken_database):
    client = browser(owner)
    client.raise_request_exception = False
    answer = client.get("/manage/documents")
    assert answer.status_code == 503
    assert "<h1" in answer.content.decode()
