"""Recall from a read replica, and its loss."""

from copy import deepcopy

import pytest
from django.db import connections

from kb_platform import replica
from retrieval.models import SearchTrace
from retrieval.pipeline import search
from retrieval.values import SearchRequest

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def handbook(library, reader):
    collection = library.collection("Handbook", reader)
    library.document(collection, "Travel", "The nightly hotel cap in Lisbon is 145 euros.")
    return collection


@pytest.fixture
def use_replica(settings, monkeypatch):
    """Names a second connection to the same database the replica, with other options where they are given."""

    def use(**options):
        settings.REPLICA_URL = "set"
        described = deepcopy(connections["default"].settings_dict) | options
        connections[replica.REPLICA] = type(connections["default"])(described, replica.REPLICA)

    monkeypatch.setattr(replica, "_rests_until", 0.0)
    yield use
    connections[replica.REPLICA].close()
    del connections[replica.REPLICA]


def asked_database(reader):
    found = search(SearchRequest(text="hotel cap in Lisbon"), principal=reader)
    assert [passage.title for passage in found.passages] == ["Travel"]
    assert found.degraded == ()
    return SearchTrace.objects.get(trace_id=found.trace_id).explanations["database"]


def test_a_search_reads_the_replica(handbook, reader, use_replica):
    use_replica()
    assert asked_database(reader) == "replica"


def test_without_the_replica_the_main_database_answers_the_same(handbook, reader, use_replica):
    use_replica(HOST="127.0.0.1", PORT="9")
    assert asked_database(reader) == "default"
    assert replica.is_away()
    assert replica.choose() == "default"


def test_a_grant_that_the_replica_does_not_know_to_be_revoked_opens_nothing(
    handbook, library, reader, use_replica, monkeypatch
):
    use_replica()
    monkeypatch.setattr("retrieval.reach.visible_scopes", lambda principal: (handbook.scope_id,))
    library.revoke(handbook.scope, reader)
    assert search(SearchRequest(text="hotel cap"), principal=reader).passages == ()
