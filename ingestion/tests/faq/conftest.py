"""Pairs in a collection, read and published by the ordinary path."""

import pytest

from accounts.principals import principal_of
from accounts.values import GrantRequest, Holder, Permission
from ingestion import services
from ingestion.faq.services import add_pair
from ingestion.faq.values import PairDraft
from ingestion.models import FaqPair


@pytest.fixture
def pair(collection, owner):
    """`pair(question, answer, *phrasings)`: added by the owner, not yet read."""

    def add(
        question="How do I reset my VPN password?", answer="Call 8000.", *phrasings, into=None
    ) -> FaqPair:
        draft = PairDraft(question=question, answer=answer, phrasings=phrasings)
        return add_pair(actor=principal_of(owner), collection=into or collection, draft=draft)

    return add


@pytest.fixture
def shared(collection, owner, reader):
    """The collection, open to the reader."""
    grant = GrantRequest(holder=Holder.user(reader.pk), permission=Permission.VIEW)
    services.share_collection(actor=principal_of(owner), collection=collection, grants=[grant])
    return collection
